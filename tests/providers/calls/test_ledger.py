"""The call ledger: what each piece of news changes in each state, and what it never changes."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError

from providers.adapters.registry import Offer
from providers.calls import ledger, result_files
from providers.calls.ledger import record
from providers.calls.models import Call
from providers.calls.states import ENDS, LIVE, SOURCES, WALL, CallState
from providers.outcomes import Accepted, Artifact, Cause, Done, Failed
from tests.adapter_limits import ANSWER_TIMEOUT, RETENTION
from tests.providers.call_rows import NEWS, OFFER, call_in, open_call

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)

# What a call in the state of the row becomes by the news of the column: a state, or "late" where
# only the columns beside the state are written, or nothing.
NAMES = ("accepted", "done", "failed", "rejected", "unknown")
MATRIX = {
    "sending":   ("accepted", "succeeded", "failed", "rejected", "unknown"),
    "accepted":  ("-",        "succeeded", "failed", "-",        "-"),
    "unknown":   ("accepted", "succeeded", "failed", "rejected", "-"),
    "succeeded": ("-",        "-",         "late",   "-",        "-"),
    "rejected":  ("late",     "late",      "late",   "-",        "-"),
    "failed":    ("-",        "late",      "-",      "-",        "-"),
    "given_up":  ("late",     "late",      "late",   "late",     "-"),
}  # fmt: skip
CELLS = [
    (state, news, end)
    for state, row in MATRIX.items()
    for news, end in zip(NAMES, row, strict=True)
]
COLUMNS = [field.attname for field in Call._meta.fields]
LATE_COLUMNS = {"late_outcome", "late_at", "cost", "reference", "poll_at", "give_up_at"}


def columns_of(call):
    return Call.objects.values(*COLUMNS).get(pk=call.pk)


def changed_columns(before, call):
    after = columns_of(call)
    return {name for name in COLUMNS if after[name] != before[name]}


def test_matrix_names_every_state():
    assert set(MATRIX) == set(CallState.values)


@pytest.mark.parametrize(("state", "news", "end"), CELLS)
def test_news_does_in_each_state_what_the_matrix_says(now, state, news, end):
    call = call_in(state, now)
    before = columns_of(call)
    recorded = record(call_id=call.pk, news=NEWS[news], now=now + MINUTE)
    assert (recorded.changed, recorded.late) == (end not in ("-", "late"), end == "late")
    changed = changed_columns(before, call)
    if end == "-":
        assert changed == set()
    elif end == "late":
        assert {"late_outcome", "late_at"} <= changed <= LATE_COLUMNS
    else:
        assert columns_of(call)["state"] == end


@pytest.mark.parametrize(("state", "news", "end"), CELLS)
def test_same_news_twice_changes_nothing(now, state, news, end):
    call = call_in(state, now)
    record(call_id=call.pk, news=NEWS[news], now=now)
    before = columns_of(call)
    again = record(call_id=call.pk, news=NEWS[news], now=now + MINUTE)
    assert (again.changed, again.late) == (False, False)
    assert changed_columns(before, call) == set()


@pytest.mark.parametrize("state", sorted(ENDS))
def test_ended_call_never_changes_its_state(now, state):
    call = call_in(state, now)
    for news in NEWS.values():
        record(call_id=call.pk, news=news, now=now)
    ledger.give_up(call_id=call.pk, now=now + timedelta(days=400))
    call.refresh_from_db()
    assert (call.state, call.ended_at) == (state, now)


@pytest.mark.parametrize("state", sorted(LIVE))
def test_live_call_is_always_looked_at_again(now, state):
    assert call_in(state, now).poll_at is not None


@pytest.mark.parametrize("state", sorted(ENDS))
def test_ended_call_is_not_looked_at(now, state):
    assert call_in(state, now).poll_at is None


def test_nothing_leads_out_of_an_end():
    assert ENDS & frozenset().union(*SOURCES.values()) == set()


# What the news leaves in the row


def test_open_call_is_the_evidence_that_something_may_have_been_sent(now, settings):
    call = open_call(now)
    assert (call.state, call.sent_at, call.send_by) == ("sending", now, now + settings.SEND_WITHIN)
    assert call.answer_by == call.send_by + timedelta(seconds=ANSWER_TIMEOUT)
    assert call.poll_at == call.answer_by
    assert call.give_up_at == now + settings.LOST_RETENTION


def test_estimate_is_frozen_when_it_is_sent(now, settings):
    settings.IMAGE_PRICES = {str(OFFER): (Decimal("5.25"), "RUB")}
    call = open_call(now)
    settings.IMAGE_PRICES = {str(OFFER): (Decimal(9), "USD")}
    call.refresh_from_db()
    assert (call.cost_estimate, call.currency, call.cost) == (Decimal("5.25"), "RUB", None)


def test_call_without_a_price_has_no_estimate_but_its_currency(now):
    call = open_call(now, offer=Offer("polza", "no/price"))
    assert (call.cost_estimate, call.currency) == (None, "RUB")


def test_accepted_call_is_polled_soon_and_pursued_as_long_as_results_live(now, settings):
    call = call_in("accepted", now)
    assert (call.reference, call.accepted_at) == (f"gen_{call.pk}", now)
    assert call.poll_at == now + settings.POLL_EVERY
    assert call.give_up_at == now + RETENTION


def test_unknown_call_without_an_id_is_looked_for_soon(now, settings):
    call = call_in("unknown", now)
    assert call.poll_at == now + settings.POLL_EVERY
    assert (call.why, call.rule) == ("transport", "lost")


def test_result_and_cost_are_kept(now):
    call = call_in("succeeded", now)
    assert call.cost == 5
    assert result_files.read_rows(call) == [Artifact(url="https://pictures.test/1.png")]


def test_rejected_call_cost_nothing(now):
    call = call_in("rejected", now)
    assert (call.cost, call.why, call.rule, call.http_status) == (0, "auth", "refused", 401)


@pytest.mark.parametrize("cost", [Decimal(5), Decimal(0), None])
def test_failure_keeps_what_the_provider_said_of_its_cost(now, cost):
    call = open_call(now)
    record(call_id=call.pk, news=Failed(Cause("content"), cost), now=now)
    call.refresh_from_db()
    assert (call.state, call.why, call.cost) == ("failed", "content", cost)


@pytest.mark.parametrize("text", ["\0", "a\0b", "\ud800", "x" * 100_000, "💰" * 1000])
def test_whatever_a_provider_says_can_be_stored(now, text):
    call = call_in("accepted", now)
    ledger.note_answer(call, text)
    record(call_id=call.pk, news=Failed(Cause("provider", code=text, text=text)), now=now)
    call.refresh_from_db()
    assert call.state == "failed"
    assert (len(call.code), len(call.detail)) <= (80, 500)


def test_whatever_address_a_provider_gives_can_be_stored(now):
    call = call_in("accepted", now)
    record(call_id=call.pk, news=Done((Artifact(url="https://a/\0\ud800"),)), now=now)
    assert Call.objects.get(pk=call.pk).state == "succeeded"


@pytest.mark.parametrize("artifact", [Artifact(b64="aGk="), Artifact(url="data:,hi")])
def test_bytes_of_a_result_are_refused_as_a_row(now, artifact):
    call = call_in("accepted", now)
    with pytest.raises(ValueError, match="file"):
        record(call_id=call.pk, news=Done((artifact,)), now=now)
    assert Call.objects.get(pk=call.pk).state == "accepted"


def test_news_that_is_none_is_an_error(now):
    call = open_call(now)
    with pytest.raises(TypeError):
        record(call_id=call.pk, news="running", now=now)


# News after the end


def late(call, *news, now):
    for piece in news:
        recorded = record(call_id=call.pk, news=piece, now=now + MINUTE)
    call.refresh_from_db()
    return recorded


DONE, FAILED, ACCEPTED = NEWS["done"], NEWS["failed"], NEWS["accepted"]


def test_late_result_is_kept_with_its_cost(now):
    call = call_in("given_up", now)
    recorded = late(call, DONE, now=now)
    assert (call.late_outcome, call.late_at, call.cost) == ("succeeded", now + MINUTE, 5)
    assert result_files.read_rows(call) == list(DONE.artifacts)
    assert recorded.call.late_outcome == "succeeded"


def test_late_id_is_pursued(now, settings):
    call = call_in("given_up", now)
    late(call, ACCEPTED, now=now)
    assert (call.reference, call.late_outcome) == ("gen_news", "accepted")
    assert call.poll_at == now + MINUTE + settings.POLL_EVERY
    assert call.give_up_at == now + MINUTE + RETENTION


@pytest.mark.parametrize("news", [DONE, FAILED])
def test_late_end_ends_the_pursuit_of_a_late_id(now, news):
    call = call_in("given_up", now)
    late(call, ACCEPTED, news, now=now)
    assert call.poll_at is None
    assert call.reference == "gen_news"


def test_late_result_is_not_outweighed_by_later_news(now):
    call = call_in("given_up", now)
    late(call, DONE, FAILED, ACCEPTED, NEWS["rejected"], now=now)
    assert (call.late_outcome, call.cost, call.poll_at) == ("succeeded", 5, None)


def test_late_result_outweighs_a_late_failure(now):
    call = call_in("given_up", now)
    assert late(call, FAILED, DONE, now=now).late
    assert (call.late_outcome, call.cost) == ("succeeded", 5)


@pytest.mark.parametrize(("said", "cost"), [(0, 5), (7, 7)])
def test_late_failure_takes_no_cost_away(now, said, cost):
    call = call_in("succeeded", now)
    late(call, Failed(Cause("provider"), Decimal(said)), now=now)
    assert (call.state, call.late_outcome, call.cost) == ("succeeded", "failed", cost)


def test_late_failure_that_names_no_cost_leaves_the_cost(now):
    call = call_in("succeeded", now)
    late(call, Failed(Cause("provider")), now=now)
    assert (call.state, call.late_outcome, call.cost) == ("succeeded", "failed", 5)
    assert result_files.read_rows(call) == list(DONE.artifacts)


@pytest.mark.parametrize("news", [ACCEPTED, Failed(Cause("provider")), Done(())])
def test_what_ran_after_a_rejection_is_not_free(now, news):
    call = call_in("rejected", now)
    late(call, news, now=now)
    assert (call.state, call.cost) == ("rejected", None)


def test_late_cost_of_a_rejected_call_stays(now):
    call = call_in("rejected", now)
    late(call, FAILED, Done(()), now=now)
    assert (call.late_outcome, call.cost) == ("succeeded", 2)


def test_late_id_that_another_call_has_is_no_news(now):
    call_in("accepted", now, work="image:other")
    other = Call.objects.get(work="image:other")
    call = call_in("given_up", now)
    recorded = record(call_id=call.pk, news=Accepted(other.reference), now=now)
    assert (recorded.changed, recorded.late) == (False, False)


# Ids


@pytest.mark.parametrize("state", ["sending", "unknown"])
def test_id_of_another_call_is_unknown_and_no_error(now, state):
    other = call_in("accepted", now, work="image:other")
    call = call_in(state, now)
    record(call_id=call.pk, news=Accepted(other.reference), now=now)
    call.refresh_from_db()
    assert (call.state, call.reference) == ("unknown", None)
    other.refresh_from_db()
    assert (other.state, other.reference) == ("accepted", f"gen_{other.pk}")


def test_repeated_id_is_named_in_the_row(now):
    other = call_in("accepted", now, work="image:other")
    call = open_call(now)
    recorded = record(call_id=call.pk, news=Accepted(other.reference), now=now)
    assert (recorded.changed, recorded.call.rule) == (True, "repeated_id")


def test_another_provider_may_give_the_same_id(now):
    other = call_in("accepted", now, work="image:other")
    call = open_call(now, offer=Offer("sandbox", "test-picture"))
    recorded = record(call_id=call.pk, news=Accepted(other.reference), now=now)
    assert recorded.call.state == "accepted"


def test_only_an_id_can_be_repeated(now):
    call = call_in("accepted", now)
    with pytest.raises(IntegrityError):
        record(call_id=call.pk, news=Done((), Decimal(-1)), now=now)


# The wall


@pytest.mark.parametrize("state", sorted(WALL))
def test_wall_refuses_a_second_call(now, state):
    call_in(state, now)
    assert ledger.open_call(work="image:1", offer=OFFER, now=now) is None


@pytest.mark.parametrize("state", sorted(WALL))
def test_wall_refuses_another_provider_too(now, state):
    call_in(state, now)
    offer = Offer("sandbox", "test-picture")
    assert ledger.open_call(work="image:1", offer=offer, now=now) is None


@pytest.mark.parametrize("state", sorted(ENDS - WALL))
def test_work_whose_call_ended_unpaid_may_be_sent_again(now, state):
    call_in(state, now)
    assert ledger.open_call(work="image:1", offer=OFFER, now=now)


def test_wall_stands_between_calls_of_one_work_only(now):
    open_call(now)
    assert ledger.open_call(work="image:2", offer=OFFER, now=now)


@pytest.mark.parametrize("state", CallState.values)
def test_live_call_of_a_work_is_the_one_on_its_way(now, state):
    call = call_in(state, now)
    found = ledger.find_live_call("image:1")
    assert found == (call if state in LIVE else None)


# Giving up


@pytest.mark.parametrize("state", ["accepted", "unknown"])
def test_pursuit_is_given_up_once(now, state):
    call = call_in(state, now)
    assert ledger.give_up(call_id=call.pk, now=now + MINUTE)
    assert not ledger.give_up(call_id=call.pk, now=now + 2 * MINUTE)
    call.refresh_from_db()
    assert (call.state, call.ended_at, call.poll_at) == ("given_up", now + MINUTE, None)
    assert call.cost is None


@pytest.mark.parametrize("state", ["sending", "succeeded", "rejected", "failed"])
def test_nothing_else_is_given_up(now, state):
    call = call_in(state, now)
    before = columns_of(call)
    assert not ledger.give_up(call_id=call.pk, now=now + timedelta(days=400))
    assert changed_columns(before, call) == set()


@pytest.mark.parametrize("state", ["rejected", "given_up"])
def test_pursuit_of_a_late_id_ends_with_its_retention(now, state):
    call = call_in(state, now)
    late(call, ACCEPTED, now=now)
    ledger.give_up(call_id=call.pk, now=call.give_up_at - MINUTE)
    assert Call.objects.get(pk=call.pk).poll_at is not None
    ledger.give_up(call_id=call.pk, now=call.give_up_at)
    assert Call.objects.get(pk=call.pk).poll_at is None
