"""What a provider's list proves about a call whose answer was lost: every rule, and every doubt."""

from dataclasses import replace
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from providers.adapters.polza.adapter import Polza
from providers.adapters.registry import Offer
from providers.calls import ledger
from providers.calls.models import Call, Restore
from providers.outcomes import (
    Accepted,
    Cause,
    Failed,
    Listing,
    NoAnswer,
    Rejected,
    Run,
    Unknown,
)
from providers.recovery import SKEW, WIDE, CannotTell, Found, NotExecuted, find_lost, group_by_span
from tests.providers.call_rows import OFFER, open_call

pytestmark = pytest.mark.django_db

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
LOST = Unknown(Cause("transport", rule="lost"))


@pytest.fixture(autouse=True)
def word(settings):
    """The operator's word: by default the key is ours alone, and a run is listed within 10 s."""

    def give(provider=OFFER.provider, *, exclusive=True, lag=10 * SECOND, **more):
        accounts = settings.PROVIDER_ACCOUNTS
        account = replace(accounts[provider], key_exclusive=exclusive, list_lag=lag, **more)
        settings.PROVIDER_ACCOUNTS = accounts | {provider: account}

    give(key="the-key")
    return give


@pytest.fixture
def lose(now):
    """Opens a call some seconds from now, and brings it the news given."""
    numbers = iter(range(100))

    def open_and_lose(seconds=0, news=LOST, offer=OFFER) -> Call:
        sent_at = now + seconds * SECOND
        call = open_call(sent_at, f"image:{next(numbers)}", offer)
        if news:
            ledger.record(call_id=call.pk, news=news, now=sent_at)
        return Call.objects.get(pk=call.pk)

    return open_and_lose


@pytest.fixture
def listed(now):
    """A whole list of runs, each some seconds from now, asked for when nothing is too early."""

    def make(*seconds, model=OFFER.model, at=10 * MINUTE):
        runs = tuple(
            Run(f"gen_{number}", model, now + second * SECOND)
            for number, second in enumerate(seconds, start=1)
        )
        return Listing(runs, asked_at=now + at)

    return make


def tell(call, listing):
    verdict = find_lost(Call.objects.get(pk=call.pk), listing)
    return verdict.why if isinstance(verdict, CannotTell) else verdict


# Found


def test_one_lost_and_one_run_is_found(lose, listed):
    assert tell(lose(), listed(1)) == Found("gen_1")


@pytest.mark.parametrize("seconds", [-30, 0, 70, 100])
def test_a_run_within_the_time_to_send_and_to_answer_is_found(lose, listed, seconds):
    assert tell(lose(), listed(seconds)) == Found("gen_1")


@pytest.mark.parametrize("seconds", [-31, 101])
def test_a_run_beyond_it_is_not(lose, listed, seconds):
    assert tell(lose(), listed(seconds)) == "ambiguous"


def test_a_run_of_another_call_is_no_run_of_this_one(lose, listed):
    lose(1, Accepted("gen_2"))
    assert tell(lose(), listed(1, 2)) == Found("gen_1")


def test_an_id_of_a_call_that_ended_is_taken_too(lose, listed, now):
    ended = lose(1, Accepted("gen_2"))
    ledger.record(call_id=ended.pk, news=Failed(Cause("provider")), now=now)
    assert tell(lose(), listed(1, 2)) == Found("gen_1")


def test_an_id_of_another_provider_is_none_here(lose, listed):
    lose(0, Accepted("gen_1"), Offer("sandbox", OFFER.model))
    assert tell(lose(), listed(1)) == Found("gen_1")


def test_a_call_of_another_model_is_no_rival(lose, listed):
    lose(0, offer=Offer(OFFER.provider, "another"))
    assert tell(lose(), listed(1)) == Found("gen_1")


@pytest.mark.parametrize("rule", ["never_connected", "send_window_missed", "too_many", "refused"])
def test_what_surely_never_ran_is_no_rival(lose, listed, rule):
    lose(0, Rejected(Cause("transport", rule=rule)))
    assert tell(lose(), listed(1)) == Found("gen_1")


def test_calls_far_enough_apart_are_told_apart(lose, listed):
    first, second = lose(), lose(131)
    listing = listed(1, 132)
    assert (tell(first, listing), tell(second, listing)) == (Found("gen_1"), Found("gen_2"))


# Nobody gets it


def test_two_lost_and_one_run_is_nobodys(lose, listed):
    first, second = lose(), lose(5)
    assert (tell(first, listed(1)), tell(second, listed(1))) == ("ambiguous", "ambiguous")


