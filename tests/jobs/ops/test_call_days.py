"""Old calls become sums of a day: which of them, and what stays known."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db.models import F, ProtectedError, Sum

from jobs.core.models import Event, Job
from providers.calls import call_days, ledger, money
from providers.calls.models import Call, CallDay
from providers.calls.outcomes import Accepted
from tests import rows
from tests.jobs.conftest import text_of
from tests.jobs.tidying import DAY, YEARS, failed_unnamed, run, violations

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "media")]


def money_known() -> dict[tuple[str, str], Decimal]:
    """What all calls count with, by provider and currency, whether they are rows or sums."""
    found: dict[tuple[str, str], Decimal] = {}
    of_calls = Call.objects.values_list("provider", "currency").annotate(all=Sum(money.AMOUNT))
    of_days = CallDay.objects.values_list("provider", "currency").annotate(
        all=Sum(F("cost") + F("cost_estimate"))
    )
    for provider, currency, total in (*of_calls, *of_days):
        found[provider, currency] = found.get((provider, currency), Decimal(0)) + total
    return found


def test_no_money_is_lost(everything, now):
    before, calls = money_known(), Call.objects.count()
    removed = run(now + YEARS)["calls"]
    assert money_known() == before
    assert Call.objects.count() == calls - removed


def test_paid_and_unknown_calls_stay_and_those_that_staff_let_go(everything, now):
    run(now + YEARS)
    gone = {"rejected", "failed"}
    stayed = set(Call.objects.values_list("state", flat=True))
    assert stayed >= {"succeeded", "given_up", "unknown", "accepted", "sending"}
    left = Call.objects.filter(state__in=gone, late_outcome="", reference=None)
    # That of the job that waits for its turn.
    assert {Job.objects.get(pk=call.work.partition(":")[2]).state for call in left} == {"queued"}


def test_a_day_has_the_sums_of_its_calls(account, now):
    rows.failed(account, now)
    failed_unnamed(account, now)
    job = failed_unnamed(account, now)
    Call.objects.filter(work=f"image:{job.pk}").update(cost=None, cost_estimate=Decimal("7.00"))
    failed_unnamed(account, now + DAY)
    assert run(now + YEARS) == {"calls": 4}
    columns = (
        "day",
        "provider",
        "model",
        "currency",
        "rejected",
        "failed",
        "cost",
        "cost_estimate",
    )
    assert list(CallDay.objects.order_by("day").values_list(*columns)) == [
        (date(2026, 3, 14), "sandbox", "test-picture", "RUB", 1, 2, Decimal(5), Decimal(7)),
        (date(2026, 3, 15), "sandbox", "test-picture", "RUB", 0, 1, Decimal(5), Decimal(0)),
    ]


def test_what_is_folded_later_is_added_to_its_day(account, now):
    rows.failed(account, now)
    run(now + YEARS)
    rows.failed(account, now)
    run(now + YEARS)
    assert CallDay.objects.get().rejected == 2


def test_the_day_is_the_providers_own(account, now, settings):
    """Polza's begins three hours before that of UTC."""
    rows.failed(account, now.replace(hour=22))
    settings.PROVIDER_ACCOUNTS = dict(settings.PROVIDER_ACCOUNTS)
    Call.objects.update(provider="polza")
    zone = money.find_provider("polza").caps.day_zone
    run(now + YEARS)
    assert CallDay.objects.get().day == money.day_of("polza", now.replace(hour=22))[0].date(), zone


def test_a_provider_that_is_gone_has_days_of_utc(account, now):
    rows.failed(account, now)
    Call.objects.update(provider="gone")
    run(now + YEARS)
    assert CallDay.objects.get().day == now.date()


@pytest.mark.parametrize(
    "harm",
    [
        {"late_outcome": "failed", "late_at": "2026-03-14T13:00Z"},
        {"poll_at": "2026-03-14T13:00Z"},
        {"give_up_at": "2036-03-14T13:00Z"},
    ],
    ids=lambda harm: next(iter(harm)),
)
def test_a_call_that_may_bring_news_stays(account, now, harm):
    rows.failed(account, now)
    Call.objects.update(**harm)
    assert run(now + YEARS) == {}


def test_a_call_stays_as_long_as_the_setting_says(account, now, settings):
    ended_at = rows.call_of(rows.failed(account, now)).ended_at
    assert run(ended_at + settings.CALLS_KEPT - timedelta(seconds=1)) == {}
    assert run(ended_at + settings.CALLS_KEPT) == {"calls": 1}


def test_a_call_that_a_fallback_names_stays(account, now):
    first, second = (rows.call_of(rows.failed(account, now)) for _ in range(2))
    Call.objects.filter(pk=second.pk).update(after=first, after_rule="refused", state="rejected")
    Job.objects.filter(pk=second.work.partition(":")[2]).update(state="queued", ended_at=None)
    assert run(now + YEARS) == {}


def test_a_fallback_that_brought_nothing_stays_with_what_it_followed(account, now):
    first, second = (rows.call_of(rows.failed(account, now)) for _ in range(2))
    Call.objects.filter(pk=second.pk).update(after=first, after_rule="refused", work=first.work)
    assert run(now + YEARS) == {}


