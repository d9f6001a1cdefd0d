"""`manage.py smoke`: does each provider make a picture? Exits 1 when one does not."""

import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from jobs.core import heartbeats
from jobs.ops import smoke
from providers.calls.models import SmokeTest

LOOK_EVERY = 0.3


class Command(BaseCommand):
    help = (
        "Request one small real picture from each provider, at its normal price. Prints one line "
        "per provider; exits 1 if any failed or timed out."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--provider", default="", help="test only this provider")
        parser.add_argument("--timeout", type=int, default=600, metavar="SECONDS")

    def handle(self, **options: Any) -> None:
        tests = self._begin(options["provider"])
        until = time.monotonic() + options["timeout"]
        results = [self._result_of(test, until) for test in tests]
        if not all(results):
            sys.exit(1)

    def _begin(self, only: str) -> list[SmokeTest]:
        known = smoke.tested_offers()
        if only and only not in known:
            raise CommandError(f"--provider must be one of {', '.join(known)}")
        asked = [tested for name, tested in known.items() if only in ("", name)]
        return [smoke.begin(kind, offer, timezone.now()) for kind, offer in asked]

    def _result_of(self, test: SmokeTest, until: float) -> bool:
        while test.ended_at is None and time.monotonic() < until:
            time.sleep(LOOK_EVERY)
            smoke.conclude_one(test, timezone.now())
            test.refresh_from_db()
        self.stdout.write(f"{test.provider}: {_in_words(test)}")
        self.stdout.flush()
        return test.is_good is True


def _in_words(test: SmokeTest) -> str:
    if test.ended_at is None:
        alive = heartbeats.site_moves(timezone.now())
        return "not done in time" if alive else "not done in time: no worker or ticker is alive"
    if test.is_good:
        return f"good, {(test.ended_at - test.began_at).total_seconds():.1f} s ({test.model})"
    return f"failed: {test.words}"
