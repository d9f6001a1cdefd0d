"""The gate: who is let in, after which pause, and within which budget of the day."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from providers.adapters.registry import Offer
from providers.calls import ledger, money
from providers.calls.models import Call, Gate
from providers.outcomes import Accepted, Cause, Done, Failed, Rejected, Unknown, amount_said
from providers.routing import gates
from providers.routing.gates import Blocked, GateChange
from providers.routing.pool import Candidate
from tests.fakes import ACCOUNT, OFFER

pytestmark = pytest.mark.django_db

OTHER_MODEL = Offer("fake", "brush-2")
SECOND = timedelta(seconds=1)


def enter(now, *, work: str = "image:1", offer: Offer = OFFER) -> Call | Blocked:
    with transaction.atomic():
        return gates.enter(work=work, candidate=Candidate(offer), now=now)


def answered(now, news, *, work: str = "image:1", offer: Offer = OFFER) -> GateChange | None:
    """A request that was let in and then answered."""
    call = enter(now, work=work, offer=offer)
    assert isinstance(call, Call), call
    return heard(call, news, now)


def heard(call: Call, news, now) -> GateChange | None:
    recorded = ledger.record(call_id=call.pk, news=news, now=now)
    said = news.why.retry_after if isinstance(news, Rejected) else None
    return gates.follow(recorded.call, now, retry_after=said)


def refused(kind: str, **facts) -> Rejected:
    return Rejected(Cause(kind, rule="refused", **facts))


def is_open(now, offer: Offer = OFFER) -> bool:
    """Asked without leaving a call behind."""
    with transaction.atomic():
        got = gates.enter(work="image:probe", candidate=Candidate(offer), now=now)
        transaction.set_rollback(True)
    return isinstance(got, Call)


@pytest.fixture(autouse=True)
def priced(fake, settings):
    prices = {str(OFFER): (Decimal("5.00"), "RUB"), str(OTHER_MODEL): (Decimal("5.00"), "RUB")}
    settings.IMAGE_PRICES = prices


@pytest.fixture
def cap(settings):
    def set_cap(amount: str) -> None:
        capped = replace(ACCOUNT, daily_cap=(Decimal(amount), "RUB"))
        settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"fake": capped}

    return set_cap


@pytest.mark.parametrize("why", ["provider", "transport", "config"])
def test_an_error_pauses_the_model_for_30_s(now, why):
    answered(now, refused(why))
    assert not is_open(now + 29 * SECOND)
    assert is_open(now + 29 * SECOND, OTHER_MODEL)
    assert is_open(now + 30 * SECOND)


def test_a_lost_answer_pauses_the_model(now):
    answered(now, Unknown(Cause("transport", rule="lost")))
    assert not is_open(now + 29 * SECOND)


def test_a_429_without_a_time_pauses_the_model_alone(now):
    answered(now, refused("rate"))
    assert not is_open(now + 29 * SECOND)
    assert is_open(now, OTHER_MODEL)


def test_a_429_with_a_time_pauses_the_whole_provider_as_long_as_it_said(now):
    answered(now, refused("rate", retry_after=90.0))
    assert not is_open(now + 89 * SECOND, OTHER_MODEL)
    assert is_open(now + 90 * SECOND, OTHER_MODEL)


@pytest.mark.parametrize("why", ["auth", "balance"])
def test_a_bad_key_or_a_spent_balance_exhausts_the_whole_provider(now, why, settings):
    change = answered(now, refused(why))
    gate = Gate.objects.get(provider="fake", model="")
    assert change == GateChange("fake", "open", why)
    assert gate.exhausted_until == now + settings.EXHAUSTED_PAUSE
    assert enter(now, work="image:2", offer=OTHER_MODEL) == Blocked(why, gate.exhausted_until)


@pytest.mark.parametrize("why", ["input", "content"])
def test_a_refused_request_pauses_nobody(now, why):
    answered(now, refused(why))
    assert is_open(now)


@pytest.mark.parametrize("rule", ["send_window_missed", "sender_lost"])
def test_our_own_trouble_pauses_nobody(now, rule):
    news = Rejected(Cause("transport", rule=rule))
    answered(now, news if rule == "send_window_missed" else Unknown(news.why))
    assert is_open(now)


def test_a_shorter_pause_does_not_cut_a_longer_one(now):
    answered(now, refused("rate", retry_after=90.0))
    gates._block("fake", "", now, "rate", paused_until=now + SECOND)
    assert not is_open(now + 89 * SECOND)


def test_a_429_does_not_hide_that_the_key_was_refused(now, settings):
    """Both were on their way at once. Nobody waits for a key as for somebody busy."""
    busy = enter(now, work="image:busy")
    answered(now, refused("auth"))
    heard(busy, refused("rate", retry_after=90.0), now + SECOND)
    assert enter(now + SECOND, work="image:3") == Blocked("auth", now + settings.EXHAUSTED_PAUSE)


def test_after_a_pause_one_probe_and_then_the_rest(now):
    answered(now, refused("provider"))
    later = now + 31 * SECOND
    probe = enter(later, work="image:2")
    assert isinstance(probe, Call)
    assert enter(later, work="image:3") == Blocked("provider", later + gates.PROBE_AGAIN)
    heard(probe, Accepted("run-2"), later)
    assert is_open(later)
    assert Gate.objects.get(model=OFFER.model).paused_until is None


def test_a_probe_that_fails_shuts_the_gate_again(now):
    answered(now, refused("provider"))
    later = now + 31 * SECOND
    answered(later, refused("provider"), work="image:2")
    assert not is_open(later + 29 * SECOND)
    assert is_open(later + 30 * SECOND)


@pytest.mark.parametrize(("untried", "is_one"), [(-SECOND, True), (0 * SECOND, False)])
def test_pauses_are_one_series_unless_nobody_asked_for_long(now, untried, is_one):
    answered(now, refused("provider"))
    later = now + 30 * SECOND + gates.SERIES_ENDS_AFTER + untried
    answered(later, refused("provider"), work="image:2")
    assert Gate.objects.get(model=OFFER.model).blocked_since == (now if is_one else later)


def test_a_success_ends_a_series_of_pauses(now):
    for seconds, news in ((0, refused("provider")), (31, Accepted("run")), (62, refused("rate"))):
        answered(now + seconds * SECOND, news, work=f"image:{seconds}")
    assert Gate.objects.get(model=OFFER.model).blocked_since == now + 62 * SECOND


def test_a_probe_that_was_never_heard_of_blocks_no_longer_than_its_own_time(now):
    answered(now, refused("provider"))
    probe = enter(now + 31 * SECOND, work="image:2")
    ledger.record(
        call_id=probe.pk, news=Unknown(Cause("transport", rule="sender_lost")), now=probe.answer_by
    )
    assert is_open(probe.answer_by)


def test_the_providers_own_gate_is_written_before_its_models(now):
    """As it is locked by whoever enters: otherwise two can wait for each other."""
    early = enter(now, work="image:early")
    for opens in (lambda: heard(early, Accepted("run-1"), now), lambda: gates.resume("fake")):
        for model in ("", OFFER.model):
            gates._block("fake", model, now, "rate", paused_until=now + SECOND)
        with CaptureQueriesContext(connection) as caught:
            opens()
        asked = (query["sql"] for query in caught)
        first = next(sql for sql in asked if sql.startswith('UPDATE "providers_gate"'))
        assert """ "providers_gate"."model" = '' """.strip() in first
        assert not Gate.objects.filter(paused_until__isnull=False).exists()


def test_a_call_sent_before_the_pause_does_not_end_it(now):
    early = enter(now - SECOND, work="image:early")
    answered(now, refused("rate", retry_after=90.0))
    assert heard(early, Accepted("run-early"), now + SECOND) is None
    assert not is_open(now + 2 * SECOND)


def test_a_provider_that_works_again_says_so_once(now, settings):
    answered(now, refused("auth"))
    later = now + settings.EXHAUSTED_PAUSE
    assert answered(later, Accepted("run-2"), work="image:2") == GateChange("fake", "closed")
    assert answered(later, Accepted("run-3"), work="image:3") is None


def test_staff_let_requests_in_at_once(now):
    answered(now, refused("auth"))
    assert gates.resume("fake")
    assert is_open(now)
    assert not gates.resume("fake")


def test_accounts_are_shut_by_themselves(now, spare):
    answered(now, refused("auth"))
    assert is_open(now, Offer("spare", "brush-2"))


def test_the_wall_is_asked_behind_the_gate(now):
    assert isinstance(enter(now), Call)
    assert enter(now, offer=OTHER_MODEL) == Blocked("wall", now)


def test_the_cap_counts_what_was_sent_of_all_models(now, cap):
    cap("10.00")
    assert isinstance(enter(now, work="image:1"), Call)
    assert isinstance(enter(now, work="image:2", offer=OTHER_MODEL), Call)
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
    assert enter(now, work="image:3") == Blocked("cap", midnight)
    assert is_open(midnight)


@pytest.mark.parametrize(
    ("news", "fits"),
    [
        (Rejected(Cause("input", rule="refused")), True),
        (Failed(Cause("provider"), Decimal(0)), True),
        (Failed(Cause("provider"), None), False),
        (Failed(Cause("provider"), Decimal("5.00")), False),
        (Done((), Decimal("4.00")), True),
        (Done((), Decimal("6.00")), False),
        (Unknown(Cause("transport", rule="sender_lost")), False),
    ],
)
def test_the_cap_counts_what_was_or_may_have_been_charged(now, cap, news, fits):
    """Room for 9.99: what the first one cost decides whether a second fits."""
    cap("9.00")
    answered(now, news)
    assert is_open(now) is fits


@pytest.mark.parametrize("price", [None, (Decimal("5.00"), "USD")])
def test_a_cap_lets_in_nothing_that_it_knows_no_price_of(now, cap, settings, price):
    """A job may be older than the settings, where such a cap does not start."""
    cap("9.00")
    settings.IMAGE_PRICES = {str(OFFER): price} if price else {}
    assert not is_open(now)


@pytest.mark.parametrize("price", [(Decimal(0), ""), (Decimal(0), "RUB")])
def test_what_is_free_passes_a_cap_until_it_is_overspent(now, cap, settings, price):
    settings.IMAGE_PRICES = {str(OFFER): price}
    cap("5.00")
    answered(now, Done((), Decimal("5.00")))
    call = Call.objects.get()
    assert (call.cost_estimate, call.currency) == (Decimal(0), "RUB")
    assert is_open(now)
    Call.objects.update(cost=Decimal("5.00000001"))
    assert not is_open(now)


def test_prices_of_eight_places_add_up_exactly(now, cap, settings):
    """The sum of a thousand such prices is the cap to the last place, on both databases."""
    settings.IMAGE_PRICES = {str(OFFER): (Decimal("0.00000003"), "RUB")}
    cap("0.00003003")
    one = enter(now)
    columns = {field.attname: getattr(one, field.attname) for field in Call._meta.concrete_fields}
    del columns["id"]
    Call.objects.bulk_create(
        Call(**columns | {"work": f"image:more-{n}", "hook_token": f"t{n}"}) for n in range(999)
    )
    assert Call.objects.latest("pk").cost_estimate == Decimal("0.00000003")
    assert money.sum_spend(["fake"], now)["fake"]["RUB"].today == Decimal("0.00003")
    assert is_open(now)
    cap("0.00003002")
    assert not is_open(now)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("5", "5.00"),
        ("5.10000000", "5.10"),
        ("0.00015000", "0.00015"),
        ("0", "0.00"),
        ("0.00000001", "0.00000001"),
    ],
)
def test_amounts_are_shown_without_trailing_zeros(amount, shown):
    assert money.format_amount(Decimal(amount)) == shown


def test_a_cost_below_the_least_amount_is_not_free():
    assert amount_said(1e-12) == Decimal("0.00000001")
    assert amount_said(0) == 0


def test_a_late_charge_counts(now, cap):
    cap("9.00")
    call = enter(now)
    ledger.record(call_id=call.pk, news=Rejected(Cause("input", rule="refused")), now=now)
    ledger.record(call_id=call.pk, news=Done((), Decimal("5.00")), now=now)
    assert not is_open(now)


def test_currencies_are_never_added_together(now, cap, settings):
    settings.IMAGE_PRICES = settings.IMAGE_PRICES | {str(OTHER_MODEL): (Decimal("5.00"), "USD")}
    enter(now, work="image:dollars", offer=OTHER_MODEL)
    cap("9.00")
    assert is_open(now)
    spent = money.sum_spend(["fake"], now)["fake"]
    assert {currency: spend.today for currency, spend in spent.items()} == {"USD": Decimal(5)}


def test_money_at_risk_and_possibly_charged_are_those_of_their_calls(now):
    lost = enter(now, work="image:lost")
    ledger.record(call_id=lost.pk, news=Unknown(Cause("transport")), now=now)
    over = enter(now, work="image:over")
    ledger.record(call_id=over.pk, news=Unknown(Cause("transport")), now=now)
    ledger.give_up(call_id=over.pk, now=now)
    paid = enter(now, work="image:paid")
    ledger.record(call_id=paid.pk, news=Done((), Decimal("4.00")), now=now)
    assert money.sum_spend(["fake"], now)["fake"]["RUB"] == money.Spend(
        today=Decimal("14.00"), at_risk=Decimal("5.00"), possibly_charged=Decimal("5.00")
    )


def test_a_run_that_is_heard_of_late_stays_possibly_charged_until_it_ends(now):
    call = enter(now)
    ledger.record(call_id=call.pk, news=Unknown(Cause("transport")), now=now)
    ledger.give_up(call_id=call.pk, now=now)
    ledger.record(call_id=call.pk, news=Accepted("run-late"), now=now)
    assert money.sum_spend(["fake"], now)["fake"]["RUB"].possibly_charged == Decimal("5.00")
    ledger.record(call_id=call.pk, news=Failed(Cause("provider"), Decimal(0)), now=now)
    assert money.sum_spend(["fake"], now)["fake"]["RUB"] == money.Spend()


def test_a_day_is_that_of_the_providers_own_calendar(now, fake, monkeypatch):
    monkeypatch.setattr(fake, "caps", replace(fake.caps, day_zone="Asia/Tokyo"))
    begins, ends = money.day_of("fake", datetime(2026, 3, 1, 16, tzinfo=UTC))
    assert begins == datetime(2026, 3, 1, 15, tzinfo=UTC)
    assert ends == datetime(2026, 3, 2, 15, tzinfo=UTC)


def test_money_of_a_provider_that_is_not_configured_any_more_is_told(now):
    lost = enter(now)
    ledger.record(call_id=lost.pk, news=Unknown(Cause("transport")), now=now)
    Call.objects.filter(pk=lost.pk).update(provider="gone")
    spent = money.sum_spend(["fake"], now)
    assert spent["gone"]["RUB"] == money.Spend(at_risk=Decimal("5.00"))


@pytest.mark.parametrize("providers", [["fake"], ["fake", "spare"]])
def test_money_is_three_queries_whatever_the_providers(now, spare, providers):
    enter(now)
    with CaptureQueriesContext(connection) as caught:
        money.sum_spend(providers, now)
    assert len(caught.captured_queries) == 3


def test_the_database_refuses_a_pause_without_a_reason(now):
    with pytest.raises(IntegrityError), transaction.atomic():
        Gate.objects.create(provider="fake", paused_until=now)


def test_the_database_refuses_a_fallback_without_its_rule(now):
    first = enter(now)
    ledger.record(call_id=first.pk, news=refused("auth"), now=now)
    with pytest.raises(IntegrityError), transaction.atomic():
        ledger.open_call(work="image:1", offer=OTHER_MODEL, now=now, after=first, rule="")


def test_staff_shut_the_gate_until_they_open_it(now):
    assert gates.pause("fake", now)
    for later in (now, now + timedelta(days=400)):
        assert enter(later, work="image:2") == Blocked("staff", later + gates.STAFF_AGAIN)
        assert not is_open(later, OTHER_MODEL)
    assert gates.resume("fake")
    assert is_open(now)


def test_staff_pause_once(now):
    assert gates.pause("fake", now)
    assert not gates.pause("fake", now + SECOND)
    assert Gate.objects.get(provider="fake", model="").since == now


def test_no_answer_opens_what_staff_have_shut(now):
    early = enter(now, work="image:early")
    gates.pause("fake", now - SECOND)
    assert heard(early, Accepted("run-early"), now + SECOND) is None
    assert not is_open(now + SECOND)


@pytest.mark.parametrize("why", ["auth", "rate"])
def test_no_trouble_replaces_the_pause_of_staff(now, why):
    early = enter(now, work="image:early")
    gates.pause("fake", now)
    assert heard(early, refused(why, retry_after=90.0), now + SECOND) is None
    assert Gate.objects.get(provider="fake", model="").why == "staff"


def test_staff_may_pause_what_is_exhausted_and_resume_it_whole(now):
    answered(now, refused("auth"))
    assert gates.pause("fake", now + SECOND)
    assert Gate.objects.get(provider="fake", model="").exhausted_until is None
    assert gates.resume("fake")
    assert not gates.resume("fake")
    assert is_open(now, OTHER_MODEL)
