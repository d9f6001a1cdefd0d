"""What a drill prints: what was done to the site, and how the books stand."""

from collections import Counter
from collections.abc import Iterator

from tests.drill.reckoning import CONTRADICTED
from tests.drill.run import Outcome

MUST_BE_NONE = {
    "wrong pictures": ("wrong picture",),
    "results lost": ("lost result",),
    "unread and not kept": ("not kept",),
    "polled in silence": ("polled in silence",),
    "fetched in vain": ("fetched in vain",),
    "executed twice": ("executed twice",),
    "oversold": ("oversold",),
    "undersold": ("undersold",),
    "slots lost": ("slot lost", "slot"),
    "stuck": ("stuck",),
}


def lines(outcome: Outcome) -> Iterator[str]:
    reckoning, counts = outcome.reckoning, outcome.reckoning.counts
    jobs = len(outcome.books.jobs)
    if not outcome.is_permitted:
        yield "NOT INJECTED: full and read-only disks: this machine does not permit mounts"
    for what, why in outcome.failed.items():
        yield f"NOT INJECTED: {what}: {why}"
    yield f"{len(outcome.plan.rounds)} rounds, {jobs} jobs, {outcome.refused} orders refused"
    yield f"lasted {outcome.lasted:.0f} s"
    yield from _table("faults", Counter(each.fault for each in outcome.plan.rounds))
    yield from _table("injected", outcome.injected)
    yield from _table("ends", reckoning.ends)
    yield f"executions {counts['executions']}, charges {counts['charges']}"
    judged = f"{counts['silences judged']} of {counts['silences']}"
    yield f"silences asked for that the site had in peace {judged}"
    yield f"delivered {counts['delivered']} of {counts['delivered expected']}"
    many = counts["in doubt at a model of many"]
    doubts = f"in doubt {counts['in doubt']} of {counts['in doubt expected']}"
    yield f"{doubts}, {many} at a model of many"
    lies = sum(run.fault == CONTRADICTED for run in outcome.books.runs)
    heard = f"{counts['lies heard']} heard of {lies} that the provider called not started"
    yield f"contradicted {counts['contradicted']} of {heard}"
    for name, kinds in MUST_BE_NONE.items():
        yield f"{name} {sum(reckoning.wrong_of(kind) for kind in kinds)}"
    others = Counter(wrong.kind for wrong in reckoning.wrongs)
    for kinds in MUST_BE_NONE.values():
        for kind in kinds:
            others.pop(kind, None)
    yield f"otherwise wrong {sum(others.values())} {dict(others) or ''}".rstrip()


def story(outcome: Outcome) -> Iterator[str]:
    """For a drill that found something: each wrong, and everything that was done, in order."""
    yield from (str(wrong) for wrong in outcome.reckoning.wrongs)
    if any(outcome.restless.values()):
        yield f"still moving at the end: {outcome.restless}"
    began = outcome.log[0].at if outcome.log else 0.0
    for entry in outcome.log:
        lasted = entry.until - entry.at
        yield f"{entry.at - began:8.2f} {entry.kind} {entry.what} {lasted:.1f} s"


def _table(title: str, counts: Counter[str]) -> Iterator[str]:
    row = f"{title}:"
    for name, number in sorted(counts.items()):
        entry = f" {name} {number},"
        if len(row) + len(entry) > 96:
            yield row
            row = "   "
        row += entry
    yield row.rstrip(",")
