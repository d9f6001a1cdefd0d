"""The one table of faults: what the sandbox does on the wire, and how everything must end.

Read by the sandbox (by name, `executions` and `charges`), by the new-picture form and by the
tests. The ends are those of a site without fallback, webhooks and the search for lost submits;
`hooked` is that of a site that webhooks reach, `found` that of a site that may search for lost
requests: its key is its own alone, and it knows after how long a run is listed.
A fault travels as the header `X-Sandbox-Fault`, the work it is for as `X-Sandbox-Work`.
"""

from providers.sandbox.fault_kinds import Fault
from providers.sandbox.result_faults import RESULT_FAULTS
from providers.sandbox.submit_faults import SUBMIT_FAULTS

FAULTS = (*SUBMIT_FAULTS, *RESULT_FAULTS)

_BY_NAME = {fault.name: fault for fault in FAULTS}


def fault_named(name: str) -> Fault:
    """Raises KeyError for a name that is not in the table."""
    return _BY_NAME[name]
