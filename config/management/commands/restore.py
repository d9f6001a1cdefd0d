"""`manage.py restore PATH`: a backup becomes the site's data again. The site must not run."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from config.backup import Failed
from config.backup.restore import Options, restore_backup


class Command(BaseCommand):
    help = (
        "Verify a backup and restore it. Queued jobs in it are cancelled, and files that no row"
        " names are kept."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="the folder of a backup")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="if a database exists already, keep it under another name",
        )
        parser.add_argument(
            "--database-restored",
            action="store_true",
            help="PostgreSQL: complete the restore after pg_restore",
        )

    def handle(self, **options: Any) -> None:
        chosen = Options(
            replaces_database=options["replace"], database_is_restored=options["database_restored"]
        )
        # Every file that is written holds prompts, pictures or a key.
        os.umask(0o077)
        try:
            restore_backup(options["path"], chosen, self.stdout.write)
        except Failed as exc:
            raise CommandError(f"restore: {exc}") from exc
        self.stdout.write("restore: done; run manage.py audit --deep, then start the site")
