"""Answers that arrive whole and are wrapped in an odd way, as they look on the wire."""

import json
import re

import pytest

from providers.sandbox.framing import FRAMINGS, INTERIM


def ask(client, request: bytes) -> bytes:
    """All that comes back on a connection that the client uses for one request."""
    with client.open_socket() as connection:
        connection.sendall(request)
        received = b""
        while b'"created"' not in received and b"IEND" not in received and b"items" not in received:
            received += connection.recv(65536)
        connection.settimeout(0.2)
        try:
            while more := connection.recv(65536):
                received += more
        except TimeoutError:
            pass
        return received


def submit(client, fault: str) -> bytes:
    body = json.dumps(client.order()).encode()
    return ask(
        client,
        b"POST /v1/media HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer a-key\r\n"
        b"X-Sandbox-Fault: %s\r\nX-Sandbox-Work: image:1\r\nContent-Length: %d\r\n\r\n%s"
        % (fault.encode(), len(body), body),
    )


def get(client, path: str) -> bytes:
    head = f"GET {path} HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer a-key\r\n\r\n"
    return ask(client, head.encode())


def poll_of(client, submitted: bytes) -> bytes:
    return get(client, f"/v1/media/{run_in(submitted)}")


def run_in(received: bytes) -> str:
    return re.search(rb"gen_\d{18}", received)[0].decode()


@pytest.mark.parametrize("fault", FRAMINGS)
def test_every_byte_of_a_submit_and_of_a_poll_arrives(anywhere, fault):
    submitted = submit(anywhere, fault)
    for received in (submitted, poll_of(anywhere, submitted)):
        answer, _ = json.JSONDecoder().raw_decode(received[received.index(b"{") :].decode())
        assert answer["id"] == run_in(submitted)
    assert anywhere.booked() == (1, 1)


def test_the_end_mark_is_missing(client):
    received = submit(client, "answer_no_end")
    assert b"Transfer-Encoding: chunked" in received
    assert received.endswith(b"}\r\n")


def test_two_bytes_more_are_announced_than_sent(client):
    head, _, body = submit(client, "answer_too_long").partition(b"\r\n\r\n")
    assert int(re.search(rb"Content-Length: (\d+)", head)[1]) == len(body) + 2


def test_plain_text_is_called_compressed(client):
    head, _, body = submit(client, "answer_called_gzip").partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert json.loads(body)["id"]


def test_an_answer_comes_twice_on_a_connection_that_stays_open(client):
    received = submit(client, "answer_twice")
    half = len(received) // 2
    assert received[:half] == received[half:]


def test_bytes_are_left_over_after_the_answer(client):
    head, _, rest = submit(client, "answer_rest").partition(b"\r\n\r\n")
    length = int(re.search(rb"Content-Length: (\d+)", head)[1])
    assert json.loads(rest[:length])
    assert rest[length:]


def test_interim_answers_come_before_each_real_one(client):
    submitted = submit(client, "interim")
    client.wait_for(run_in(submitted), "completed")
    for received in (
        submitted,
        poll_of(client, submitted),
        get(client, "/v1/history/generations"),
        get(client, f"/f/{run_in(submitted)}.png"),
    ):
        assert received.startswith(b"".join(INTERIM))
        assert received.count(b"HTTP/1.1 200") + received.count(b"HTTP/1.1 201") == 1
