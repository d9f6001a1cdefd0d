"""Whether another provider may be tried for a work: a pure function of the outcome of a call.

| the call                    | the rule that allows it                                  |
|-----------------------------|----------------------------------------------------------|
| rejected                    | the classifier's rule that proved it was not executed   |
| failed, and it cost nothing | `failed_for_nothing`                                     |
| failed, billed or not said  | `failed_billed`, only under FALLBACK_AFTER_BILLED        |
| anything else               | none: it may have been billed, or may be billed yet      |

Late news about a call that was rejected or had failed count as if it had ended so.
"""

from providers.calls.models import Call
from providers.calls.states import CallState
from providers.reasons import Reason, Rule


def rule_after(call: Call, *, after_billed: bool) -> str:
    """The rule that allows another provider; the empty string if none does."""
    if call.state not in (CallState.REJECTED, CallState.FAILED):
        return ""
    became = call.late_outcome or call.state
    if became == CallState.REJECTED:
        return call.rule or Rule.REJECTED
    if became == CallState.FAILED:
        if call.cost == 0:
            return Rule.FAILED_FOR_NOTHING
        return Rule.FAILED_BILLED if after_billed else ""
    return ""


def may_be_repeated(call: Call) -> bool:
    """The same provider may be tried again: it was busy, or our sender missed its send window."""
    return call.state == CallState.REJECTED and (
        call.why == Reason.RATE or call.rule == Rule.SEND_WINDOW_MISSED
    )