def test_calls_that_could_just_have_met_are_not_told_apart(lose, listed):
    first, second = lose(), lose(130)
    listing = listed(1, 132)
    assert (tell(first, listing), tell(second, listing)) == ("ambiguous", "ambiguous")


def test_one_lost_and_two_runs_is_nobodys(lose, listed):
    assert tell(lose(), listed(1, 2)) == "ambiguous"


def test_two_lost_and_two_runs_are_nobodys(lose, listed):
    first, second = lose(), lose(5)
    assert (tell(first, listed(1, 5)), tell(second, listed(1, 5))) == ("ambiguous", "ambiguous")


@pytest.mark.parametrize(
    "news",
    [
        LOST,
        Rejected(Cause("provider", rule="own_enqueue_error", http=500)),
        Rejected(Cause("provider", rule="gateway_error", http=502)),
        Rejected(Cause("provider", rule="unclear_4xx", http=409)),
        Rejected(Cause("transport", rule="not_executed")),
        Failed(Cause("provider")),
    ],
    ids=lambda news: news.why.rule or "failed",
)
def test_every_call_that_may_have_run_is_a_rival(lose, listed, news):
    lose(5, news)
    assert tell(lose(), listed(1)) == "ambiguous"


def test_a_call_that_was_given_up_is_a_rival(lose, listed, now):
    ledger.give_up(call_id=lose(5).pk, now=now)
    assert tell(lose(), listed(1)) == "ambiguous"


def test_a_refused_call_of_which_a_result_came_is_a_rival(lose, listed, now):
    refused = lose(5, Rejected(Cause("input", rule="refused", http=400)))
    Call.objects.filter(pk=refused.pk).update(late_outcome="succeeded", late_at=now)
    assert tell(lose(), listed(1)) == "ambiguous"


def test_nothing_is_decided_while_another_is_sending(lose, listed):
    lose(5, news=None)
    assert tell(lose(), listed(1)) == "sending"


def test_a_sender_of_another_time_or_model_is_not_waited_for(lose, listed):
    lose(200, news=None)
    lose(5, news=None, offer=Offer(OFFER.provider, "another"))
    assert tell(lose(), listed(1)) == Found("gen_1")


def test_nothing_is_decided_unless_the_key_is_ours_alone(lose, listed, word):
    word(exclusive=False)
    assert tell(lose(), listed(1)) == "not_exclusive"


def test_a_second_account_with_the_key_belies_the_word(lose, listed, settings):
    polza = settings.PROVIDER_ACCOUNTS["polza"]
    twin = replace(polza, name="twin", base_url="https://elsewhere.test")
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"twin": twin}
    assert tell(lose(), listed(1)) == "not_exclusive"


@pytest.mark.parametrize("change", [{"key": "a new key"}, {"base_url": "https://elsewhere.test"}])
def test_the_list_of_another_key_proves_nothing(lose, listed, word, change):
    call = lose()
    word(**change)
    assert (tell(call, listed()), tell(call, listed(1))) == ("other_key", "other_key")


def test_the_mark_of_a_key_gives_none_away(lose):
    assert len(lose().key_mark) == 16
    assert "the-key" not in lose().key_mark


def test_an_account_that_is_gone_is_not_asked(lose, listed, settings):
    call = lose()
    settings.PROVIDER_ACCOUNTS = {}
    assert tell(call, listed(1)) == "not_exclusive"


def test_a_list_that_failed_proves_nothing(lose):
    assert tell(lose(), NoAnswer(Cause("provider", http=500))) == "list_failed"


@pytest.mark.parametrize("runs", [(), (1,)])
def test_a_part_of_a_list_proves_nothing(lose, listed, runs):
    assert tell(lose(), replace(listed(*runs), is_complete=False)) == "list_incomplete"


@pytest.mark.parametrize("seconds", [1, -1800])
def test_a_run_that_nobody_here_asked_for_belies_the_word(lose, listed, seconds):
    strange = listed(seconds, model="of somebody else").runs
    whole = listed(1)
    with_it = replace(whole, runs=(*whole.runs, replace(strange[0], reference="gen_9")))
    assert tell(lose(), with_it) == "strange_run"
    assert tell(lose(300), replace(whole, runs=strange)) == "strange_run"


# Not executed


def test_no_run_in_a_whole_list_asked_late_enough_was_not_executed(lose, listed):
    assert isinstance(tell(lose(), listed()), NotExecuted)


