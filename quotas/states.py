"""States of an attempt, and reasons why the rate limiter let a request through uncounted.

    pending ──> success   the slot is used
       └──────> failed    the slot is free again

Both ends are final. Goodwill is a grant, never an edit.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _


class AttemptState(models.TextChoices):
    PENDING = "pending", _("on hold")
    SUCCESS = "success", _("used")
    FAILED = "failed", _("given back")


ENDS = frozenset({AttemptState.SUCCESS, AttemptState.FAILED})
HELD = frozenset({AttemptState.PENDING, AttemptState.SUCCESS})


class BypassReason(models.TextChoices):
    """Why the rate limiter let a request through uncounted. The values are stored."""

    ERROR = "raises", _("the counter store fails")
    TIMEOUT = "hangs", _("the counter store does not reply in time")
    INCONSISTENT = "lies", _("the counter store returns impossible values")
    FULL = "full", _("more clients at once than the in-memory counter holds")
    FAULT = "fault", _("a rule or the limiter itself is broken")
    NO_ADDRESS = "no_address", _("no client address from a trusted proxy (check TRUSTED_PROXIES)")
