"""`manage.py ticker`: the process that polls, wakes and recovers."""

import os
import signal
import threading

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from jobs.processes.ticker import Ticker


class Command(BaseCommand):
    help = "Polls every due call, wakes due stages and recovers what dead processes held."

    def handle(self, *args: object, **options: object) -> None:
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        ticker = Ticker()
        ticker.run(stop)
        try:
            ticker.close()
        except DatabaseError:
            self.stderr.write(
                "ticker: cannot reach the database; the ticker's lease expires on its own"
            )
        # A poll changes nothing at the provider, so an unfinished one need not be awaited.
        os._exit(0)
