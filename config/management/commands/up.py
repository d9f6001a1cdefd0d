"""The whole site under one supervisor: web, workers, ticker and, where it is used, the sandbox."""

import os
import sys

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connections

from config import data_dir
from config.supervisor import preflight
from config.supervisor.banner import banner, site_answers
from config.supervisor.children import say, site_roles
from config.supervisor.questions import Questions
from config.supervisor.records import Records
from config.supervisor.watch import Supervisor
from providers.adapters.registry import longest_answer

# A cluster needs this long to come up before it can answer a probe at all.
CLUSTER_START = 5.0


class Command(BaseCommand):
    help = "Start the whole site. Ctrl-C or SIGTERM stops all of it."
    requires_system_checks = []

    def handle(self, *args: object, **options: object) -> None:
        # Inherited by the children: only this account may read the files that any of them writes.
        os.umask(0o077)
        data_dir.close_to_others(settings.DATA_DIR)
        records = Records(settings.DATA_DIR)
        try:
            was_replaced = preflight.check_everything(records)
            preflight.migrate()
            preflight.check_no_copy()
            preflight.warn_of_second_site()
            preflight.take_over_database(was_replaced=was_replaced)
            preflight.collect_static()
            text = banner()
            connections.close_all()
            self.supervise(records, text)
        except preflight.CannotStart as exc:
            sys.exit(f"counterfoil: {exc}")
        except KeyboardInterrupt:
            # The supervisor installs its signal handlers before it starts anything.
            sys.exit("counterfoil: stopped before anything was started")

    def supervise(self, records: Records, text: str) -> None:
        questions = Questions()
        questions.start()
        supervisor = Supervisor(
            site_roles(),
            ask=questions.answer,
            changed=lambda pids: write_down(records, pids),
            wedge_grace=settings.PROBE_TIMEOUT + CLUSTER_START,
            submit_timeout=longest_answer().total_seconds(),
            stop_grace=settings.STOP_GRACE,
        )
        supervisor.run(each_look=Announcement(text).look)
        records.clear()
        say("counterfoil: stopped")


class Announcement:
    """Print the site's address as soon as it answers there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.made = False

    def look(self) -> None:
        if not self.made and site_answers():
            self.made = True
            say_out(self.text)


def say_out(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def write_down(records: Records, pids: dict[str, int]) -> None:
    try:
        records.write(pids)
    except OSError as exc:
        say(f"counterfoil: {records.path} cannot be written: {exc.strerror}")
