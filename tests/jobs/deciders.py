"""Staff who decide about the same calls at once, on the database named by DATABASE_URL. Prints what
became of them.

Run as `python -m tests.jobs.deciders decide|resume`.

decide: two give every slot back, two attach ids, one of them always the same, one asks about all;
beside them the truth comes for some, and others are given up.
resume: two set going what was set aside, while the ticker wakes what is due, a worker takes it, and
their people cancel some.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.jobs.searchers import LATER, LOST, OFFER, lose, run_of

# After the line above, which sets Django up.
from django.contrib.auth.models import User  # isort: skip

from jobs import outcomes
from jobs.core.models import Event, StaffAction, Stage
from jobs.engine import incoming
from jobs.ops import audit
from jobs.processes import ticker
from jobs.staff.actions.attach import run as attach
from jobs.staff.actions.base import ActionRefused, Decision
from jobs.staff.actions.check import run as check_now
from jobs.staff.actions.give_back import run as give_back
from jobs.staff.actions.resume_job import run as resume
from providers.calls.models import Call
from providers.outcomes import Artifact, Done
from quotas.accounts import account_named, ensure_saved
from tests import rows, working
from tests.quotas.contenders import NOW, run_together

SAME = "run of nobody"
ROUNDS = 20


def main() -> None:
    json.dump({"decide": contend_for_calls, "resume": contend_for_jobs}[sys.argv[1]](), sys.stdout)


def contend_for_calls() -> dict:
    decision = Decision(User.objects.create(username="staff"), "asked", LATER)
    calls = [lose(number, OFFER) for number in range(LOST)]
    ids = [call.pk for call in calls]
    answers = run_together(
        *[lambda: decide(ids, lambda pk: give_back(pk, decision))] * 2,
        lambda: decide(ids, lambda pk: attach(pk, f"run of {pk}", decision)),
        lambda: decide(ids, lambda pk: attach(pk, SAME, decision)),
        *[lambda: ask_often(ids, decision)] * 2,
        lambda: tell_truth(calls[::3]),
        lambda: stop_asking(calls[1::3]),
    )
    return {"answers": answers, **findings(calls)}


def contend_for_jobs() -> dict:
    decision = Decision(User.objects.create(username="staff"), "asked", NOW)
    operator = ensure_saved(account_named("operator"), now=NOW)
    ids = [rows.set_aside(operator, NOW).pk for _ in range(LOST)]
    answers = run_together(
        *[lambda: decide(ids, lambda pk: resume([pk], decision))] * 2,
        lambda: work_off(ids),
        lambda: wake(),
        lambda: {"cancelled": sum(outcomes.cancel(pk, NOW) for pk in ids[::4])},
    )
    entries = Counter(StaffAction.objects.values_list("job_id", flat=True))
    return {
        "answers": answers,
        "most_of_a_job": max(entries.values()),
        "entries": sum(entries.values()),
        "events": Event.objects.filter(name="resumed").count(),
        "forgotten_deaths": Stage.objects.filter(tries__lt=3).count(),
        "violations": sorted({violation.check for violation in audit.violations(NOW)}),
    }


def work_off(ids: list) -> dict:
    """A worker that takes whatever is due and keeps it, until there was something."""
    taken: list = []
    left = ROUNDS
    while left > 0 or not taken:
        taken += [pk for pk in ids if working.take(pk, NOW)]
        left -= 1
    return {"taken": len(taken), "different": len(set(taken))}


def wake() -> dict:
    for _ in range(ROUNDS):
        ticker.wake_due(NOW)
    return {}


def decide(ids: list, about: Callable[[Any], object]) -> dict:
    taken, words = 0, set()
    for pk in random.sample(ids, len(ids)):
        try:
            about(pk)
            taken += 1
        except ActionRefused as refused:
            words.add(str(refused))
    return {"taken": taken, "mute": "" in words}


def ask_often(ids: list, decision: Decision) -> dict:
    """One by one and several together, in an order of their own."""
    for _ in range(5):
        decide(ids, lambda pk: check_now([pk], decision))
        decide(ids[:1], lambda pk: check_now(random.sample(ids, 9), decision))
    return {}


def tell_truth(calls: list[Call]) -> dict:
    done = Done((Artifact(url="http://127.0.0.1:1/a.png"),), None)
    for call in calls:
        incoming.apply(call, done, LATER)
    return {}


def stop_asking(calls: list[Call]) -> dict:
    for call in calls:
        incoming.give_up(call, LATER)
    return {}


def findings(calls: list[Call]) -> dict:
    entries = Counter(StaffAction.objects.values_list("action", "call_id"))
    held = Counter(Call.objects.exclude(reference=None).values_list("reference", flat=True))
    own = {call.pk: run_of(call).reference for call in calls}
    return {
        "entries": Counter(deed for deed, _ in entries.elements()),
        "most_of_a_call": max(count for (deed, _), count in entries.items() if deed != "check"),
        "events": Counter(Event.objects.values_list("name", flat=True)),
        "most_holders": max(held.values()),
        "strange": [ref for pk, ref in _references(calls) if ref not in (None, SAME, own[pk])],
        "violations": sorted({violation.check for violation in audit.violations(LATER)}),
    }


def _references(calls: list[Call]) -> list[tuple[int, str | None]]:
    return [(call.pk, Call.objects.get(pk=call.pk).reference) for call in calls]


if __name__ == "__main__":
    main()
