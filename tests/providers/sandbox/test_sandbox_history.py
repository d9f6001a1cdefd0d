"""The history list and the balance, as documented."""

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
import requests

from providers.sandbox.orders import Refusal, read_history_page
from tests.site_process import wait_until


@pytest.fixture
def history(client):
    """Asks for a page: (items, meta)."""

    def ask(**query):
        answer = client.get("/v1/history/generations", **query).json()
        return answer["items"], answer["meta"]

    return ask


def test_a_row_is_as_documented(client, history):
    done = client.finish()
    (row,), meta = history()
    assert row["id"] == done["id"]
    assert row["model"] == "sandbox/picture"
    assert row["requestType"] == "image"
    assert row["status"] == "completed"
    assert row["cost"] == row["clientCost"] == "5.0000"
    assert row["createdAt"].endswith("Z")
    assert row["generationTimeMs"] == 40
    assert meta == {"page": 1, "limit": 50, "total": 1}


def test_a_row_gives_away_neither_prompt_nor_work(client, history):
    client.finish(work="image:secret")
    text = str(history())
    assert "fox" not in text
    assert "secret" not in text


def test_newest_first_unless_asked_otherwise(client, history):
    ids = [client.submit(work=f"image:{number}").json()["id"] for number in range(3)]
    assert [row["id"] for row in history()[0]] == ids[::-1]
    assert [row["id"] for row in history(sortBy="createdAt", sortOrder="asc")[0]] == ids


def test_pages(client, history):
    ids = [client.submit(work=f"image:{number}").json()["id"] for number in range(5)]
    rows, meta = history(page=2, limit=2, sortOrder="asc")
    assert [row["id"] for row in rows] == ids[2:4]
    assert meta == {"page": 2, "limit": 2, "total": 5}


@pytest.mark.parametrize(
    ("status", "expected"),
    [("completed", {"ok"}), ("failed", {"fail", "cancelled"}), ("pending", {"slow_40"})],
)
def test_filter_by_status(start_sandbox, status, expected):
    client = start_sandbox(minute=60)
    client.submit("slow_40")
    names = {client.finish(fault)["id"]: fault for fault in ("ok", "fail", "cancelled")}
    items = client.get("/v1/history/generations", status=status).json()["items"]
    assert {names.get(row["id"], "slow_40") for row in items} == expected


def test_filter_by_time(client, history):
    client.submit()
    executed_at = client.ledger()["generations"][0]["executed_at"]
    before = datetime.fromtimestamp(executed_at - 1, UTC).isoformat()
    after = datetime.fromtimestamp(executed_at + 1, UTC).isoformat()
    assert history(dateFrom=before, dateTo=after)[1]["total"] == 1
    assert history(dateTo=before)[1]["total"] == 0
    assert history(dateFrom=after)[1]["total"] == 0


def test_filter_by_request_type(client, history):
    client.submit()
    assert history(requestType="image")[1]["total"] == 1
    assert history(requestType="video")[1]["total"] == 0


def test_sorted_by_cost(client, history):
    client.finish("fail")
    client.finish("ok")
    client.finish("cancelled")
    costs = [row["cost"] for row in history(sortBy="cost", sortOrder="asc")[0]]
    assert costs == ["0.0000", "0.0000", "5.0000"]


def test_a_key_sees_its_own_generations_only(client, history):
    client.submit(key={"Authorization": "Bearer another"})
    assert history()[1]["total"] == 0


def lose(client, fault, work="image:1"):
    with client.send_raw(fault, work) as connection, pytest.raises(ConnectionResetError):
        connection.recv(1)


def test_a_run_may_be_listed_three_minutes_late(start_sandbox):
    client = start_sandbox(minute=60)
    lose(client, "list_lag")
    assert client.listed() == []
    client.server.stop()
    again = start_sandbox(minute=0.2)
    rows, (run,) = wait_until(again.listed), again.ledger()["generations"]
    assert time.time() >= run["executed_at"] + 3 * 0.2
    assert [row["id"] for row in rows] == [run["id"]]


def test_a_list_may_fail_twice(client):
    lose(client, "list_fails")
    replies = [client.get("/v1/history/generations") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [500, 500, 200]
    assert replies[0].json()["error"]["code"] == "INTERNAL_ERROR"
    assert replies[2].json()["meta"]["total"] == 1


def test_a_list_without_the_run_does_not_fail(client):
    lose(client, "list_fails")
    assert client.get("/v1/history/generations", dateTo="2020-01-01").ok


def test_two_runs_may_look_alike(client):
    lose(client, "list_two")
    first, second = client.get("/v1/history/generations").json()["items"]
    assert first["id"] != second["id"]
    assert (first["model"], first["apiKeyShort"]) == (second["model"], second["apiKeyShort"])


def test_the_look_alike_is_none_of_the_works_runs(client):
    lose(client, "list_two")
    assert client.booked() == (1, 1)
    assert client.booked("a look-alike of image:1") == (1, 1)


def test_a_foreign_list_is_of_another_page_then_of_another_day_then_right(client, history):
    with pytest.raises(requests.ConnectionError):
        client.submit("list_foreign")
    run = client.ledger()["generations"][0]["id"]
    since = datetime.now(UTC) - timedelta(hours=1)
    first, second, third = (history(dateFrom=since.isoformat()) for _ in range(3))
    assert (first[0], first[1]["page"], first[1]["total"]) == ([], 2, 0)
    assert datetime.fromisoformat(second[0][0]["createdAt"]) < since
    assert [row["id"] for row in third[0]] == [run]


@pytest.mark.parametrize(
    "query",
    [
        {"page": "0"},
        {"page": "x"},
        {"limit": "101"},
        {"dateFrom": "yesterday"},
        {"status": "lost"},
        {"sortBy": "mood"},
        {"sortOrder": "up"},
    ],
)
def test_bad_queries_are_refused(query):
    with pytest.raises(Refusal) as refused:
        read_history_page(query)
    assert refused.value.status == 400


def test_one_row_by_id(client):
    done = client.finish("fail_billed")
    row = client.get(f"/v1/history/generations/{done['id']}").json()
    assert (row["id"], row["status"], row["clientCost"]) == (done["id"], "failed", "5.0000")


def test_a_failure_to_be_taken_back_claims_to_be_free(client):
    generation_id = client.submit("failed_then_completed").json()["id"]
    client.wait_for(generation_id, "failed")
    row = client.get(f"/v1/history/generations/{generation_id}").json()
    assert (row["status"], row["clientCost"]) == ("completed", "5.0000")


def test_the_balance_falls_by_what_is_charged(client):
    before = Decimal(client.get("/v1/balance").json()["amount"])
    client.submit("ok")
    client.submit("fail")
    assert before - Decimal(client.get("/v1/balance").json()["amount"]) == 5


def test_an_instant_without_a_zone_is_utc():
    page = read_history_page({"dateFrom": "2026-09-21T14:13:20"})
    assert page.since == datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC).timestamp()
    assert page.until > time.time()
