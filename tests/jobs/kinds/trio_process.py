"""Processes that are worker and ticker at once, for the jobs of `tests.jobs.kinds.trio`. Each line
of the input is one: it orders a job or goes on with those that are open, and may be killed at any
fault point. The answer is its exit code, with what it reports.

    python -m tests.jobs.kinds.trio_process FOLDER
    place SHIFT PARTS      until no job is open
    work SHIFT             likewise, with the jobs that are there
    turn SHIFT             everything that is due, once
    order SHIFT COUNT,SLOTS      so many orders on one account, which has that many slots

`SHIFT` is how many seconds its clock is ahead; each round moves it on, so that deadlines and
retention pass. A clock is never behind that of another process. The providers are files of FOLDER:
what was executed there outlives a process.
"""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import wait
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from providers.adapters.base import Caps, Request, ignore_id

ROUNDS = 400
STEP = timedelta(minutes=1)
# Past the retention of a call without an id.
LONG_STEP = timedelta(hours=6)


class Book:
    """What a provider has executed, one line a run, in the order of its arrival."""

    def __init__(self, folder: Path, name: str) -> None:
        self.file = folder / f"{name}.runs"

    def execute(self, work: str) -> str:
        with self.file.open("a") as book:
            book.write(f"{work}\n")
            book.flush()
            os.fsync(book.fileno())
        return f"run-{len(self.works())}"

    def works(self) -> list[str]:
        return self.file.read_text().split() if self.file.exists() else []


class Later:
    """Takes a request and names a run, which is done at its second poll."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.book = name, Book(folder, name)
        self.caps = CAPS
        self.polled: dict[str, int] = {}

    def submit(
        self, request: Request, *, send_by: datetime, note_id: Callable[[str], None] = ignore_id
    ):
        from providers.outcomes import Accepted

        if missed := missed_window(send_by):
            return missed
        return Accepted(f"{self.name}-{self.book.execute(request.work)}")

    def poll(self, reference: str, model: str):
        from providers.outcomes import Done, Report, Running

        self.polled[reference] = self.polled.get(reference, 0) + 1
        if self.polled[reference] < 2:
            return Report(reference, Running("working"))
        return Report(reference, Done((), Decimal("1.00")))

    def result_origins(self) -> frozenset[str]:
        return frozenset()


class AtOnce:
    """Answers with the result itself."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.book = name, Book(folder, name)
        self.caps = CAPS

    def complete(
        self, request: Request, *, send_by: datetime, note_id: Callable[[str], None] = ignore_id
    ):
        from providers.outcomes import Done

        if missed := missed_window(send_by):
            return missed
        self.book.execute(request.work)
        return Done((), Decimal("1.00"))

    def result_origins(self) -> frozenset[str]:
        return frozenset()


def missed_window(send_by: datetime):
    """As `providers.wire` does: a request that is late does not leave."""
    from django.utils import timezone

    from providers.outcomes import Cause, Rejected
    from providers.reasons import Rule

    if timezone.now() < send_by:
        return None
    return Rejected(Cause("transport", rule=Rule.SEND_WINDOW_MISSED))


CAPS = Caps(
    kinds=frozenset({"trio"}),
    cloud=True,
    enqueue_only=False,
    result_ttl=timedelta(days=7),
    currency="USD",
)
PROVIDERS = {"early": Later, "late": Later, "prompt": AtOnce}


def install(folder: Path) -> None:
    from django.conf import settings

    from providers.adapters import registry
    from providers.adapters.accounts import ProviderAccount
    from tests.jobs.kinds import trio

    trio.register()
    accounts = {}
    for name, build in PROVIDERS.items():
        adapter = build(folder, name)
        registry.ADAPTERS[name] = lambda adapter=adapter, **account: adapter
        accounts[name] = ProviderAccount(name=name, adapter=name, base_url=f"https://{name}.test")
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | accounts
    registry.find_provider.cache_clear()


