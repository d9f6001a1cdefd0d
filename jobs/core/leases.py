"""Taking, keeping and giving back the lease of a stage: each one conditional UPDATE.

Every write of a holder checks the token of its lease; a holder that slept past it writes nothing.
"""

import threading
import uuid
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Q
from django.utils import timezone

from jobs.core import holders
from jobs.core.models import Lease, Stage, StageQuerySet
from providers.calls.models import Call

# A stage that killed its worker twice waits: 1, 5, 30 minutes, then an hour each time.
DEATH_DELAYS = (60, 300, 1800, 3600)
DEATHS_BEFORE_DELAY = 2
# Between two machines. A duty that ends later than it may last, and this, was taken before the
# clock was set back.
CLOCKS_DIFFER = timedelta(seconds=30)

FREE: dict = {
    "lease_token": None,
    "lease_holder": "",
    "leased_until": None,
    "woken_at": None,
}


@dataclass(frozen=True)
class StageLease:
    stage: Stage
    token: uuid.UUID
    previous_holder: str
    """The holder of the lapsed lease before this one, or the empty string."""


def take(stage_id: int, now: datetime) -> StageLease | None:
    """The lease of a stage that is due. None when it is not, or is being run: its siblings are
    run side by side, each under a lease of its own."""
    stage = Stage.objects.due(now).filter(pk=stage_id).first()
    if stage is None or (stage.lease_token and stage.tries >= DEATHS_BEFORE_DELAY):
        return None
    token = uuid.uuid4()
    free = Q(lease_token=None, due_at__lte=now) | Q(
        lease_token=stage.lease_token, leased_until__lte=now
    )
    taken = (
        Stage.objects.unfinished()
        .filter(free, pk=stage.pk, tries=stage.tries)
        .update(
            lease_token=token,
            lease_holder=holders.this_holder(),
            leased_until=now + settings.LEASE_LASTS,
            due_at=None,
            woken_at=None,
            tries=stage.tries + 1,
        )
    )
    if not taken:
        return None
    previous = stage.lease_holder if stage.lease_token else ""
    return StageLease(Stage.objects.select_related("job", "call").get(pk=stage.pk), token, previous)


def release(lease: StageLease, *, due_at: datetime, progress: bool = True) -> bool:
    """Give the lease back, the stage to be run again at `due_at`; False when it was lost before.

    Without progress the start stays counted, as if the worker had died.
    """
    held = Stage.objects.unfinished().filter(pk=lease.stage.pk, lease_token=lease.token)
    columns: dict = {"tries": 0} if progress else {}
    return held.update(**FREE, due_at=due_at, **columns) == 1


def wait_for_room(lease: StageLease, *, since: datetime, due_at: datetime) -> bool:
    """Give the lease back until a result can be stored; False when it was lost before."""
    held = Stage.objects.unfinished().filter(pk=lease.stage.pk, lease_token=lease.token)
    return held.update(**FREE, due_at=due_at, waiting_since=since, tries=0) == 1


def save_now(call_ids: Iterable[int], now: datetime) -> list[int]:
    """Make the save of these calls due, also one that ended without a picture; return the stages.
    A stage that is being run is not changed."""
    idle = Stage.objects.filter(name="save", call__in=call_ids, lease_token=None)
    ended_well = Q(done_at__isnull=False) & (
        Q(call__pictures__isnull=False) | Q(job__result_deleted_at__isnull=False)
    )
    found = list(idle.exclude(ended_well).values_list("pk", flat=True))
    again = Stage.objects.filter(pk__in=found, lease_token=None)
    again.update(due_at=now, done_at=None, woken_at=None)
    return found


def finish(lease: StageLease, now: datetime) -> bool:
    """End the stage; False when the lease was lost before, and then nothing may be written."""
    held = Stage.objects.unfinished().filter(pk=lease.stage.pk, lease_token=lease.token)
    return held.update(**FREE, due_at=None, done_at=now, tries=0) == 1


def end(stage: Stage, now: datetime) -> None:
    """End a stage of a work, even if another process holds it."""
    same = Stage.objects.unfinished().filter(pk=stage.pk)
    same.update(**FREE, due_at=None, done_at=now)


def end_save(call: Call, now: datetime) -> bool:
    """End the save of a call, even while it is being run; False for a call without one."""
    saves = Stage.objects.filter(name="save", call=call)
    saves.unfinished().update(**FREE, due_at=None, done_at=now, tries=0)
    return saves.exists()


