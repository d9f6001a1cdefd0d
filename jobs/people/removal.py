"""Remove the data of a former user: prompts, pictures, files and every text that may quote them.
Attempts, calls and events keep their numbers, so no ledger changes.

    requested by staff ─────────────> at once
    VISITOR_PICTURES_KEPT is over ──> as with pictures of visitors

Works in batches of one transaction each and may be killed between any two. A job with a call that
is still pursued loses its prompt and pictures first. Its call loses its texts when it has ended.
"""

import re
import uuid
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from jobs.core import transitions
from jobs.core.batches import run_batches
from jobs.core.events import EventName
from jobs.core.models import Event, Job, StaffAction, Stage
from jobs.core.states import ENDS, JobState
from jobs.core.works import has_call
from jobs.files import media
from jobs.kinds import KINDS
from providers.calls import ledger
from quotas.models import Account

BATCH = 200
REMOVED = "removed"
KEPT_PARAMS = ("provider", "model", "aspect_ratio")
DAY = re.compile(r"\d{4}-\d\d-\d\d")


def jobs_to_clear(now: datetime) -> QuerySet[Job]:
    due = Q(account__removal_asked_at__isnull=False)
    if settings.VISITOR_PICTURES_KEPT is not None:
        due |= Q(ended_at__lte=now - settings.VISITOR_PICTURES_KEPT)
    former = Account.objects.former().filter(removed_at=None)
    jobs = Job.objects.filter(due, account__in=former, state__in=ENDS, texts_removed_at=None)
    return jobs.filter(~Q(prompt="") | _rests())


def clear_batch(now: datetime) -> int:
    """How many jobs; 0 when nothing is left to do now."""
    some = list(jobs_to_clear(now).order_by().values_list("pk", flat=True)[:BATCH])
    if some:
        _clear(some, now)
        return len(some)
    # So that later runs need not look at their jobs.
    left = Job.objects.filter(account=OuterRef("pk"), texts_removed_at=None)
    incoming = Account.objects.filter(
        Exists(Job.objects.filter(account=OuterRef("pk"))), moved_to=OuterRef("pk")
    )
    finished = Account.objects.former().filter(~Exists(left), ~Exists(incoming), removed_at=None)
    finished.update(removed_at=now)
    return 0


def run(now: datetime, *, seconds: float) -> bool:
    """True when there is more to do than the time allows."""
    return run_batches(partial(clear_batch, now), seconds=seconds)


def clear_actions(actions: QuerySet[StaffAction]) -> None:
    """The decision stays, with who took it, when and its numbers."""
    for action in actions:
        facts = _without_texts(action.facts)
        words = {"reason": REMOVED, "subject": f"{REMOVED} {action.pk}", "facts": facts}
        StaffAction.objects.filter(pk=action.pk).update(**words)


def _rests() -> Q:
    """Nothing more is written about it."""
    pursued = has_call(poll_at__isnull=False)
    return ~pursued & ~Exists(Stage.objects.unfinished().filter(job=OuterRef("pk")))


@transaction.atomic
def _clear(job_ids: list[uuid.UUID], now: datetime) -> None:
    jobs = list(Job.objects.select_for_update().filter(pk__in=job_ids).order_by("pk"))
    resting = set(Job.objects.filter(_rests(), pk__in=job_ids).values_list("pk", flat=True))
    for kind in KINDS.values():
        kind.remove_results(job_ids)
    for job in jobs:
        job.prompt, job.notice_due_at = "", None
        job.params = {name: job.params[name] for name in KEPT_PARAMS if name in job.params}
        # The digest would confirm a guessed prompt.
        job.form_key, job.form_digest = f"{REMOVED}-{job.pk.hex}", ""
        job.texts_removed_at = now if job.pk in resting else None
        if job.state == JobState.READY:
            job.result_deleted_at = job.result_deleted_at or now
    Job.objects.bulk_update(
        jobs,
        ["prompt", "notice_due_at", "params", "form_key", "form_digest", "texts_removed_at",
         "result_deleted_at"],
    )  # fmt: skip
    _clear_events(job_ids)
    transitions.note_all(job_ids, event=EventName.REMOVED, now=now)
    stages = Stage.objects.filter(job__in=resting).values_list("work", flat=True)
    works = [work for work in stages if work]
    about = Q(job__in=job_ids) | Q(call__work__in=works)
    clear_actions(StaffAction.objects.filter(about).exclude(reason=REMOVED))
    files = ledger.clear_texts(works)
    transaction.on_commit(partial(media.remove, files))


def _clear_events(job_ids: Iterable[uuid.UUID]) -> None:
    events = list(Event.objects.filter(job__in=job_ids).exclude(facts={}))
    for event in events:
        event.facts = _without_texts(event.facts)
    Event.objects.bulk_update(events, ["facts"])


def _without_texts(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        name: said
        for name, said in facts.items()
        if isinstance(said, int | float) or (name == "day" and DAY.fullmatch(str(said)))
    }
