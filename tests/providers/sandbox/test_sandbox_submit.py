"""Each fault of the submit does on the wire what it says, and books what the table says."""

import json
import socket
import time

import pytest
import requests

from providers.sandbox import wire
from providers.sandbox.faults import FAULTS, find_fault
from providers.sandbox.framing import FRAMINGS
from tests.providers.sandbox.conftest import PATIENCE
from tests.site_process import wait_until

REFUSALS = [
    ("http_401", 401, "UNAUTHORIZED"),
    ("http_402", 402, "INSUFFICIENT_FUNDS"),
    ("http_422", 422, "CONTENT_POLICY"),
    ("http_429", 429, "TOO_MANY_REQUESTS"),
    ("http_429_after", 429, "TOO_MANY_REQUESTS"),
    ("http_409", 409, "CONFLICT"),
    ("json_5xx", 500, "INTERNAL_ERROR"),
    ("json_5xx_executed", 500, "INTERNAL_ERROR"),
]
GATEWAY_PAGES = [
    (f"html_{status}{suffix}", status) for status in (502, 504, 524) for suffix in ("", "_executed")
]
LOST_LINES = {"drop_before", "drop_after", "cut_body", "cut_chunked", "header_id"}
LOST_LINES |= {"hook_ok", "hook_dup", "hook_early", "hook_late"}
LOST_LINES |= {"list_lag", "list_fails", "list_two", "list_foreign"}
ODD_LINES = {*FRAMINGS, "interim"}
HELD_LINES = {"hang_after", "drip"}
UNREAD = LOST_LINES | HELD_LINES | ODD_LINES | {"refuse"}
ANSWERED = [fault for fault in FAULTS if fault.name not in UNREAD]


def books(fault_name):
    fault = find_fault(fault_name)
    return fault.executions, fault.charges


def read_to_the_end(connection):
    """(bytes received, whether it ended by a reset)."""
    received = b""
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except OSError:
        return received, True
    return received, False


def test_a_submit_answers_with_the_pending_generation(anywhere):
    reply = anywhere.submit()
    answer = reply.json()
    assert reply.status_code in (200, 201)
    assert answer["id"].startswith("gen_")
    assert answer["object"] == "media.generation"
    assert answer["status"] == "pending"
    assert answer["model"] == "sandbox/picture"
    assert abs(answer["created"] - time.time()) < 60


@pytest.mark.parametrize(("fault", "status", "code"), REFUSALS)
def test_refusals_have_polzas_error_shape(client, fault, status, code):
    reply = client.submit(fault)
    assert reply.status_code == status
    assert reply.json()["error"]["code"] == code
    assert reply.json()["error"]["message"]
    assert reply.json()["error"]["trace_id"]
    assert client.booked() == books(fault)


@pytest.mark.parametrize(("fault", "status"), GATEWAY_PAGES)
def test_gateway_pages_are_html(anywhere, fault, status):
    reply = anywhere.submit(fault)
    assert reply.status_code == status
    assert reply.headers["Content-Type"] == "text/html"
    assert b"<html>" in reply.content
    assert anywhere.booked() == books(fault)


@pytest.mark.parametrize("fault", ["drop_before", "drop_after"])
def test_a_dropped_line_ends_without_a_byte(anywhere, fault):
    with anywhere.send_raw(fault) as connection:
        received, _ = read_to_the_end(connection)
    assert received == b""
    assert anywhere.booked() == books(fault)


def test_a_dropped_line_is_a_reset(client):
    with client.send_raw("drop_after") as connection, pytest.raises(ConnectionResetError):
        connection.recv(1)


def test_requests_reports_a_dropped_line_as_a_lost_connection(anywhere):
    with pytest.raises(requests.ConnectionError):
        anywhere.submit("drop_after")


def test_hang_after_executes_and_stays_silent(anywhere):
    with anywhere.send_raw("hang_after") as connection:
        wait_until(lambda: anywhere.booked() == books("hang_after"))
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)


