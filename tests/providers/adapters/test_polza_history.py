"""Polza's list of runs: what is asked for, how each shape is read, and when it is a whole list."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from providers.adapters.polza import history
from providers.adapters.polza.adapter import Polza
from providers.outcomes import NoAnswer, Run

SINCE = datetime(2026, 9, 21, 14, tzinfo=UTC)
UNTIL = SINCE + timedelta(hours=1)
CREATED = "2026-09-21T14:13:20.000Z"
ROW = {"id": "gen_1", "model": "google/model", "createdAt": CREATED, "status": "completed"}


def rows(*numbers):
    return [{**ROW, "id": f"gen_{number}"} for number in numbers]


def page(*numbers, total=None):
    return {"items": rows(*numbers), "meta": {"total": len(numbers) if total is None else total}}


@pytest.fixture
def ask(serve):
    """What the adapter makes of the answers, one a page; the last one is given again."""

    def list_runs(*answers, status=200):
        def answer_all(line):
            heads.append(line.read_head() + "\r\n\r\n")
            body = answers[min(len(heads), len(answers)) - 1]
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            line.answer(status, raw)

        polza = Polza(name="polza", base_url=f"{serve(answer_all).url}/api", key="the-key")
        return polza.runs_between(SINCE, UNTIL)

    list_runs.heads = heads = []
    return list_runs


def test_it_asks_for_pictures_of_a_stretch_of_time_oldest_first(ask):
    ask(page())
    line, _, rest = ask.heads[0].partition("\r\n")
    assert line == (
        "GET /api/v1/history/generations?page=1&limit=100"
        "&dateFrom=2026-09-21T14%3A00%3A00.000Z&dateTo=2026-09-21T15%3A00%3A00.000Z"
        "&requestType=image&sortBy=createdAt&sortOrder=asc HTTP/1.1"
    )
    assert "Authorization: Bearer the-key" in rest


def test_a_row_is_read(ask):
    before = datetime.now(UTC)
    listing = ask(page(1))
    created_at = datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC)
    assert listing.runs == (Run("gen_1", "google/model", created_at),)
    assert listing.is_complete
    assert before <= listing.asked_at <= datetime.now(UTC)


def test_rows_may_stand_under_data(ask):
    assert len(ask({"data": rows(1, 2), "meta": {"total": 2}}).runs) == 2


def test_an_id_may_be_a_number(ask):
    assert ask({"items": [{**ROW, "id": 7}], "meta": {"total": 1}}).runs[0].reference == "7"


def test_a_list_of_nothing_is_whole(ask):
    listing = ask(page())
    assert (listing.runs, listing.is_complete) == ((), True)


def test_pages_are_put_together(ask):
    listing = ask(page(*range(100), total=130), page(*range(100, 130), total=130))
    assert (len(listing.runs), listing.is_complete) == (130, True)
    assert [head.split("page=")[1].split("&")[0] for head in ask.heads] == ["1", "2"]


def test_a_full_page_is_not_taken_for_the_last(ask):
    listing = ask(page(*range(100)), page(*range(100, 150), total=50))
    assert not listing.is_complete


def test_a_full_last_page_is_followed_by_an_empty_one(ask):
    assert ask(page(*range(100)), page(total=100)).is_complete
    assert len(ask.heads) == 2


def test_short_pages_are_read_on(ask):
    listing = ask(page(1, 2, total=3), page(3, total=3))
    assert (len(listing.runs), listing.is_complete) == (3, True)


@pytest.mark.parametrize(
    "pages",
    [
        (page(1, 2, total=3), page(3, total=4), page(total=4)),
        (page(1, 2, total=3), page(2, total=3), page(total=3)),
        (page(1, 2, total=1),),
        (page(1, total=2), page(total=2)),
    ],
    ids=["the total changed", "a row came twice", "more than the total", "a row is missing"],
)
def test_pages_that_do_not_fit_are_no_whole_list(ask, pages):
    assert not ask(*pages).is_complete


def test_a_list_without_end_is_no_whole_list(ask):
    listing = ask(page(*range(100), total=10_000))
    assert not listing.is_complete
    assert len(ask.heads) == history.MOST_PAGES


def test_a_list_that_takes_too_long_is_no_whole_list(ask, monkeypatch):
    monkeypatch.setattr(history, "LIST_WITHIN", 0)
    assert not ask(page(1, total=2)).is_complete
    assert len(ask.heads) == 1


@pytest.mark.parametrize("status", [201, 302, 400, 401, 404, 429, 500, 502])
def test_any_other_status_is_no_answer(ask, status):
    answer = ask(page(1), status=status)
    assert isinstance(answer, NoAnswer)
    assert answer.why.http == status


def test_a_page_that_fails_fails_the_list(ask):
    assert isinstance(ask(page(1, total=2), b"<html>"), NoAnswer)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        {"meta": {"total": 0}},
        {"items": []},
        {"items": [], "meta": {"total": "0"}},
        {"items": [], "meta": {"total": True}},
        {"items": {}, "meta": {"total": 0}},
        {"items": ["gen_1"], "meta": {"total": 1}},
    ],
)
def test_what_cannot_be_read_is_no_answer(ask, body):
    assert isinstance(ask(body), NoAnswer)


@pytest.mark.parametrize(
    "change",
    [
        {"id": None},
        {"id": ".."},
        {"id": True},
        {"model": ""},
        {"model": None},
        {"createdAt": None},
        {"createdAt": "yesterday"},
        {"createdAt": "2026-09-21T14:13:20"},
        {"createdAt": 1789999999},
    ],
)
def test_one_row_that_cannot_be_read_spoils_the_list(ask, change):
    body = {"items": [ROW, {**ROW, "id": "gen_2", **change}], "meta": {"total": 2}}
    assert isinstance(ask(body), NoAnswer)


def test_a_list_that_is_lost_is_no_answer(serve):
    polza = Polza(name="polza", base_url=serve(lambda line: line.reset()).url, key="k")
    assert isinstance(polza.runs_between(SINCE, UNTIL), NoAnswer)
