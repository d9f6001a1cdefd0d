"""`python -m tests.drill`: damage a site of its own in every way, then compare its rows with the
sandbox's bill. Exits with 1 and the event log if it finds a fault.
"""

import argparse
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.drill import report
from tests.drill.mutants import MUTANTS, NAMES, Mutant
from tests.drill.run import Drill, NotStarted, Outcome
from tests.drill.stores import Missing

PART = 60


@dataclass
class Options:
    seed: int
    rounds: int
    db: str
    pace: float
    log: Path | None
    mutant: str
    mutants: bool


def read_options(arguments: list[str] | None = None) -> Options:
    parser = argparse.ArgumentParser(prog="python -m tests.drill", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="replays the injections")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--db", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--pace", type=float, default=0.4, help="seconds between two orders")
    parser.add_argument("--log", type=Path, help="write events and the site's log there")
    parser.add_argument("--mutant", choices=NAMES, default="", help="plant this defect")
    parser.add_argument(
        "--mutants", action="store_true", help="plant each; exits 1 if one is not found"
    )
    return Options(**vars(parser.parse_args(arguments)))


def main() -> None:
    options = read_options()
    if sys.platform != "linux":
        sys.exit("the drill needs Linux: /proc, and processes tied to their parent")
    # An end from outside is an end in order: everything that was started is ended.
    signal.signal(signal.SIGTERM, end)
    try:
        is_right = find_all_mutants(options) if options.mutants else pass_drill(options)
    except (NotStarted, Missing) as exc:
        sys.exit(f"drill: {exc}")
    if not is_right:
        sys.exit(1)


def pass_drill(options: Options) -> bool:
    outcome = run_drill(options, options.seed, options.rounds, options.mutant)
    for line in report.lines(outcome):
        write(line)
    if options.log:
        story = "\n".join(report.story(outcome))
        options.log.write_text(f"{story}\n\n{outcome.site_log}", encoding="utf-8")
    if outcome.reckoning.wrongs:
        for line in report.story(outcome):
            write(line)
    is_build_machine = os.environ.get("CI", "").lower() == "true"
    return not outcome.reckoning.wrongs and not (is_build_machine and outcome.failed)


def find_all_mutants(options: Options) -> bool:
    missed = []
    for mutant in MUTANTS:
        layer = f"; without {mutant.without}" if mutant.without else ""
        write(f"{mutant.name} ({mutant.says}{layer}):")
        verdict = find_mutant(mutant, options)
        write(f"  {verdict or 'NOT FOUND'}")
        if not verdict:
            missed.append(mutant.name)
    return not missed


def find_mutant(mutant: Mutant, options: Options) -> str:
    """In parts, each with the next seed: a defect that shows early costs little."""
    for part in range(-(-options.rounds // PART)):
        rounds = min(PART, options.rounds - part * PART)
        seed = options.seed + part
        found = run_drill(options, seed, rounds, mutant.name).found(mutant.shows)
        if found:
            within = part * PART + rounds
            return f"found within {within} rounds (seed {seed}), {len(found)} times: {found[0]}"
    return ""


def run_drill(options: Options, seed: int, rounds: int, mutant: str) -> Outcome:
    drill = Drill(
        seed=seed, rounds=rounds, stores=options.db, pace=options.pace, mutant=mutant, say=say
    )
    return drill.run()


def end(number: int, frame: object) -> None:
    say("told to end: ending all that was started")
    sys.exit(128 + number)


def say(text: str) -> None:
    print(f"drill: {text}", file=sys.stderr, flush=True)


def write(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