def test_cut_body_promises_more_than_it_sends(anywhere):
    with anywhere.send_raw("cut_body") as connection:
        received, _ = read_to_the_end(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    promised = int(head.split(b"Content-Length: ")[1].split()[0])
    assert head.startswith(b"HTTP/1.1 200 ")
    assert 0 < len(body) < promised
    assert anywhere.booked() == books("cut_body")


def test_cut_chunked_never_sends_the_last_chunk(anywhere):
    with anywhere.send_raw("cut_chunked") as connection:
        received, _ = read_to_the_end(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert body
    assert b"0\r\n\r\n" not in body
    assert anywhere.booked() == books("cut_chunked")


def test_header_id_names_the_run_and_cuts_the_body(anywhere):
    with anywhere.send_raw("header_id") as connection:
        received, _ = read_to_the_end(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    promised = int(head.split(b"Content-Length: ")[1].split()[0])
    run = head.split(b"X-Generation-Id: ")[1].split()[0].decode()
    assert 0 < len(body) < promised
    assert anywhere.get(f"/v1/media/{run}").json()["id"] == run
    assert anywhere.booked() == books("header_id")
    assert anywhere.booked("a look-alike of image:1") == (1, 1)


@pytest.mark.parametrize("fault", ["cut_body", "cut_chunked", "header_id"])
def test_requests_cannot_read_a_cut_answer(client, fault):
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        client.submit(fault)


def test_drip_sends_one_byte_and_rests(anywhere, monkeypatch):
    monkeypatch.setattr(wire, "DRIP_PAUSE", 600)
    with anywhere.send_raw("drip") as connection:
        assert connection.recv(4096) == b"H"
    assert anywhere.booked() == books("drip")


def test_drip_is_the_whole_answer_in_the_end(anywhere, monkeypatch):
    monkeypatch.setattr(wire, "DRIP_PAUSE", 0.001)
    with anywhere.send_raw("drip") as connection:
        received, _ = read_to_the_end(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert json.loads(body)["status"] == "pending"


def test_a_redirect_points_elsewhere(client):
    reply = client.session.post(
        f"{client.url}/v1/media",
        json=client.order(),
        headers={**client.key, "X-Sandbox-Fault": "redirect_303", "X-Sandbox-Work": "image:1"},
        timeout=PATIENCE,
        allow_redirects=False,
    )
    assert reply.status_code == 303
    assert reply.headers["Location"]
    assert client.booked() == books("redirect_303")


@pytest.mark.parametrize(("fault", "wait"), [("http_429", None), ("http_429_after", "1")])
def test_too_busy_every_time(client, fault, wait):
    replies = [client.submit(fault), client.submit(fault)]
    assert [reply.status_code for reply in replies] == [429, 429]
    assert [reply.headers.get("Retry-After") for reply in replies] == [wait, wait]


def test_too_busy_once_executes_the_second_submit_only(client):
    assert client.submit("http_429_once").headers["Retry-After"] == "1"
    assert client.booked() == (0, 0)
    assert client.submit("http_429_once").ok
    assert client.booked() == books("http_429_once")


def test_too_busy_once_is_counted_by_work(client):
    client.submit("http_429_once", work="image:1")
    assert client.submit("http_429_once", work="image:2").status_code == 429


def test_refuse_is_no_business_of_the_server(client):
    assert client.submit("refuse").status_code == 400
    assert client.booked() == (0, 0)


@pytest.mark.parametrize("fault", ANSWERED, ids=lambda fault: fault.name)
def test_the_bill_holds_what_the_table_says(client, fault):
    client.submit(fault.name)
    if fault.name == "http_429_once":
        client.submit(fault.name)
    assert client.booked() == (fault.executions, fault.charges)


def test_the_bill_counts_submits_of_a_work(client):
    client.submit("html_502", work="image:7")
    client.submit(work="image:7")
    client.submit(work="image:8")
    assert len(client.ledger("image:7")["asked"]["image:7"]) == 2


@pytest.mark.parametrize("key", ["", "Bearer ", "Bearer wrong-key", "Basic abc"])
def test_a_submit_without_a_good_key_is_refused(client, key):
    reply = client.submit(key={"Authorization": key})
    assert reply.status_code == 401
    assert reply.json()["error"]["code"] == "UNAUTHORIZED"
    assert client.booked() == (0, 0)


def test_an_unknown_fault_is_refused(client):
    reply = client.submit("earthquake")
    assert reply.status_code == 400
    assert reply.json()["error"]["code"] == "BAD_REQUEST"
    assert client.booked() == (0, 0)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"model": ""}, 400),
        ({"model": 7}, 400),
        ({"input": {"prompt": " "}}, 400),
        ({"input": {"prompt": ["a"]}}, 400),
        ({"input": {"prompt": "x" * 20_001}}, 422),
        ({"input": {"prompt": "\ud800"}}, 422),
        ({"input": {"aspect_ratio": "7:1"}}, 422),
        ({"input": {"aspect_ratio": ["1:1"]}}, 422),
    ],
)
def test_bad_fields_are_refused(client, changes, status):
    reply = client.submit(**changes)
    assert reply.status_code == status
    assert reply.json()["error"]["message"]
    assert client.booked() == (0, 0)


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"model": "m", "input": 3}', b"\xff"])
def test_a_body_that_is_no_order_is_refused(client, body):
    reply = client.session.post(
        f"{client.url}/v1/media", data=body, headers=client.key, timeout=PATIENCE
    )
    assert reply.status_code == 400


def test_a_huge_request_is_refused_unread(client):
    with client.open_socket() as connection:
        connection.sendall(b"POST /v1/media HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")


def test_half_a_request_is_not_executed(client):
    with client.open_socket() as connection:
        connection.sendall(
            b"POST /v1/media HTTP/1.1\r\nAuthorization: Bearer k\r\nX-Sandbox-Work: image:1\r\n"
            b"Content-Length: 500\r\n\r\n{"
        )
        connection.shutdown(socket.SHUT_WR)
        assert read_to_the_end(connection)[0] == b""
    assert client.ledger("image:1")["asked"] == {}


def test_a_synchronous_submit_holds_until_the_picture_is_done(client):
    answer = client.submit(**{"async": False}).json()
    assert answer["status"] == "completed"
    assert answer["data"]


def test_a_synchronous_submit_gives_up_holding(start_sandbox, monkeypatch):
    monkeypatch.setattr("providers.sandbox.routes.HOLD_SYNC_FOR", 0.02)
    client = start_sandbox(seconds=60)
    assert client.submit(**{"async": False}).json()["status"] == "pending"
