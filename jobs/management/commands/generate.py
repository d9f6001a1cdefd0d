"""`manage.py generate "PROMPT"`: a picture by the running site, from the command line."""

import json
import math
import sys
import time
import uuid
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError, connection
from django.utils import timezone

from jobs.core import heartbeats, leases, outages
from jobs.core.models import Job
from jobs.core.states import JobState
from jobs.pictures.cli import NotOrdered, OrderInDoubt, order_from
from jobs.pictures.reports import build_report, report_of_new, report_of_none
from jobs.pictures.words import WORDS
from quotas import accounts

LOOK_EVERY = 0.3
REFUSED, NOT_KNOWN, INTERRUPTED = 2, 3, 130
MOVING = frozenset({JobState.QUEUED, JobState.RUNNING})
EXIT_CODES = {
    JobState.READY: 0,
    JobState.FAILED: 1,
    JobState.CANCELLED: 1,
    JobState.IN_DOUBT: NOT_KNOWN,
    JobState.NOT_CONFIRMED: NOT_KNOWN,
}


class Command(BaseCommand):
    help = (
        "Request a picture from the running site. Exit codes: 0 ready (or queued, without --wait), "
        "1 failed or cancelled, 2 refused, 3 outcome not known (in doubt or timed out)."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("prompt", metavar="PROMPT")
        parser.add_argument("--account", default=accounts.OPERATOR, help="created on first use")
        parser.add_argument("--plan", default="", help="set the account's plan")
        parser.add_argument(
            "--model", default="", help="provider:model (default: the site's first)"
        )
        parser.add_argument("--aspect-ratio", default="1:1")
        parser.add_argument("--fault", default="", help="the problem that the sandbox simulates")
        parser.add_argument("--wait", action="store_true", help="wait until the outcome is known")
        parser.add_argument(
            "--timeout", type=_seconds, metavar="SECONDS", help="stop waiting after this long"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        self.as_json = options["json"]
        self.goes_on = "still waiting" if options["wait"] else "the job is in the queue"
        self.told: set[object] = set()
        try:
            sys.exit(self._generate(options))
        except NotOrdered as exc:
            self._print_json(report_of_none(exc.error))
            self._warn(str(exc))
            sys.exit(REFUSED)
        except OrderInDoubt:
            self._print_json(report_of_none("database"))
            self._warn("lost the database; the job may or may not have been created")
            sys.exit(NOT_KNOWN)
        except KeyboardInterrupt:
            self._warn("stopped waiting; the job continues")
            sys.exit(INTERRUPTED)

    def _generate(self, options: dict[str, Any]) -> int:
        job = order_from(options, timezone.now())
        self._say(f"job {job.pk}")
        report = self._look(job.pk, report_of_new(job))
        if options["wait"]:
            report = self._follow(job.pk, report, options["timeout"])
        self._print_json(report)
        state = JobState(report["state"])
        if state in MOVING:
            if options["wait"]:
                self._warn(f"timed out; the job is {state} and continues")
            return NOT_KNOWN if options["wait"] else 0
        self._say(_in_words(report))
        return EXIT_CODES[state]

    def _follow(
        self, job_id: uuid.UUID, report: dict[str, Any], timeout: float | None
    ) -> dict[str, Any]:
        """The job's report once it is known how it ends, or when the time is over."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        while JobState(report["state"]) in MOVING and time.monotonic() < until:
            pause(min(LOOK_EVERY, until - time.monotonic()))
            report = self._look(job_id, report)
        return report

    def _look(self, job_id: uuid.UUID, last: dict[str, Any]) -> dict[str, Any]:
        """The state of the job; the `last` report while the database is away."""
        try:
            job = Job.objects.select_related("attempt").get(pk=job_id)
            self._tell_events(job)
            self._tell_silence()
            return build_report(job)
        except DatabaseError as exc:
            connection.close_if_unusable_or_obsolete()
            self._warn_once(f"the database {outages.describe(exc)}; {self.goes_on}")
            return last

    def _tell_events(self, job: Job) -> None:
        """From the rows not printed yet: an event's id is no evidence of when it was committed."""
        if self.as_json:
            return
        for event in job.events.order_by("pk"):
            if event.pk not in self.told:
                self.told.add(event.pk)
                words = WORDS.event_in_words(event.name, event.facts, job.reason)
                self._say(f"{event.at:%H:%M:%S} {words}")

    def _tell_silence(self) -> None:
        now = timezone.now()
        ticks = heartbeats.ticker_is_alive(now)
        works = heartbeats.cluster_is_alive(now) or leases.busy_workers() > 0
        if ticks and works:
            return
        silent = "no worker cluster is alive" if ticks else "no ticker is alive"
        if not ticks and not works:
            # The ticker asks for the workers' sign of life: without one it proves nothing.
            silent += " and no worker was heard of lately"
        self._warn_once(f"{silent}: the job keeps its place until one is")

    def _print_json(self, report: dict[str, Any]) -> None:
        if self.as_json:
            self.stdout.write(json.dumps(report, indent=2))

    def _say(self, text: str) -> None:
        if not self.as_json:
            self.stdout.write(text)
            self.stdout.flush()

    def _warn(self, text: str) -> None:
        self.stderr.write(f"generate: {text}")

    def _warn_once(self, text: str) -> None:
        if text not in self.told:
            self.told.add(text)
            self._warn(text)


def pause(seconds: float) -> None:
    time.sleep(max(0.0, seconds))


def _in_words(report: dict[str, Any]) -> str:
    state = JobState(report["state"])
    if state == JobState.READY:
        return f"{state}: {' '.join(report['pictures'])}"
    if state == JobState.FAILED:
        return f"{state}: {report['error']}: {WORDS.reason_in_words(report['error'])}"
    return f"{state}: {report['error']}" if report["error"] else str(state)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ArgumentTypeError(f"a number of seconds above 0, not {text!r}")
    return seconds
