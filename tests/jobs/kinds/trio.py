"""A second kind of job, which no menu offers: three works side by side, two of providers that
answer later and one that answers at once. Registered by tests in the place of `contract`.

    order ──> stage `ask` × 3, each with a work of its own ──> the job is concluded with the last
"""

import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial

from django import forms
from django.db import transaction
from django.db.models import QuerySet

from jobs import chores, kinds
from jobs.checks import Check, Finding, check, each
from jobs.chores import Chore
from jobs.core import faultpoints, queue, transitions
from jobs.core.events import EventName
from jobs.core.models import Event, Job, Stage
from jobs.core.states import JobState
from jobs.core.works import PAID, has_call
from jobs.followers import Follower
from jobs.kinds import Kind, OrderPage, Sends, SmokeRequest, Templates
from jobs.words.kind_words import KindWords
from jobs.words.wording import Message, MessageName
from providers.adapters.base import Request
from providers.adapters.registry import Offer
from providers.calls.models import Call
from providers.routing.pool import Candidate, candidates
from quotas import ledger
from quotas.ledger import Refused
from quotas.models import Account

KIND = "contract"
OFFERS = {
    "first": Offer("early", "slow-1"),
    "second": Offer("late", "slow-2"),
    "third": Offer("prompt", "quick-1"),
}


class TrioFollower(Follower):
    def candidates(self, job: Job, stage: Stage, past: Sequence[Call]) -> list[Candidate]:
        return candidates(OFFERS[part_of(stage)], past)


def part_of(stage: Stage) -> str:
    return (stage.work or "").rpartition(":")[2]


def build_request(stage: Stage, call: Call) -> Request:
    return Request(work=call.work, model=call.model)


WORDS = KindWords(
    title=lambda job: f"Trio of {job.created_at:%H:%M}",
    mail="Your trio from %(requested)s: %(state)s.",
    mail_reason="You asked for this email on the trio's page.",
    actions={"delete": "Delete trio"},
    headlines={JobState.FAILED: "There is no trio"},
    events={EventName.READY: "The trio is ready."},
    messages={MessageName.DELETED: Message("The trio was deleted.", "ready")},
)


def build_panel(job: Job, events: Sequence[Event], now: datetime) -> dict[str, object]:
    calls = Call.objects.filter(work__in=job.stages.values("work"))
    parts = sorted((call.work.rpartition(":")[2], call.state) for call in calls)
    made = [part for part, state in parts if state == "succeeded"]
    return {
        "parts": parts,
        "has_result": bool(parts),
        "steps": [],
        "sentences": [f"{len(made)} of {len(OFFERS)} parts are done."],
        "look_in": None,
    }


class TrioForm(forms.Form):
    note = forms.CharField()


def delete_result(job_id: uuid.UUID, now: datetime) -> bool:
    ready = Job.objects.filter(pk=job_id, state=JobState.READY)
    if not ready.update(result_deleted_at=now):
        return False
    transitions.record_event(job_id, event=EventName.DELETED, now=now)
    return True


CHECKS: list[Check] = []
# The jobs of deleted people.
removed: list[uuid.UUID] = []


@check("A trio is ready, but none of its parts is.", CHECKS)
def ready_trio_has_part(now: datetime) -> Iterator[Finding]:
    return each(Job.objects.filter(~has_call(PAID), kind=KIND, state=JobState.READY))


def _old(now: datetime) -> QuerySet[Job]:
    ready = Job.objects.kept().filter(kind=KIND, state=JobState.READY)
    return ready.filter(ended_at__lt=now - timedelta(days=1))


def expire_old(now: datetime) -> int:
    return sum(delete_result(job.pk, now) for job in _old(now)[: chores.BATCH])


TRIO = Kind(
    name=KIND,
    stages={"ask": Sends(build_request)},
    follower=TrioFollower(),
    words=WORDS,
    panel=build_panel,
    templates=Templates(
        result="trio/result.html", request="trio/request.html", list_entry="trio/list_entry.html"
    ),
    order_page=OrderPage(
        url="new_trio",
        link="New trio",
        form=TrioForm,
        page="trio/new.html",
        part="trio/form.html",
    ),
    delete_result=delete_result,
    remove_results=removed.extend,
    smoke=SmokeRequest(
        offers=lambda: list(OFFERS.values()),
        order=lambda account, offer, now: order(account, now),
        why_bad=lambda job, provider: "",
    ),
    checks=CHECKS,
    chores=(Chore("trios of yesterday", lambda now: _old(now).count(), expire_old),),
    files=(),
    list_needs=("stages",),
)


def register() -> None:
    kinds.KINDS[KIND] = TRIO


@transaction.atomic
def order(account: Account, now: datetime, parts: Sequence[str] = tuple(OFFERS)) -> Job | Refused:
    """Its works are sent in the order of `parts`."""
    job = Job.objects.create(
        account=account,
        kind=KIND,
        state=JobState.QUEUED,
        form_key=uuid.uuid4().hex,
        form_digest="",
        created_at=now,
        changed_at=now,
    )
    attempt = ledger.reserve(account=account, kind=KIND, now=now)
    if isinstance(attempt, Refused):
        transaction.set_rollback(True)
        return attempt
    job.attempt = attempt
    job.save(update_fields=["attempt"])
    for part in parts:
        work = f"trio:{job.pk}:{part}"
        stage = Stage.objects.create(
            job=job, name="ask", work=work, created_at=now, due_at=now, woken_at=now
        )
        queue.enqueue_after_commit(stage.pk)
    transitions.record_event(
        job.pk, event=EventName.RESERVED, now=now, day=str(attempt.day), slot=attempt.slot
    )
    transaction.on_commit(partial(faultpoints.reach, "job_committed"))
    return job
