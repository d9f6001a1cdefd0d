"""States of an attempt, and why a request was not measured.

    pending ──> success   the slot is used
       └──────> failed    the slot is free again

Both ends are final, for anyone: goodwill is a grant, not an edit.
"""

from django.db import models
from django.utils.translation import gettext_lazy as _


class AttemptState(models.TextChoices):
    PENDING = "pending", _("on hold")
    SUCCESS = "success", _("used")
    FAILED = "failed", _("given back")


ENDS = frozenset({AttemptState.SUCCESS, AttemptState.FAILED})
HELD = frozenset({AttemptState.PENDING, AttemptState.SUCCESS})


class WhyUnmeasured(models.TextChoices):
    """Why the limiter let a request through without measuring it."""

    RAISES = "raises", _("the store of the counts fails")
    HANGS = "hangs", _("the store of the counts does not answer in time")
    LIES = "lies", _("the store of the counts says what cannot be")
    FULL = "full", _("more people at once than the memory of the counts holds")
    FAULT = "fault", _("a rule or the limiter itself is broken")
    NO_ADDRESS = "no_address", _("a trusted proxy does not say who asks (TRUSTED_PROXIES)")
