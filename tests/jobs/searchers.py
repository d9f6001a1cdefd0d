"""Processes that decide about the same lost calls, on the database named by DATABASE_URL. Prints
what became of them.

Run as `python -m tests.jobs.searchers adopt`. Four read the same list; beside them senders wake
with the ids of their own runs, another call is told the id of a run, and calls are given up.
"""

import json
import random
import sys
from collections import Counter
from dataclasses import replace
from datetime import timedelta

from jobs.core.events import EventName
from tests.quotas.contenders import NOW, run_together

# After the line above, which sets Django up.
from django.conf import settings  # isort: skip

from jobs.core import transitions
from jobs.core.models import Event, Job
from jobs.core.states import JobState
from jobs.core.works import work_of
from jobs.engine import incoming
from jobs.engine.recovery import follow
from jobs.pictures.orders import PictureOrder, order_picture
from providers.adapters.registry import Offer
from providers.calls import ledger
from providers.calls.models import Call
from providers.outcomes import Accepted, Cause, Listing, Run, Unknown
from quotas.accounts import account_named

LOST = 24
APART = timedelta(minutes=20)
OFFER = Offer("sandbox", "test-picture")
THIEF = Offer("sandbox", "another")
LATER = NOW + LOST * APART


def main() -> None:
    accounts = settings.PROVIDER_ACCOUNTS
    sandbox = replace(accounts["sandbox"], key_exclusive=True)
    settings.PROVIDER_ACCOUNTS = accounts | {"sandbox": sandbox}
    calls = [lose(number, OFFER) for number in range(LOST)]
    thief = lose(LOST, THIEF)
    listing = Listing(tuple(run_of(call) for call in calls), asked_at=LATER)
    answers = run_together(
        *[lambda: follow_all(calls, listing)] * 4,
        lambda: wake_senders(calls[::3]),
        lambda: steal(thief, calls),
        lambda: give_up(calls[1::3]),
    )
    json.dump({"answers": answers, **findings(calls)}, sys.stdout)


def lose(number: int, offer: Offer) -> Call:
    """A call without an id, and its job in doubt."""
    at = NOW + number * APART
    order = PictureOrder(prompt="a fox", aspect_ratio="1:1", offer=offer)
    account = account_named("operator")
    job = order_picture(account=account, order=order, form_key=f"form {number}", now=at)
    assert isinstance(job, Job)
    transitions.apply(job.pk, JobState.RUNNING, event=EventName.SENT, now=at)
    call = ledger.open_call(work=work_of(job.pk), offer=offer, now=at)
    assert call
    return incoming.apply(call, Unknown(Cause("transport", rule="lost")), at).call


def run_of(call: Call) -> Run:
    return Run(f"run of {call.pk}", call.model, call.sent_at)


def follow_all(calls: list[Call], listing: Listing) -> dict:
    for call in random.sample(calls, len(calls)):
        follow(call, listing, LATER)
    return {}


def wake_senders(calls: list[Call]) -> dict:
    for call in calls:
        incoming.apply(call, Accepted(run_of(call).reference), LATER)
    return {}


def steal(thief: Call, calls: list[Call]) -> dict:
    """Until one of the ids was free, if any was."""
    for call in random.sample(calls, len(calls)):
        incoming.apply(thief, Accepted(run_of(call).reference), LATER)
    return {}


def give_up(calls: list[Call]) -> dict:
    for call in calls:
        incoming.give_up(call, LATER)
    return {}


def findings(calls: list[Call]) -> dict:
    held = Counter(Call.objects.exclude(reference=None).values_list("reference", flat=True))
    fresh = {call.pk: Call.objects.get(pk=call.pk) for call in calls}
    accepted = Event.objects.filter(name="accepted").values_list("job_id", flat=True)
    return {
        "most_holders": max(held.values()),
        "own": sum(call.reference in (None, run_of(call).reference) for call in fresh.values()),
        "held": sum(held.values()),
        "given_up": sum(call.state == "given_up" for call in fresh.values()),
        "most_events": max(Counter(accepted).values()),
    }


if __name__ == "__main__":
    main()
