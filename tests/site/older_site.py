"""Continues the site of `tests/fixtures/site_0_1` on the database named by DATABASE_URL, as ticker
and workers would: each provider answers every poll with a finished picture, and lists nothing.

Run as `python -m tests.site.older_site`. Prints how each job ended, as JSON.
"""

import json
import sys
from concurrent.futures import wait
from datetime import UTC, datetime, timedelta

import django

django.setup()

import time_machine  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.utils import timezone  # noqa: E402
from django.utils.module_loading import import_string  # noqa: E402
from django_q.models import Schedule  # noqa: E402

from jobs.core import queue  # noqa: E402
from jobs.core.models import Job, Stage  # noqa: E402
from jobs.engine import advance, schedules  # noqa: E402
from jobs.processes.ticker import Ticker  # noqa: E402
from providers.adapters import registry  # noqa: E402
from tests.fakes import FakeProvider, made  # noqa: E402

WRITTEN_AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
# The deadline of calls, then the end of the retention of what is lost, then that of results.
STEPS = [timedelta(seconds=20)] * 12 + [timedelta(minutes=10)] * 6
LATER = [timedelta(hours=25), timedelta(minutes=30), timedelta(days=8), timedelta(hours=1)]


class AlwaysMade(dict):
    def get(self, reference, default=None):
        return made()


def main() -> None:
    provider = FakeProvider()
    provider.tests_own_transactions = 0
    provider.polls = AlwaysMade()
    registry.ADAPTERS["sandbox"] = lambda **account: provider
    registry.find_provider.cache_clear()
    queue.async_task = lambda *args: None
    queue.waiting = lambda: 0
    with time_machine.travel(WRITTEN_AT, tick=False) as clock:
        schedules.ensure()
        for schedule in Schedule.objects.all():
            import_string(schedule.func)
        for step in STEPS:
            clock.shift(step)
            go_round()
        report = {"soon": ends()}
        for step in LATER:
            clock.shift(step)
            go_round()
        report |= {"later": ends(), "sent": len(provider.sent)}
        call_command("audit", "--deep", stdout=sys.stderr)
    json.dump(report, sys.stdout)


def go_round() -> None:
    """What is due is polled, followed and run."""
    ticker = Ticker()
    try:
        ticker.tick()
        wait([*ticker.polls, *ticker.searches.running], timeout=60)
        ticker.collect()
    finally:
        ticker.close()
    # The save that a stage opens is due in the same round.
    for _again in range(3):
        for stage_id in list(Stage.objects.due(timezone.now()).values_list("pk", flat=True)):
            advance.advance(stage_id)


def ends() -> dict[str, list]:
    """By prompt: state and reason of the job, state of its attempt, how many pictures."""
    return {
        job.prompt or str(job.pk): [
            job.state,
            job.reason,
            job.attempt.state,
            job.pictures.count(),
        ]
        for job in Job.objects.select_related("attempt").order_by("created_at", "pk")
    }


if __name__ == "__main__":
    main()
