"""`manage.py audit`: are the invariants kept? Exits 1 naming each violation."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict

from django.core.management.base import BaseCommand
from django.db import DatabaseError
from django.utils import timezone

from jobs.core import outages
from jobs.database.file import UnusableFile, check_file, database_file
from jobs.ops import audit


class Command(BaseCommand):
    help = (
        "Check the invariants over the whole database. Names each violation, and exits 1 if there"
        " is any."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")
        parser.add_argument("--deep", action="store_true", help="also read every picture file")

    def handle(self, **options: bool) -> None:
        self._refuse_another_wal()
        try:
            found = list(audit.violations(timezone.now(), deep=options["deep"]))
            orphans = [] if audit.finds_damage(found) else list(audit.files.orphans())
        except DatabaseError as exc:
            self.stderr.write(f"audit: the database {outages.describe(exc)}")
            sys.exit(2)
        write = self._write_json if options["json"] else self._write_lines
        write(found, orphans)
        if found:
            sys.exit(1)

    def _refuse_another_wal(self) -> None:
        """Before the database is opened, which would carry the `-wal` into the file."""
        file = database_file()
        try:
            if file:
                check_file(file)
        except (UnusableFile, OSError) as exc:
            self.stderr.write(f"audit: {exc}")
            sys.exit(2)

    def _write_json(self, found: list[audit.Violation], orphans: list[str]) -> None:
        report = {
            "violations": [asdict(violation) for violation in found],
            "notes": [{"note": "file_of_no_picture", "file": file} for file in orphans],
        }
        self.stdout.write(json.dumps(report, indent=2))

    def _write_lines(self, found: list[audit.Violation], orphans: list[str]) -> None:
        for file in orphans:
            self.stdout.write(f"note: {file} belongs to no picture")
        for violation in found:
            self.stdout.write(str(violation))
        many = "no violation" if not found else f"violations: {len(found)}"
        self.stdout.write(f"audit: {many}")
