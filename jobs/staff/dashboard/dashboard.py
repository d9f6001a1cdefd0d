"""The board at one moment, put together from its parts."""

from dataclasses import dataclass
from datetime import datetime

from jobs.staff.dashboard import (
    alerts,
    doubts,
    figures,
    processes,
    provider_health,
    smoke_tests,
    usage,
)
from jobs.staff.dashboard.bars import Chart
from providers.adapters.registry import known_names
from providers.calls import money
from quotas.days import utc_day
from quotas.top_accounts import DayUsage, TopAccount, read_day_usage


@dataclass(frozen=True)
class Cards:
    in_flight: int
    in_doubt: int
    waiting: figures.Waiting
    today: figures.Today
    at_risk: figures.Totals
    possibly_charged: figures.Totals


@dataclass(frozen=True)
class Named:
    """One of those who took most of today."""

    spender: TopAccount
    name: str


@dataclass(frozen=True)
class Processes:
    signs: list[processes.Sign]
    busy: int
    messages: int
    schedules: list[processes.Planned]


@dataclass(frozen=True)
class Board:
    now: datetime
    alerts: list[alerts.Trouble]
    cards: Cards
    spending: DayUsage
    top: list[Named]
    standings: list[provider_health.ProviderHealth]
    doubts: list[doubts.Doubt]
    processes: Processes


@dataclass(frozen=True)
class Use:
    """Thirty days, drawn and in numbers."""

    now: datetime
    days: list[usage.DayOfUse]
    chart: Chart


def board_at(now: datetime) -> Board:
    spends = money.sum_spend(known_names(), now)
    flights = figures.flights(figures.live_by_provider(), figures.doubtful_by_provider(now))
    rows = provider_health.Rows(
        gates=provider_health.gates_by_provider(),
        recent=provider_health.recent_by_offer(),
        answers=provider_health.answers_by_provider(now),
        spends=spends,
        flights=flights,
        tests=smoke_tests.newest_tests(),
    )
    spending = read_day_usage(utc_day(now))
    names = usage.names_of(spending.top)
    return Board(
        now=now,
        alerts=alerts.open_troubles(now),
        cards=Cards(
            in_flight=sum(flight.in_flight for flight in flights.values()),
            in_doubt=sum(flight.in_doubt for flight in flights.values()),
            waiting=figures.waiting(now),
            today=figures.ended_on(utc_day(now)),
            at_risk=figures.sum_totals(spends, "at_risk"),
            possibly_charged=figures.sum_totals(spends, "possibly_charged"),
        ),
        spending=spending,
        top=[Named(spender, names.get(spender.account_id, "")) for spender in spending.top],
        standings=provider_health.standings(rows, now),
        doubts=doubts.doubts(now),
        processes=_read_processes(now),
    )


def use_at(now: datetime) -> Use:
    days = usage.use_until(utc_day(now))
    return Use(now, days, usage.draw_chart(days))


def _read_processes(now: datetime) -> Processes:
    rows, busy = processes.schedules(), processes.busy_stages(now)
    return Processes(
        signs=processes.signs(now, busy=busy),
        busy=busy,
        messages=processes.messages_waiting(),
        schedules=processes.planned(rows, processes.last_failures(rows)),
    )
