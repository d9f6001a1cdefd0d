"""The server itself: keep-alive, many at once, its end, and the record that outlives it."""

import socket
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
import urllib3

from providers.sandbox.bill import Bill
from providers.sandbox.server import SandboxServer
from tests.providers.sandbox.conftest import PATIENCE
from tests.site_process import wait_until


def read_to_the_end(held):
    """Fails by the connection's own timeout, if the server still holds it."""
    read = getattr(held, "recv", None) or held.read
    try:
        while read(65536):
            pass
    except (TimeoutError, urllib3.exceptions.ReadTimeoutError):
        pytest.fail("the server still holds the connection")
    except (OSError, urllib3.exceptions.HTTPError):
        return


def test_a_connection_serves_many_requests(client):
    with client.open_socket() as connection:
        for _ in range(3):
            connection.sendall(b"GET /_ledger HTTP/1.1\r\nHost: sandbox\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 OK")


def test_many_submits_at_once_are_all_on_the_bill(client):
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda n: client.submit(work=f"image:{n % 8}"), range(160)))
    ids = {reply.json()["id"] for reply in replies}
    bill = client.ledger()
    assert len(ids) == 160
    assert {row["id"] for row in bill["generations"]} == ids
    assert {len(asked) for asked in bill["asked"].values()} == {20}
    assert all(total == {"executions": 20, "charges": 20} for total in bill["works"].values())


def test_one_silent_handshake_holds_up_nobody(start_sandbox):
    client = start_sandbox("https")
    address = ("127.0.0.1", client.server.port)
    with socket.create_connection(address):
        assert client.submit().ok


def test_plain_http_to_the_tls_port_harms_nobody(start_sandbox):
    client = start_sandbox("https")
    with socket.create_connection(
        ("127.0.0.1", client.server.port), timeout=PATIENCE
    ) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert not connection.recv(4096).startswith(b"HTTP/1.1 200")
    assert client.submit().ok


def test_generations_survive_a_restart(start_sandbox):
    client = start_sandbox(seconds=0.2)
    generation_id = client.submit(work="image:5").json()["id"]
    client.server.stop()
    again = start_sandbox()
    assert again.booked("image:5") == (1, 1)
    assert again.wait_for(generation_id, "completed")["model"] == "sandbox/picture"


def test_a_failure_told_is_remembered_after_a_restart(start_sandbox):
    client = start_sandbox()
    generation_id = client.finish("failed_then_completed")["id"]
    client.server.stop()
    assert start_sandbox().poll(generation_id).json()["status"] == "completed"


def test_a_late_output_is_not_delayed_again_by_a_restart(start_sandbox):
    client = start_sandbox()
    generation_id = client.finish("late_output")["id"]
    client.server.stop()
    assert start_sandbox().poll(generation_id).json()["data"]


def test_submits_seen_survive_a_restart(start_sandbox):
    client = start_sandbox()
    client.submit("http_429_once")
    client.server.stop()
    assert start_sandbox().submit("http_429_once").ok


@pytest.mark.parametrize("fault", ["hang_after", "drip"])
def test_a_stop_ends_held_connections(anywhere, fault):
    with anywhere.send_raw(fault) as held:
        wait_until(lambda: anywhere.booked() == (1, 1))
        anywhere.server.stop()
        read_to_the_end(held)


def test_a_stop_ends_an_endless_file(client):
    with client.fetch(client.finish("result_huge"), stream=True) as held:
        client.server.stop()
        read_to_the_end(held.raw)


def test_a_stop_ends_idle_connections(client):
    with client.open_socket() as connection:
        connection.sendall(b"GET /_ledger HTTP/1.1\r\n\r\n")
        assert connection.recv(65536)
        client.server.stop()
        assert connection.recv(1) == b""


def test_a_stopped_server_refuses_connections(client):
    client.server.stop()
    with pytest.raises(requests.ConnectionError):
        client.submit()


def test_a_server_that_never_started_can_be_stopped(tmp_path):
    SandboxServer("127.0.0.1", 0, tmp_path / "bill.sqlite3").stop()


def test_a_busy_port_is_an_error_at_once(client, tmp_path):
    with pytest.raises(OSError, match="in use"):
        SandboxServer("127.0.0.1", client.server.port, tmp_path / "other.sqlite3")


def test_an_unwritable_bill_frees_the_port(tmp_path):
    with pytest.raises(sqlite3.Error):
        SandboxServer("127.0.0.1", 0, tmp_path / "missing" / "bill.sqlite3")


def test_what_cannot_be_billed_is_not_executed(client, tmp_path):
    with sqlite3.connect(tmp_path / "bill.sqlite3", isolation_level=None) as other:
        other.execute("DROP TABLE generations")
    other.close()
    reply = client.submit()
    assert reply.status_code == 503
    assert reply.json()["error"]["code"] == "SERVICE_UNAVAILABLE"


def test_a_bill_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    path, connect = tmp_path / "bill.sqlite3", sqlite3.connect
    Bill(path).close()
    read_only = f"file:{path}?mode=ro"
    monkeypatch.setattr(
        sqlite3, "connect", lambda _, **options: connect(read_only, uri=True, **options)
    )
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        Bill(path)