def test_all_that_were_lost_together_were_not_executed_when_there_is_no_run(lose, listed):
    first, second = lose(), lose(5)
    assert isinstance(tell(first, listed()), NotExecuted)
    assert isinstance(tell(second, listed()), NotExecuted)


def test_nothing_is_called_not_executed_where_the_lag_is_unknown(lose, listed, word):
    word(lag=None)
    assert tell(lose(), listed()) == "lag_unknown"


def test_time_to_send_to_answer_and_to_be_listed_must_be_over(lose, listed):
    call = lose()
    over = call.answer_by + 10 * SECOND + SKEW - call.sent_at
    assert tell(call, listed(at=over - SECOND)) == "too_early"
    assert isinstance(tell(call, listed(at=over)), NotExecuted)


@pytest.mark.parametrize("seconds", [-3600, -31, 101, 3670])
def test_a_run_nearby_that_is_nobodys_forbids_it(lose, listed, seconds):
    assert tell(lose(), listed(seconds, at=2 * WIDE)) == "ambiguous"


@pytest.mark.parametrize("seconds", [-3601, 3671])
def test_a_run_of_quite_another_time_does_not(lose, listed, seconds):
    assert isinstance(tell(lose(), listed(seconds, at=2 * WIDE)), NotExecuted)


def test_it_names_its_evidence(lose, listed):
    lose(0, Accepted("gen_1"))
    assert tell(lose(), listed(1)).evidence == "none of 1 runs at 12:10:00 UTC"


# Later evidence still decides


def test_the_remaining_one_is_found_when_the_other_has_its_id(lose, listed, now):
    first, second = lose(), lose(5)
    assert tell(first, listed(1, 5)) == "ambiguous"
    ledger.record(call_id=second.pk, news=Accepted("gen_2"), now=now)
    assert tell(first, listed(1, 5)) == Found("gen_1")


def test_an_id_that_came_after_the_end_counts(lose, listed, now):
    first, second = lose(), lose(5)
    ledger.give_up(call_id=second.pk, now=now)
    assert tell(first, listed(1, 5)) == "ambiguous"
    assert ledger.record(call_id=second.pk, news=Accepted("gen_2"), now=now).late
    assert tell(first, listed(1, 5)) == Found("gen_1")


# What is read and asked for


def test_a_call_with_a_long_time_to_answer_is_a_rival_still(lose, listed, monkeypatch):
    with monkeypatch.context() as patience:
        patience.setattr(Polza, "caps", replace(Polza.caps, answer_timeout=3600))
        lose(-3000)
    assert tell(lose(), listed(1)) == "ambiguous"


def test_a_verdict_reads_no_history(lose, listed):
    call = lose()
    with CaptureQueriesContext(connection) as asked:
        find_lost(call, listed(1))
    with connection.cursor() as cursor:
        plans = [
            str(cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}").fetchall())
            for query in asked.captured_queries
        ]
    assert plans
    assert [plan for plan in plans if "SCAN providers_call" in plan] == []
    assert sum("sent_at>? AND sent_at<?" in plan for plan in plans) == 3


def test_calls_that_were_lost_together_are_looked_for_in_one_list(lose, now):
    first, second, other = lose(), lose(600), lose(4 * 3600)
    spans = group_by_span([other, second, first], now + 24 * WIDE)
    assert [group for _, group in spans] == [[first, second], [other]]
    assert spans[0][0].begins == first.sent_at - WIDE
    assert spans[0][0].ends == second.answer_by + WIDE


def test_no_list_is_asked_for_beyond_this_moment(lose, now):
    ((span, _),) = group_by_span([lose()], now + SECOND)
    assert span.ends == now + SECOND + SKEW


# After a restore


@pytest.fixture
def restored(now):
    def at(seconds):
        Restore.objects.create(restored_at=now + seconds * SECOND)

    return at


def test_a_call_that_is_older_than_the_restore_is_compared_with_no_list(lose, listed, restored):
    call = lose()
    restored(1)
    assert tell(call, listed(1)) == "restored"


def test_no_key_is_exclusive_until_lost_retention_is_over(lose, listed, restored, now, settings):
    restored(-1)
    call, retention = lose(), settings.LOST_RETENTION
    with time_machine.travel(now + retention - 2 * SECOND):
        assert tell(call, listed(1)) == "restored"
    with time_machine.travel(now + retention + 2 * SECOND):
        assert tell(call, listed(1)) == Found("gen_1")
