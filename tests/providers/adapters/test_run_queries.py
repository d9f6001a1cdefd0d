"""Answers are matched to requests: ids as they were spelled, lists by time, page and kind."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from providers.adapters import run_queries
from providers.outcomes import Listing, NoAnswer, Running
from providers.reasons import Rule

SINCE = datetime(2026, 9, 21, 14, 0, 0, 123456, tzinfo=UTC)
UNTIL = SINCE + timedelta(hours=1)
ROW = {"id": "gen_1", "model": "m", "createdAt": "2026-09-21T14:13:20.000Z"}


@pytest.fixture
def answering(serve, account_at):
    """The account of a provider that gives this answer to everything."""

    def start(body):
        def script(line):
            line.read_head()
            line.answer(200, json.dumps(body).encode())

        return account_at(serve(script).url)

    return start


def is_of_another(answer):
    return isinstance(answer, NoAnswer) and answer.why.rule == Rule.OTHER_RUN


@pytest.mark.parametrize(
    ("asked", "named"), [("gen_1", "gen_1"), ("581", 581), ("581", "581"), ("a/ü ?", "a/ü ?")]
)
def test_answer_that_names_its_run_is_believed(answering, asked, named):
    account = answering({"id": named, "status": "pending"})
    assert run_queries.poll_run(account, asked, "brush") == Running("pending")


@pytest.mark.parametrize(
    "named",
    [
        "gen_2", "Gen_1", "gen_1 ", " gen_1", "gen_01", "gen_1\u0000", "gen_１", "gen_10", "gen_",
        "", None, True, 1, 1.0, ["gen_1"], {"id": "gen_1"},
    ],
)  # fmt: skip
def test_answer_that_names_another_run_or_none_is_no_answer(answering, named):
    account = answering({"id": named, "status": "completed", "data": {"url": "https://a.test"}})
    assert is_of_another(run_queries.poll_run(account, "gen_1", "brush"))


@pytest.mark.parametrize("named", [581.0, "0581", "5.81e2", -581, 5810])
def test_numbers_are_compared_by_their_digits(answering, named):
    account = answering({"id": named, "status": "failed"})
    assert is_of_another(run_queries.poll_run(account, "581", "brush"))


@pytest.mark.parametrize("status", ["failed", "cancelled", "completed", "pending", "unheard of"])
def test_answer_without_an_id_is_no_answer(answering, status):
    assert is_of_another(run_queries.poll_run(answering({"status": status}), "gen_1", "brush"))


def test_list_is_believed_within_its_time(answering):
    account = answering({"items": [ROW], "meta": {"page": 1, "total": 1}})
    assert isinstance(run_queries.list_runs(account, SINCE, UNTIL), Listing)


def test_times_may_be_cut_as_the_request_cuts_them(answering):
    row = ROW | {"createdAt": "2026-09-21T14:00:00.123Z"}
    account = answering({"items": [row], "meta": {"total": 1}})
    assert isinstance(run_queries.list_runs(account, SINCE, UNTIL), Listing)


@pytest.mark.parametrize("at", ["2026-09-21T13:59:50.000Z", "2026-09-21T15:00:10.000Z"])
def test_list_with_a_row_of_another_time_is_no_answer(answering, at):
    rows = [ROW, ROW | {"id": "gen_2", "createdAt": at}]
    account = answering({"items": rows, "meta": {"total": 2}})
    assert is_of_another(run_queries.list_runs(account, SINCE, UNTIL))


@pytest.mark.parametrize("page", [2, 0, "2", None])
def test_another_page_than_requested_is_no_answer(answering, page):
    account = answering({"items": [ROW], "meta": {"page": page, "total": 1}})
    assert is_of_another(run_queries.list_runs(account, SINCE, UNTIL))


@pytest.mark.parametrize("page", [1, "1"])
def test_the_requested_page_may_be_named_as_number_or_text(answering, page):
    account = answering({"items": [ROW], "meta": {"page": page, "total": 1}})
    assert isinstance(run_queries.list_runs(account, SINCE, UNTIL), Listing)


def test_list_with_a_row_of_another_kind_is_no_answer(answering):
    rows = [ROW, ROW | {"id": "gen_2", "requestType": "video"}]
    account = answering({"items": rows, "meta": {"total": 2}})
    assert is_of_another(run_queries.list_runs(account, SINCE, UNTIL))


def test_page_that_repeats_a_row_makes_no_whole_list(answering):
    account = answering({"items": [ROW, ROW], "meta": {"total": 2}})
    assert not run_queries.list_runs(account, SINCE, UNTIL).is_complete


def test_refused_poll_says_how_long_to_stay_away(serve, account_at):
    def refuse(line):
        line.read_head()
        line.answer(429, b"{}", Retry_After="30")

    why = run_queries.poll_run(account_at(serve(refuse).url), "gen_1", "brush").why
    assert (why.kind, why.http, why.retry_after) == ("rate", 429, 30)
