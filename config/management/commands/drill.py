"""`manage.py drill`: hurt a site of its own in every way, and hold its books against the bill."""

import os
import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING

from django.core.management.base import BaseCommand, CommandError

from config.drill.mutants import NAMES

if TYPE_CHECKING:
    from config.drill.mutants import Mutant
    from config.drill.run import Outcome

PART = 60


class Command(BaseCommand):
    help = (
        "Run the chaos drill in a site of its own; exits 1 with the event log if it finds a fault."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--seed", type=int, default=1, help="replays the injections")
        parser.add_argument("--rounds", type=int, default=60)
        parser.add_argument("--db", choices=("sqlite", "postgres"), default="sqlite")
        parser.add_argument("--pace", type=float, default=0.4, help="seconds between two orders")
        parser.add_argument("--log", type=Path, help="write events and the site's log there")
        parser.add_argument("--mutant", choices=NAMES, default="", help="plant this defect")
        parser.add_argument(
            "--mutants", action="store_true", help="plant each; exits 1 if one is not found"
        )

    def handle(self, **options) -> None:
        if sys.platform != "linux":
            raise CommandError("the drill needs Linux: /proc, and processes tied to their parent")
        # An end from outside is an end in order: everything that was started is ended.
        signal.signal(signal.SIGTERM, self._end)
        is_right = self._plant_each(options) if options["mutants"] else self._drill(options)
        if not is_right:
            sys.exit(1)

    def _drill(self, options: dict) -> bool:
        from config.drill import report

        outcome = self._run(options)
        for line in report.lines(outcome):
            self.stdout.write(line)
        if options["log"]:
            story = "\n".join(report.story(outcome))
            options["log"].write_text(f"{story}\n\n{outcome.site_log}", encoding="utf-8")
        if outcome.reckoning.wrongs:
            for line in report.story(outcome):
                self.stdout.write(line)
        is_build_machine = os.environ.get("CI", "").lower() == "true"
        return not outcome.reckoning.wrongs and not (is_build_machine and outcome.failed)

    def _plant_each(self, options: dict) -> bool:
        """True when the drill finds every one of them."""
        from config.drill.mutants import MUTANTS

        missed = []
        for mutant in MUTANTS:
            layer = f"; without {mutant.without}" if mutant.without else ""
            self.stdout.write(f"{mutant.name} ({mutant.says}{layer}):")
            verdict = self._look_for(mutant, options)
            self.stdout.write(f"  {verdict or 'NOT FOUND'}")
            self.stdout.flush()
            if not verdict:
                missed.append(mutant.name)
        return not missed

    def _look_for(self, mutant: "Mutant", options: dict) -> str:
        """In parts, each with the next seed, so that what is found soon costs little."""
        asked = options["rounds"]
        for part in range(-(-asked // PART)):
            rounds = min(PART, asked - part * PART)
            seed = options["seed"] + part
            of_part = {**options, "rounds": rounds, "seed": seed, "mutant": mutant.name}
            found = self._run(of_part).found(mutant.shows)
            if found:
                within = part * PART + rounds
                return f"found within {within} rounds (seed {seed}), {len(found)} times: {found[0]}"
        return ""

    def _run(self, options: dict) -> "Outcome":
        from config.drill.run import Drill, NotStarted
        from config.drill.stores import Missing

        try:
            return Drill(
                seed=options["seed"],
                rounds=options["rounds"],
                stores=options["db"],
                pace=options["pace"],
                mutant=options["mutant"],
                say=self._say,
            ).run()
        except (NotStarted, Missing) as exc:
            raise CommandError(str(exc)) from None

    def _end(self, number: int, frame: object) -> None:
        self._say("told to end: ending all that was started")
        sys.exit(128 + number)

    def _say(self, text: str) -> None:
        self.stderr.write(f"drill: {text}")
        self.stderr.flush()
