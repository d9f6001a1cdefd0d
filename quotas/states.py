"""States of an attempt.

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