def finish_all(job_id: uuid.UUID, now: datetime) -> None:
    """Nothing is sent for the job any more: no stage of it is run, but for the save of a result
    that was paid for."""
    open_stages = Stage.objects.unfinished().filter(job_id=job_id, call=None)
    open_stages.update(**FREE, due_at=None, done_at=now)


def wait(stage: Stage, *, since: datetime, due_at: datetime) -> None:
    """Its work keeps its place until then, with any holder of the stage; its starts stay
    forgotten."""
    waits = {"waiting_since": since, "due_at": due_at}
    Stage.objects.filter(pk=stage.pk).update(**FREE, **waits, tries=0)


def postpone(stage: Stage, until: datetime) -> bool:
    """Take a lapsed lease away and let the stage rest; the starts it had stay counted."""
    lapsed = Stage.objects.unfinished().filter(pk=stage.pk, lease_token=stage.lease_token)
    return lapsed.update(**FREE, due_at=until) == 1


def resume(job_id: uuid.UUID, now: datetime) -> list[int]:
    """Make the job's stages that were set aside due now, and return them; the starts they had stay
    counted."""
    found = list(set_aside(now).filter(job_id=job_id).values_list("pk", flat=True))
    set_aside(now).filter(pk__in=found).update(due_at=now, woken_at=None)
    return found


def set_aside(now: datetime) -> StageQuerySet:
    """Those that killed their worker too often, and rest."""
    return Stage.objects.unfinished().filter(
        lease_token=None, due_at__gt=now, tries__gte=DEATHS_BEFORE_DELAY
    )


def is_held(lease: StageLease) -> bool:
    return Stage.objects.filter(pk=lease.stage.pk, lease_token=lease.token).exists()


def death_delay(tries: int) -> timedelta:
    step = min(max(tries - DEATHS_BEFORE_DELAY, 0), len(DEATH_DELAYS) - 1)
    return timedelta(seconds=DEATH_DELAYS[step])


def busy_workers() -> int:
    """How many stages are being run on this machine right now."""
    here = Stage.objects.leased(timezone.now()).filter(lease_holder__startswith=holders.here())
    held_by = here.values_list("lease_holder", flat=True)
    return sum(not holders.is_surely_dead(holder) for holder in held_by)


@contextmanager
def kept(lease: StageLease):
    """Keep the lease alive from a thread of its own while the stage runs."""
    stop = threading.Event()
    thread = threading.Thread(target=_keep, args=(lease, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def take_duty(
    name: str,
    token: uuid.UUID,
    now: datetime,
    lasts: timedelta,
    *,
    longest: timedelta = timedelta(),
) -> bool:
    """Hold a process-wide duty for `lasts` more; at once if its holder here is known to be dead.

    `longest` is how long others may hold it, where that is more.
    """
    until = now + lasts
    mine = {"token": token, "holder": holders.this_holder(), "until": until}
    free = Q(token=token) | ~Q(until__range=those_ahead(now, max(lasts, longest)))
    if Lease.objects.filter(free, name=name).update(**mine):
        return True
    lease = Lease.objects.filter(name=name).first()
    if lease is None:
        return Lease.objects.get_or_create(name=name, defaults=mine)[0].token == token
    if holders.is_surely_dead(lease.holder):
        return Lease.objects.filter(name=name, token=lease.token).update(**mine) == 1
    return False


def duty_elsewhere(name: str, now: datetime, longest: timedelta) -> Lease | None:
    """The duty of another site or machine; None if it is free, or its holder is dead."""
    lease = Lease.objects.filter(name=name, until__range=those_ahead(now, longest)).first()
    return None if lease is None or holders.is_surely_dead(lease.holder) else lease


def those_ahead(now: datetime, longest: timedelta) -> tuple[datetime, datetime]:
    """The interval in which the lease of a duty that is held ends."""
    return now + timedelta.resolution, now + longest + CLOCKS_DIFFER


def drop_duty(name: str, token: uuid.UUID) -> None:
    Lease.objects.filter(name=name, token=token).delete()


def _keep(lease: StageLease, stop: threading.Event) -> None:
    every = settings.LEASE_LASTS.total_seconds() / 3
    used = False
    while not stop.wait(every):
        used = True
        try:
            held = Stage.objects.filter(pk=lease.stage.pk, lease_token=lease.token)
            held.update(leased_until=timezone.now() + settings.LEASE_LASTS)
        except DatabaseError:
            connection.close()
    if used:
        connection.close()
