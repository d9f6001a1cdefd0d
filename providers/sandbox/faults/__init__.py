"""The table of faults: everything the sandbox can do wrong, by name.

The sandbox and the new-picture form read it. A fault travels as the header `X-Sandbox-Fault`, the
work it belongs to as `X-Sandbox-Work`. How a job of the site ends after each fault is not known
here; the tests have their own table (`tests/fault_ends.py`).
"""

from providers.sandbox.faults.kinds import Fault
from providers.sandbox.faults.results import RESULT_FAULTS
from providers.sandbox.faults.submits import SUBMIT_FAULTS

__all__ = ["FAULTS", "Fault", "find_fault"]

FAULTS = (*SUBMIT_FAULTS, *RESULT_FAULTS)

_BY_NAME = {fault.name: fault for fault in FAULTS}


def find_fault(name: str) -> Fault:
    """Raises KeyError for a name that is not in the table."""
    return _BY_NAME[name]
