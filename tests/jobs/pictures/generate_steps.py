"""What happens to the one job of a test while `manage.py generate` waits for it."""

from collections.abc import Callable

from django.utils import timezone

from jobs.core.models import Job
from jobs.engine import incoming
from providers.outcomes import Accepted
from tests import rows


def job() -> Job:
    return Job.objects.select_related("attempt").get()


def send() -> None:
    rows._open_call(job(), timezone.now())


def answer(news) -> Callable[[], object]:
    return lambda: incoming.apply(rows.call_of(job()), news, timezone.now())


def deliver() -> None:
    rows.delivered(job(), timezone.now())


PICTURE = (send, answer(Accepted("run-1")), answer(rows._done()), deliver)
