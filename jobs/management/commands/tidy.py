"""`manage.py tidy`: housekeeping by hand, or what it would remove."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils import timezone

from jobs.core import outages
from jobs.ops import housekeeping


class Command(BaseCommand):
    help = "Delete data that is past its retention period. Safe while the site is running."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="print what would be removed, and remove nothing"
        )
        parser.add_argument(
            "--seconds", type=float, default=300, help="stop after about this many seconds"
        )

    def handle(self, **options: Any) -> None:
        try:
            self._tidy(**options)
        except DatabaseError as exc:
            raise CommandError(f"the database {outages.describe(exc)}") from exc

    def _tidy(self, **options: Any) -> None:
        now = timezone.now()
        if options["dry_run"]:
            for chore in housekeeping.all_chores():
                self.stdout.write(f"{chore.name}: {chore.count(now)} would be removed")
            return
        removed = housekeeping.tidy_if_due(now, seconds=options["seconds"])
        if not removed:
            raise CommandError("another process is tidying up")
        for name, many in removed.items():
            self.stdout.write(f"{name}: {many} removed")
