"""States of a call, and what may follow what.

    sending ──> accepted ──> succeeded        in the wall: sending accepted unknown succeeded
       │  └──> unknown ─┐    failed           (one live or paid call a work)
       │         │      └──> given_up
       └─────────┴──> rejected

`succeeded rejected failed` end by evidence, `given_up` by decision. An ended call never changes
state again; news after the end goes to `late_outcome`.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _


class CallState(models.TextChoices):
    SENDING = "sending", _("sending")
    ACCEPTED = "accepted", _("accepted")
    UNKNOWN = "unknown", _("unknown")
    SUCCEEDED = "succeeded", _("succeeded")
    REJECTED = "rejected", _("rejected")
    FAILED = "failed", _("failed")
    GIVEN_UP = "given_up", _("given up")


S = CallState
LIVE = frozenset({S.SENDING, S.ACCEPTED, S.UNKNOWN})
WALL = LIVE | {S.SUCCEEDED}
EVIDENCE = frozenset({S.SUCCEEDED, S.REJECTED, S.FAILED})
ENDS = EVIDENCE | {S.GIVEN_UP}

SOURCES: dict[CallState, frozenset[CallState]] = {
    S.SENDING: frozenset(),
    S.ACCEPTED: frozenset({S.SENDING, S.UNKNOWN}),
    S.UNKNOWN: frozenset({S.SENDING}),
    S.SUCCEEDED: LIVE,
    S.REJECTED: frozenset({S.SENDING, S.UNKNOWN}),
    S.FAILED: LIVE,
    S.GIVEN_UP: frozenset({S.ACCEPTED, S.UNKNOWN}),
}
