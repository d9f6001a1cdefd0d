"""Reads the rows of a drill's site, in a process of its own with the site's settings: takes one
word a line, answers with one line of JSON. The drill itself opens no database.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import IO, Any

from tests.drill import processes


class Desk:
    """The child, seen from the drill."""

    def __init__(self, env: Mapping[str, str], log: IO[bytes]) -> None:
        self._child = processes.start(
            [sys.executable, "-m", "tests.drill.desk"],
            env,
            log,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, word: str) -> Any:
        """Raises OSError when the child died."""
        assert self._child.stdin
        assert self._child.stdout
        self._child.stdin.write(f"{word}\n".encode())
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        if not line:
            raise OSError(f"the desk died of {word!r}")
        return json.loads(line)

    def stop(self) -> None:
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe:
                pipe.close()


def _rows() -> dict[str, Any]:
    """All as of one moment, since what staff do not read may come to its end meanwhile."""
    from django.db import connection, transaction

    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return _rows_of_now()


def _rows_of_now() -> dict[str, Any]:
    from jobs.core.models import Job
    from providers.calls.models import Call
    from quotas.models import Account

    calls: dict[str, list[dict]] = {}
    for call in Call.objects.order_by("pk"):
        calls.setdefault(call.work, []).append(_call(call))
    jobs = Job.objects.select_related("attempt").prefetch_related("pictures", "events")
    kept = _kept_for_staff()
    return {
        "jobs": [_job(job, calls.pop(f"image:{job.pk}", []), kept[job.pk]) for job in jobs],
        "accounts": dict(Account.objects.exclude(visitor=None).values_list("visitor", "pk")),
        "seats": _seats(),
    }


def _kept_for_staff() -> Counter[Any]:
    """By job, each with its file, and only of calls that the alert names."""
    from django.conf import settings
    from django.utils import timezone

    from jobs.alerts import watch
    from jobs.core.models import UnreadResult

    named = {trouble.subject for trouble in watch.undelivered_results(timezone.now())}
    found: Counter[Any] = Counter()
    for kept in UnreadResult.objects.filter(resolved_at=None).select_related("call"):
        is_there = (Path(settings.MEDIA_ROOT) / kept.file).exists()
        found[kept.job_id] += is_there and f"{kept.call.provider} {kept.call_id}" in named
    return found


def _job(job: Any, calls: list[dict], kept: int) -> dict[str, Any]:
    attempt, events = job.attempt, sorted(job.events.all(), key=lambda event: event.pk)
    return {
        "id": str(job.pk),
        "model": job.params["model"],
        "form_key": job.form_key,
        "state": job.state,
        "reason": job.reason,
        "created_at": job.created_at.timestamp(),
        "attempt": {
            "account": attempt.account_id,
            "day": str(attempt.day),
            "slot": attempt.slot,
            "allowed": attempt.allowed,
            "state": attempt.state,
            "cost_nothing": attempt.cost_nothing,
            "reserved_at": attempt.reserved_at.timestamp(),
            "settled_at": _instant(attempt.settled_at),
        },
        "calls": calls,
        "pictures": [picture.call_id for picture in job.pictures.all()],
        "shown": [_run_shown_by(picture.file) for picture in job.pictures.all()],
        "kept": kept,
        "events": [event.name for event in events],
        "told": " > ".join(_told(event, job.created_at) for event in events),
    }


def _run_shown_by(file: str) -> str:
    """As lenient as a browser; empty where the file shows no run or cannot be read."""
    from django.conf import settings
    from PIL import Image, ImageFile

    from providers.sandbox.run_code import read_run

    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        with Image.open(Path(settings.MEDIA_ROOT) / file) as picture:
            return read_run(picture) or ""
    except (OSError, ValueError):
        return ""


def _told(event: Any, since: datetime) -> str:
    code = event.facts.get("code") or event.facts.get("why") or ""
    return f"{event.name}{code and f' ({code})'} {(event.at - since).total_seconds():.1f}"


def _call(call: Any) -> dict[str, Any]:
    named = ("work", "model", "state", "reference", "hook_token")
    told = ("why", "rule", "detail", "late_outcome")
    instants = ("sent_at", "answer_by", "ended_at")
    return {
        "id": call.pk,
        **{name: getattr(call, name) for name in (*named, *told)},
        **{name: _instant(getattr(call, name)) for name in instants},
        "cost": None if call.cost is None else str(call.cost),
    }


def _instant(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None


def _seats() -> list[tuple[int, str, int]]:
    """How many more could be reserved on each account and day; nothing of it is kept."""
    from quotas.models import Account, Attempt

    found = []
    days = Attempt.objects.order_by().values_list("account", "day").distinct()
    accounts = Account.objects.in_bulk([account for account, _ in days])
    for account, day in days:
        noon = datetime.combine(day, time(12), UTC)
        found.append((account, str(day), _reservable(accounts[account], noon)))
    return found


def _reservable(account: Any, now: datetime) -> int:
    from django.db import transaction

    from quotas import ledger
    from quotas.models import Attempt, Kind

    taken = 0
    with transaction.atomic():
        while isinstance(ledger.reserve(account=account, kind=Kind.IMAGE, now=now), Attempt):
            taken += 1
        transaction.set_rollback(True)
    return taken


def _saves() -> Any:
    """Those that move by themselves: what cannot be read waits for staff."""
    from jobs.core.models import Stage

    return Stage.objects.unfinished().filter(name="save").exclude(job__reason="unread")


def _restless() -> dict[str, int]:
    """What still moves or will: nothing of it may be left when the drill reckons."""
    from django.conf import settings
    from django.utils import timezone

    from jobs.core.models import Job
    from providers.calls.models import Call
    from providers.recovery import SKEW

    now = timezone.now()
    lag = settings.PROVIDER_ACCOUNTS["sandbox"].list_lag or timedelta()
    looked_for = now - (lag + SKEW + 4 * settings.SLOW_POLL_EVERY)
    return {
        "jobs": Job.objects.filter(state__in=["queued", "running"]).count(),
        "stages": _saves().count(),
        "calls": Call.objects.filter(state__in=["sending", "accepted"]).count(),
        "lost": Call.objects.filter(state="unknown", answer_by__gt=looked_for).count(),
        "changed": Job.objects.filter(changed_at__gt=now - timedelta(seconds=3)).count(),
    }


def _answer(word: str) -> Any:
    from django.db import connection

    from jobs.core.models import Job
    from tests.drill import mutants

    if word == "rows":
        # The session may be one that began while the database was read-only.
        connection.close()
        return _rows()
    if word == "restless":
        return _restless()
    if word == "open":
        return {"jobs": Job.objects.filter(state__in=["queued", "running"]).count()}
    if word == "plant":
        return mutants.plant()
    raise ValueError(f"nothing is known of {word!r}")


def main() -> None:
    import django

    django.setup()
    from django.db import DatabaseError, connection

    for line in sys.stdin:
        try:
            said = _answer(line.strip())
        except DatabaseError as exc:
            connection.close()
            said = {"error": f"{type(exc).__name__}: {exc}"}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
