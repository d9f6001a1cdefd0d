"""What polls are told, until and after the end, and what that leaves on the bill."""

import time

import pytest
import requests

from providers.sandbox.faults import find_fault
from providers.sandbox.routes import SLOW_MINUTES
from tests.providers.sandbox.conftest import PATIENCE
from tests.site_process import wait_until

READY = ["ok", "slow_14", "slow_16", "slow_40", "poll_flaky", "status_new", "result_cut"]
READY += ["no_id", "poll_429", "late_output", "odd_shape", "url_expires", "bitmap"]


@pytest.mark.parametrize("fault", READY)
def test_a_good_generation_completes(anywhere, fault):
    answer = anywhere.finish(fault)
    assert answer["status"] == "completed"
    assert answer["usage"]["cost_rub"] == answer["usage"]["cost"] == 5.0
    assert answer["completed_at"] >= answer["created"]
    assert anywhere.booked() == (1, 1)


@pytest.mark.parametrize("fault", SLOW_MINUTES)
def test_slow_faults_take_their_minutes(start_sandbox, fault):
    client = start_sandbox(minute=60)
    generation_id = client.submit(fault).json()["id"]
    row = client.ledger()["generations"][0]
    assert row["completes_at"] - row["executed_at"] == pytest.approx(60 * SLOW_MINUTES[fault])
    assert client.poll(generation_id).json()["status"] == "pending"


def test_both_shapes_of_data_occur(client):
    ids = [client.submit(work=f"image:{number}").json()["id"] for number in range(40)]
    shapes = {type(client.wait_for(each, "completed")["data"]) for each in ids}
    assert shapes == {dict, list}


def test_a_generation_keeps_its_shape(client):
    answer = client.finish()
    assert client.poll(answer["id"]).json()["data"] == answer["data"]


@pytest.mark.parametrize(
    ("fault", "status", "cost"),
    [("fail", "failed", 0), ("fail_billed", "failed", 5), ("cancelled", "cancelled", 0)],
)
def test_failures_have_an_error_and_a_cost(client, fault, status, cost):
    answer = client.finish(fault)
    assert answer["status"] == status
    assert answer["error"]["code"]
    assert answer["error"]["message"]
    assert answer["usage"]["cost_rub"] == cost
    assert "data" not in answer
    assert client.booked() == (1, find_fault(fault).charges)


def test_no_output_completes_with_nothing(client):
    answer = client.finish("no_output")
    assert answer["status"] == "completed"
    assert not answer["data"]
    assert answer["usage"]["cost_rub"] == 5


def test_text_only_completes_with_words(client):
    answer = client.finish("text_only")
    assert answer["status"] == "completed"
    assert "data" not in answer
    assert answer["content"]
    assert answer["usage"]["cost_rub"] == 5


def test_an_unknown_status_word_comes_first(client):
    generation_id = client.submit("status_new").json()["id"]
    wait_until(lambda: time.time() >= client.ledger()["generations"][0]["completes_at"])
    words = [client.poll(generation_id).json()["status"] for _ in range(2)]
    assert words == ["upscaling", "completed"]


def test_flaky_polls_show_each_nonsense_once(anywhere):
    generation_id = anywhere.submit("poll_flaky").json()["id"]
    seen = []
    for _ in range(9):
        try:
            reply = anywhere.poll(generation_id)
            is_json = reply.headers["Content-Type"] == "application/json"
            seen.append((reply.status_code, is_json))
        except requests.ConnectionError:
            seen.append("reset")
    good = (200, True)
    assert seen[0::2] == [good] * 5
    assert seen[1::2] == [(500, True), "reset", (404, True), (502, False)]


def test_some_polls_are_answered_with_another_persons_run(anywhere):
    other = anywhere.finish(work="image:2")["id"]
    own = anywhere.submit("wrong_id").json()["id"]
    answers = [anywhere.poll(own).json() for _ in range(5)]
    assert [answer["id"] for answer in answers] == [own, other, own, other, own]
    assert other in str(answers[1]["data"])


def test_without_another_run_a_made_up_one_is_named(client):
    own = client.submit("wrong_id").json()["id"]
    client.poll(own)
    assert client.poll(own).json()["id"] not in ("", own)


def test_the_first_polls_name_no_run(client):
    own = client.submit("no_id").json()["id"]
    assert [client.poll(own).json()["id"] for _ in range(3)] == [None, None, own]


@pytest.mark.parametrize(
    ("fault", "times", "wait"), [("poll_429", 2, None), ("poll_429_after", 2, "2")]
)
def test_polls_are_too_busy_at_first(client, fault, times, wait):
    own = client.submit(fault).json()["id"]
    replies = [client.poll(own) for _ in range(times + 1)]
    assert [reply.status_code for reply in replies] == [*[429] * times, 200]
    assert {reply.headers.get("Retry-After") for reply in replies[:times]} == {wait}


def test_the_output_is_listed_some_polls_after_the_end(client):
    first = client.finish("late_output")
    later = [client.poll(first["id"]).json() for _ in range(3)]
    assert [answer["status"] for answer in later] == ["completed"] * 3
    assert [first["data"], *[answer["data"] for answer in later[:2]]] == [None, [], {}]
    assert client.fetch(later[2]).status_code == 200


def test_the_output_is_described_in_an_unknown_way(client):
    answer = client.finish("odd_shape")
    assert "url" not in str(answer["data"])
    assert answer["usage"]["cost_rub"] == 5


def test_a_failure_taken_back(client):
    failed = client.finish("failed_then_completed")
    assert failed["status"] == "failed"
    assert failed["usage"]["cost_rub"] == 0
    later = client.poll(failed["id"]).json()
    assert later["status"] == "completed"
    assert later["usage"]["cost_rub"] == 5
    assert later["data"]
    assert client.booked() == (1, 1)


def test_the_bill_notes_when_a_failure_was_first_told(client):
    generation_id = client.submit("fail").json()["id"]
    assert client.ledger()["generations"][0]["failure_told_at"] is None
    client.wait_for(generation_id, "failed")
    first = client.ledger()["generations"][0]
    client.poll(generation_id)
    second = client.ledger()["generations"][0]
    assert first["completes_at"] <= first["failure_told_at"] == second["failure_told_at"]
    assert (first["failure_told"], second["failure_told"]) == (1, 2)


def test_an_unknown_id_is_404_in_polzas_shape(client):
    reply = client.poll("gen_000000000000000000")
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    "path",
    ["/v1/media/gen_1", "/v1/history/generations", "/v1/history/generations/gen_1", "/v1/balance"],
)
def test_reading_needs_a_key(client, path):
    reply = client.session.get(f"{client.url}{path}", timeout=PATIENCE)
    assert reply.status_code == 401


def test_an_unknown_place_is_404(client):
    assert client.get("/v1/elsewhere").status_code == 404
