"""`manage.py forget NAME`: delete a user with all that was theirs, as staff do in the admin."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from jobs.people import deletion, deletion_texts
from jobs.people.deletion import Decider


class Command(BaseCommand):
    help = "Delete a user with their prompts, pictures and texts. The ledgers keep their figures."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="username")
        parser.add_argument(
            "--yes",
            action="store_true",
            help="delete; without this option, only print what would be removed",
        )
        parser.add_argument(
            "--keep", action="store_true", help="delete only the user and keep their content"
        )

    def handle(self, **options: Any) -> None:
        user = User.objects.filter(username=options["name"]).first()
        if user is None:
            raise CommandError("there is no user with this name")
        had = deletion.count_belongings([user])
        self._say("Can be removed:", deletion_texts.what_can_go(had))
        self._say("Kept permanently, without a name:", deletion_texts.what_stays(had))
        self._say("On its way:", deletion_texts.what_happens(had))
        if not options["yes"]:
            self.stdout.write("Nothing was changed. To delete, run the command again with --yes.")
            return
        decider = Decider(None, "manage.py forget", "on the command line")
        deletion.delete_person(user, decider, timezone.now(), remove=not options["keep"])
        self.stdout.write("Done.")

    def _say(self, head: str, lines: list[str]) -> None:
        if lines:
            self.stdout.write("\n".join([head, *[f"  - {line}" for line in lines]]))
