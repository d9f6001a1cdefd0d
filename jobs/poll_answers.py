"""What an answer to a poll or a list shows about the provider itself, not about the run: that it
wants fewer requests, or that its answers do not match them."""

from datetime import datetime

from django.utils.translation import gettext as _

from providers.outcomes import NoAnswer
from providers.reasons import Reason, Rule
from providers.routing import poll_pauses
from quotas import alerts
from quotas.models import AlertKind


def follow(provider: str, answer: object, *, polled_at: datetime, now: datetime) -> None:
    """Pause the account's polls, end its pauses, or open the alert; never changes a call."""
    if not isinstance(answer, NoAnswer):
        poll_pauses.end_steps(provider, polled_at=polled_at)
    elif answer.why.kind == Reason.RATE:
        wait = answer.why.retry_after
        poll_pauses.start(provider, polled_at=polled_at, now=now, retry_after=wait)
    elif answer.why.rule == Rule.OTHER_RUN and poll_pauses.note_other_run(provider, now):
        alerts.open_alert(
            kind=AlertKind.OTHER_RUN, subject=provider, words=words_of_other_run(), now=now
        )


def words_of_other_run() -> str:
    return _("Its answers name other runs than were requested. They are not used.")
