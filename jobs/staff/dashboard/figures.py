"""The numbers at the top: what is on its way, what waits, and how today went."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from django.db.models import Count, Min

from jobs.core.models import Job
from jobs.core.states import JobState
from providers.calls.models import Call
from providers.calls.money import NOTHING, Spend


@dataclass(frozen=True)
class Waiting:
    """Jobs that wait for a worker, or for their turn at a provider."""

    depth: int
    oldest: timedelta | None


@dataclass(frozen=True)
class Today:
    """Jobs that ended since 00:00 UTC."""

    finished: int
    failed: int

    @property
    def failure_percent(self) -> float | None:
        """None where nothing has ended: no rate is better than a wrong one."""
        return 100 * self.failed / self.finished if self.finished else None


@dataclass(frozen=True)
class Flight:
    """One provider's calls that have not ended, each counted once."""

    in_flight: int = 0
    in_doubt: int = 0


@dataclass(frozen=True)
class Totals:
    """Money of calls by currency, and how many calls have no price."""

    amounts: tuple[tuple[Decimal, str], ...] = ()
    unpriced: int = 0


def waiting(now: datetime) -> Waiting:
    queued = Job.objects.filter(state=JobState.QUEUED)
    row = queued.aggregate(depth=Count("*"), oldest=Min("created_at"))
    return Waiting(row["depth"], now - row["oldest"] if row["oldest"] else None)


def ended_on(day: date) -> Today:
    """A job that its person cancelled was not finished and did not fail."""
    begins = datetime.combine(day, time.min, UTC)
    ended = Job.objects.filter(ended_at__gte=begins, ended_at__lt=begins + timedelta(days=1))
    counted = ended.order_by().values("state").annotate(jobs=Count("*"))
    jobs = dict(counted.values_list("state", "jobs"))
    failed = jobs.get(JobState.FAILED, 0) + jobs.get(JobState.NOT_CONFIRMED, 0)
    return Today(finished=failed + jobs.get(JobState.READY, 0), failed=failed)


def live_by_provider() -> dict[str, int]:
    return _counted(Call.objects.live())


def doubtful_by_provider(now: datetime) -> dict[str, int]:
    return _counted(Call.objects.in_doubt(now))


def flights(live: dict[str, int], doubtful: dict[str, int]) -> dict[str, Flight]:
    """What is in doubt has not ended either: it is taken out of what is in flight."""
    return {
        name: Flight(max(0, count - doubtful.get(name, 0)), doubtful.get(name, 0))
        for name, count in live.items()
    }


def sum_totals(spends: dict[str, dict[str, Spend]], column: str) -> Totals:
    """Over all providers."""
    totals: dict[str, Decimal] = {}
    unpriced = 0
    for spend_by_currency in spends.values():
        for currency, spend in spend_by_currency.items():
            totals[currency] = totals.get(currency, NOTHING) + getattr(spend, column)
            unpriced += getattr(spend, f"{column}_unpriced")
    amounts = [(total, currency) for currency, total in sorted(totals.items()) if total]
    return Totals(tuple(amounts), unpriced)


def _counted(calls) -> dict[str, int]:
    counted = calls.order_by().values("provider").annotate(calls=Count("*"))
    return dict(counted.values_list("provider", "calls"))
