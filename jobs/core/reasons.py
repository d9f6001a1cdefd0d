"""Why a job ended, or is in doubt, where it is not the reason of its call."""

from django.db.models import TextChoices

from providers.reasons import Reason


class JobReason(TextChoices):
    """The labels are the values, as those of `Reason`."""

    UNWANTED = "unwanted", "unwanted"
    NOT_FETCHED = "not_fetched", "not_fetched"
    UNREAD = "unread", "unread"
    GIVEN_BACK = "given_back", "given_back"
    RESTORED = "restored", "restored"


CHOICES = [*Reason.choices, *JobReason.choices]
