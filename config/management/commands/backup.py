"""`manage.py backup PATH`: the database, the pictures and the secret key, while the site runs."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from config.backup import Failed
from config.backup.make import make_backup
from config.backup.manifest import FROM_ENVIRONMENT
from jobs.core.outages import describe


class Command(BaseCommand):
    help = "Write a backup to a new or empty folder. Safe while the site is running."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="a new or empty folder")

    def handle(self, **options: Any) -> None:
        # Every file that is written holds prompts, pictures or a key.
        os.umask(0o077)
        try:
            made = make_backup(options["path"], self.stdout.write)
        except Failed as exc:
            raise CommandError(f"backup: {exc}") from exc
        except DatabaseError as exc:
            raise CommandError(f"backup: the database {describe(exc)}") from exc
        if connection.vendor != "sqlite":
            self.stdout.write(
                "the backup does not include the database: use pg_dump (see docs/operations.md)"
            )
        if made.secret_key == FROM_ENVIRONMENT:
            self.stdout.write(
                "the backup does not include SECRET_KEY, which is a setting: keep a copy of it too"
            )
        self.stdout.write(f"backup: {options['path']} is complete")
