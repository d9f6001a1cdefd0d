"""The workers: django-q2's cluster, as one unit that dies with its leader."""

import sys

from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connections

from config.supervisor import tether


class Command(BaseCommand):
    help = "Run the workers. SIGTERM stops them once their current tasks are done."
    requires_system_checks = []

    def handle(self, *args: object, **options: object) -> None:
        from config.supervisor.cluster import Cluster, use_fork
        from jobs.core import heartbeats
        from jobs.engine import schedules
        from quotas.identity import read_site_id

        use_fork()
        try:
            schedules.ensure()
            heartbeats.forget_probe()
            # The forks need it for the name of the queue.
            read_site_id()
        except Error as exc:
            raise CommandError(f"the database does not take its schedules: {exc}") from exc
        # A connection must not be shared with the forks.
        connections.close_all()
        tether.tie_forks()
        tether.set_name("q-cluster")
        sys.exit(Cluster().run())