class Clock:
    """Ahead by its own shift, or by that of the process that is furthest ahead."""

    def __init__(self, folder: Path, shift: timedelta) -> None:
        from django.utils import timezone

        self.file = folder / "clock"
        self.real = timezone.now
        self.shift = shift
        timezone.now = lambda: self.real() + self.shift

    @property
    def shift(self) -> timedelta:
        found = self.file.read_text() if self.file.exists() else ""
        return max(self.own, timedelta(seconds=float(found or 0)))

    @shift.setter
    def shift(self, shift: timedelta) -> None:
        self.own = shift
        if shift >= self.shift:
            self.file.write_text(str(shift.total_seconds()))


def main(folder: Path) -> None:
    """Forks for each line: Django is imported once."""
    for line in sys.stdin:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with os.fdopen(writer, "w") as out:
                out.write(json.dumps(run(folder, *line.split())))
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            said = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps({"code": code, "end": json.loads(said) if said else None}), flush=True)


def run(folder: Path, command: str, shift: str, parts: str = "") -> dict:
    """Until no job is open."""
    from jobs.core.models import Job

    clock = Clock(folder, timedelta(seconds=float(shift)))
    install(folder)
    if command == "order":
        return {"slots": order(*(int(number) for number in parts.split(",")))}
    if command == "turn":
        work()
        return {}
    if command == "place":
        place(parts.split(","))
    for _ in range(ROUNDS):
        open_jobs = list(Job.objects.open())
        if not open_jobs:
            break
        work()
        clock.shift += LONG_STEP if open_jobs[0].state == "in_doubt" else STEP
    job = Job.objects.order_by("-created_at").first()
    return report(job) | {"shift": clock.shift.total_seconds()}


def report(job) -> dict:
    from django.utils import timezone

    from jobs.core.models import Job
    from jobs.ops import audit
    from providers.calls.models import Call
    from quotas.models import Attempt

    job = Job.objects.select_related("attempt").get(pk=job.pk)
    calls = Call.objects.filter(work__contains=job.pk).order_by("pk")
    return {
        "state": job.state,
        "attempt": job.attempt.state,
        "held": Attempt.objects.filter(state__in=["pending", "success"]).count(),
        "jobs": Job.objects.count(),
        "job": str(job.pk),
        "calls": [[call.work.rpartition(":")[2], call.state] for call in calls],
        "events": list(job.events.order_by("pk").values_list("name", flat=True)),
        "violations": sorted({found.check for found in audit.violations(timezone.now())}),
    }


def place(parts: list[str]) -> None:
    from django.utils import timezone

    from quotas import accounts
    from tests.jobs.kinds import trio

    now = timezone.now()
    account = accounts.ensure_saved(accounts.account_named(accounts.OPERATOR), now=now)
    trio.order(account, now, parts)


def order(count: int, slots: int) -> list[int]:
    """The slots that were granted."""
    from django.utils import timezone

    from quotas import accounts
    from quotas.ledger import Refused
    from quotas.models import Allowance
    from tests.jobs.kinds import trio

    account = accounts.account_named("contenders")
    account = accounts.ensure_saved(account, now=timezone.now())
    Allowance.objects.filter(plan=account.plan, kind=trio.KIND).update(slots=slots)
    jobs = [trio.order(account, timezone.now()) for _ in range(count)]
    return [job.attempt.slot for job in jobs if not isinstance(job, Refused)]


def work() -> None:
    """As the cluster, then as the ticker."""
    from django.utils import timezone

    from jobs.core.models import Stage
    from jobs.engine import advance
    from jobs.processes.ticker import Ticker

    for stage in Stage.objects.due(timezone.now()).order_by("pk"):
        advance.advance(stage.pk)
    ticker = Ticker()
    try:
        ticker.tick()
        wait([*ticker.polls, *ticker.searches.running], timeout=60)
        ticker.collect()
    finally:
        ticker.close()


if __name__ == "__main__":
    import django

    django.setup()
    main(Path(sys.argv[1]))