def test_what_somebody_refers_to_is_refused_by_the_model_itself(account, now):
    call = rows.call_of(rows.not_fetched(account, now))
    Call.objects.filter(pk=call.pk).update(state="failed", reference=None)
    with pytest.raises(ProtectedError):
        call_days.fold([call.pk], now + YEARS)
    assert run(now + YEARS) == {}


def test_death_within_a_batch_counts_nothing_twice(account, now, monkeypatch):
    for _ in range(3):
        failed_unnamed(account, now)
    before = money_known()

    def die(*given):
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr("providers.calls.models.CallQuerySet.delete", die)
        with pytest.raises(SystemExit):
            run(now + YEARS)
    assert (money_known(), CallDay.objects.count()) == (before, 0)
    assert run(now + YEARS) == {"calls": 3}
    assert money_known() == before


def test_a_call_that_is_folded_already_is_counted_once(account, now):
    call = rows.call_of(rows.failed(account, now))
    assert [len(call_days.fold([call.pk], now + YEARS)) for _ in range(2)] == [1, 0]
    assert CallDay.objects.get().rejected == 1


@pytest.mark.parametrize("make", [failed_unnamed, rows.not_confirmed])
def test_a_call_of_which_several_webhooks_told_is_counted_once(account, now, make):
    call = rows.call_of(make(account, now))
    for number in range(2):
        call.hooks.create(
            provider="sandbox", message_id=str(number), received_at=now, is_signed=False
        )
    failed_unnamed(account, now)
    run(now + YEARS)
    expected = 2 if make is failed_unnamed else 1
    assert (CallDay.objects.get().failed, CallDay.objects.get().given_up) == (expected, 0)


# Given up


def possibly_charged(now) -> Decimal:
    return money.spend_of(["sandbox"], now)["sandbox"]["RUB"].possibly_charged


def test_what_was_given_up_stays_possibly_charged(account, now):
    rows.not_confirmed(account, now)
    rows.given_back(account, now)
    rows.not_confirmed(account, now + DAY)
    before, known = possibly_charged(now + YEARS), money_known()
    assert run(now + YEARS)["calls"] == 2
    assert possibly_charged(now + YEARS) == before == 15
    assert money_known() == known
    assert {(day.given_up, int(day.possibly_charged)) for day in CallDay.objects.all()} == {(1, 5)}


def test_what_was_given_up_without_a_price_stays_counted(account, now):
    for lead in (rows.not_confirmed, rows.not_confirmed, rows.failed):
        lead(account, now)
    first = Call.objects.filter(state="given_up").first()
    Call.objects.exclude(pk=first.pk).update(cost_estimate=None)
    before = money.spend_of(["sandbox"], now + YEARS)
    assert run(now + YEARS)["calls"] == 3
    after = money.spend_of(["sandbox"], now + YEARS)["sandbox"]["RUB"]
    assert before["sandbox"]["RUB"] == after
    assert (after.possibly_charged, after.possibly_charged_unpriced) == (5, 1)


def test_its_slot_on_hold_is_explained_by_the_history_of_its_job(account, now):
    rows.not_confirmed(account, now)
    run(now + YEARS)
    assert not Call.objects.exists()
    assert violations(now + YEARS) == []


def test_a_call_given_up_that_is_merely_gone_is_found(account, now):
    rows.not_confirmed(account, now)
    Call.objects.all().delete()
    found = {line.partition(":")[0] for line in violations(now + YEARS)}
    assert found == {"not_confirmed_job_gave_up", "ended_job_is_settled"}


def test_the_page_of_what_was_not_confirmed_says_the_same(ana_client, account, now, clock):
    page = f"/jobs/{rows.not_confirmed(account, now).pk}"
    clock.move_to(now + YEARS)
    before = text_of(ana_client.get(page))
    run(now + YEARS)
    assert Event.objects.get(name="given_up").facts == {"folded": True}
    assert text_of(ana_client.get(page)) == before


def test_a_call_under_whose_id_a_picture_may_lie_stays(account, now):
    with_id, named = (rows.call_of(rows.not_confirmed(account, now)) for _ in range(2))
    Call.objects.filter(pk=with_id.pk).update(reference="gen_1")
    named.hooks.create(provider="sandbox", message_id="m", received_at=now, is_signed=False)
    assert "calls" not in run(now + YEARS)


# Paid, or known to the provider by an id


@pytest.mark.parametrize(
    "make", [rows.ready, rows.deleted, rows.not_fetched, rows.ready_late, rows.failed_billed]
)
def test_a_call_with_an_id_stays_and_refuses_its_work_and_its_id_to_others(account, now, make):
    call = rows.call_of(make(account, now))
    run(now + YEARS)
    call.refresh_from_db()
    other = rows.call_of(rows.lost(account, now))
    ledger.record(call_id=other.pk, news=Accepted(str(call.reference)), now=now + YEARS)
    assert rows.call_of(Job.objects.of_work(other.work).get()).reference is None
    if call.state == "succeeded":
        assert ledger.open_call(work=call.work, offer=rows.OFFER, now=now + YEARS) is None
