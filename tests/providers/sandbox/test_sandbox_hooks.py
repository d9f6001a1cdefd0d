"""What the sandbox reports by webhook: when, how often, signed how, and to whom never."""

import json
import queue
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from providers.sandbox.webhooks import Signer, is_on_this_machine
from tests.providers.sandbox.conftest import PATIENCE

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LOST = ("hook_ok", "hook_dup", "hook_early", "hook_late")


class Site(ThreadingHTTPServer):
    """Takes webhooks and keeps them as (path, headers, body); answers with `statuses` in turn."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Taker)
        self.taken, self.statuses = queue.Queue(), queue.Queue()
        self.came_at = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hooks/sandbox/token/"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def next(self):
        return self.taken.get(timeout=PATIENCE)


class Taker(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.came_at.append(time.time())
        self.server.taken.put((self.path, self.headers, body))
        status = 204 if self.server.statuses.empty() else self.server.statuses.get()
        self.send_response(status)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def site():
    site = Site()
    yield site
    site.shutdown()
    site.server_close()


def order(client, fault, site):
    """Submit with this fault; True when the answer came."""
    try:
        client.submit(fault, input={"callBackUrl": site.url})
    except requests.ConnectionError:
        return False
    return True


@pytest.mark.parametrize("fault", LOST)
def test_the_answer_is_lost_and_the_run_is_reported(client, site, fault):
    assert not order(client, fault, site)
    path, _, body = site.next()
    assert path == "/hooks/sandbox/token/"
    assert json.loads(body)["id"] == client.ledger()["generations"][0]["id"]
    assert client.booked() == (1, 1)


def test_an_early_report_comes_before_the_end_of_the_submit(client, site):
    order(client, "hook_early", site)
    _, _, body = site.taken.get_nowait()
    assert json.loads(body)["status"] == "pending"


def test_a_doubled_report_comes_three_times_alike(client, site):
    order(client, "hook_dup", site)
    bodies = {site.next()[2] for _ in range(3)}
    assert len(bodies) == 1
    assert json.loads(bodies.pop())["status"] == "completed"


def test_a_late_report_comes_after_20_of_its_minutes(start_sandbox, site):
    client = start_sandbox(minute=0.02)
    order(client, "hook_late", site)
    assert json.loads(site.next()[2])["status"] == "completed"
    assert site.came_at[0] >= client.ledger()["generations"][0]["executed_at"] + 20 * 0.02


def test_a_failure_is_taken_back_only_after_it_was_told(client, site):
    assert order(client, "failed_then_completed", site)
    run = client.ledger()["generations"][0]["id"]
    client.wait_for(run, "failed")
    assert json.loads(site.next()[2])["status"] == "completed"


def test_a_report_is_repeated_while_the_site_is_away(client, site):
    site.statuses.put(503)
    order(client, "hook_ok", site)
    assert site.next()[2] == site.next()[2]


def test_a_wrong_address_is_another_one_of_the_same_site(client, site):
    assert order(client, "hook_unknown", site)
    path, _, _ = site.next()
    assert path.startswith("/hooks/sandbox/")
    assert path != "/hooks/sandbox/token/"


def test_a_forged_report_names_a_run_that_does_not_exist(client, site):
    assert order(client, "hook_bad_sig", site)
    named = json.loads(site.next()[2])["id"]
    assert client.poll(named).status_code == 404


@pytest.mark.parametrize("fault", ["ok", "drop_after", "json_5xx"])
def test_other_faults_report_nothing(client, site, fault):
    order(client, fault, site)
    order(client, "hook_ok", site)
    site.next()
    assert site.taken.empty()


def test_without_an_address_nothing_is_reported(client):
    with pytest.raises(requests.ConnectionError):
        client.submit("hook_early")
    assert client.booked() == (1, 1)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/x", "https://[::1]/x", "http://localhost/x", "http://127.9.9.9/"]
)
def test_this_machine_is_reported_to(url):
    assert is_on_this_machine(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://127.0.0.1/x",
        "http://10.0.0.1/x",
        "https://example.org/x",
        "http://localhost.example.org/x",
        "http://127.0.0.1@example.org/x",
        "http://[::1/x",
        "http://127.0.0.1:port/x",
        "http:///x",
    ],
)
def test_no_other_is(url):
    assert not is_on_this_machine(url)


def test_an_address_that_is_no_text_is_refused(client):
    reply = client.submit("ok", input={"callBackUrl": 7})
    assert (reply.status_code, reply.json()["error"]["code"]) == (422, "VALIDATION_ERROR")


def test_its_key_set_is_that_of_its_signer(start_sandbox):
    signer = Signer("ED25519", SECRET)
    client = start_sandbox(signer=signer)
    assert client.get("/.well-known/jwks.json").json() == signer.jwks()
