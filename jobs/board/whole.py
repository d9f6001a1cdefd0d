"""The board at one moment, put together from its parts."""

from dataclasses import dataclass
from datetime import datetime

from jobs.board import doubts, figures, house, smoke_tests, standing, troubles, use
from jobs.board.bars import Chart
from providers import money
from providers.registry import known_names
from quotas.ledger import utc_day
from quotas.spenders import Spender, Spending, spending_of


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

    spender: Spender
    name: str


@dataclass(frozen=True)
class House:
    signs: list[house.Sign]
    busy: int
    messages: int
    schedules: list[house.Planned]


@dataclass(frozen=True)
class Board:
    now: datetime
    troubles: list[troubles.Trouble]
    cards: Cards
    spending: Spending
    top: list[Named]
    standings: list[standing.Standing]
    doubts: list[doubts.Doubt]
    house: House


@dataclass(frozen=True)
class Use:
    """Thirty days, drawn and in numbers."""

    now: datetime
    days: list[use.DayOfUse]
    chart: Chart


def board_at(now: datetime) -> Board:
    spends = money.spend_of(known_names(), now)
    flights = figures.flights(figures.live_by_provider(), figures.doubtful_by_provider(now))
    rows = standing.Rows(
        gates=standing.gates_by_provider(),
        recent=standing.recent_by_offer(),
        answers=standing.answers_by_provider(now),
        spends=spends,
        flights=flights,
        tests=smoke_tests.newest_tests(),
    )
    spending = spending_of(utc_day(now))
    names = use.names_of(spending.top)
    return Board(
        now=now,
        troubles=troubles.open_troubles(now),
        cards=Cards(
            in_flight=sum(flight.in_flight for flight in flights.values()),
            in_doubt=sum(flight.in_doubt for flight in flights.values()),
            waiting=figures.waiting(now),
            today=figures.ended_on(utc_day(now)),
            at_risk=figures.totals_of(spends, "at_risk"),
            possibly_charged=figures.totals_of(spends, "possibly_charged"),
        ),
        spending=spending,
        top=[Named(spender, names.get(spender.account_id, "")) for spender in spending.top],
        standings=standing.standings(rows, now),
        doubts=doubts.doubts(now),
        house=_house(now),
    )


def use_at(now: datetime) -> Use:
    days = use.use_until(utc_day(now))
    return Use(now, days, use.chart_of(days))


def _house(now: datetime) -> House:
    rows, busy = house.schedules(), house.busy_stages(now)
    return House(
        signs=house.signs(now, busy=busy),
        busy=busy,
        messages=house.messages_waiting(),
        schedules=house.planned(rows, house.last_failures(rows)),
    )
