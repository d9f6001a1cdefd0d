"""The sandbox in this process, over http and over TLS, and a plain client for it."""

import socket
import ssl
from urllib.parse import urlsplit

import pytest
import requests
import trustme

from providers.sandbox.server import SandboxServer
from tests.site_process import wait_until

# For what comes at once, on a machine that is busy with other things.
PATIENCE = 30
SECONDS = 0.04
MINUTE = 0.005


class Client:
    """A client that speaks the documented contract and nothing more."""

    def __init__(self, server, ca_file):
        self.server, self.ca_file, self.url = server, ca_file, server.url
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = str(ca_file)
        self.key = {"Authorization": "Bearer a-key"}

    def order(self, **changes):
        wanted = {"prompt": "a fox in fog", "aspect_ratio": "1:1", **changes.pop("input", {})}
        return {"model": "sandbox/picture", "async": True, "input": wanted, **changes}

    def submit(self, fault="ok", work="image:1", key=None, **changes):
        headers = {**self.key, "X-Sandbox-Fault": fault, "X-Sandbox-Work": work, **(key or {})}
        return self.session.post(
            f"{self.url}/v1/media", json=self.order(**changes), headers=headers, timeout=PATIENCE
        )

    def get(self, path, **query):
        return self.session.get(
            f"{self.url}{path}", params=query, headers=self.key, timeout=PATIENCE
        )

    def poll(self, generation_id):
        return self.get(f"/v1/media/{generation_id}")

    def wait_for(self, generation_id, *statuses):
        """The first answer with one of these statuses; any other answer is asked again."""

        def look():
            try:
                reply = self.poll(generation_id)
            except requests.ConnectionError:
                return None
            is_there = reply.status_code == 200 and reply.json()["status"] in statuses
            return reply.json() if is_there else None

        return wait_until(look)

    def listed(self):
        """The history's rows."""
        return self.get("/v1/history/generations").json()["items"]

    def finish(self, fault="ok", **order):
        generation_id = self.submit(fault, **order).json()["id"]
        return self.wait_for(generation_id, "completed", "failed", "cancelled")

    def fetch(self, answer, **kwargs):
        """The picture's file, asked for without any key."""
        entries = answer["data"] if isinstance(answer["data"], list) else [answer["data"]]
        return self.session.get(
            entries[0]["url"], timeout=PATIENCE, allow_redirects=False, **kwargs
        )

    def ledger(self, work=None):
        query = {"work": work} if work else {}
        reply = self.session.get(f"{self.url}/_ledger", params=query, timeout=PATIENCE)
        return reply.json()

    def booked(self, work="image:1"):
        """(executions, charges) of the work."""
        total = self.ledger(work)["works"].get(work, {"executions": 0, "charges": 0})
        return total["executions"], total["charges"]

    def open_socket(self):
        parts = urlsplit(self.url)
        raw = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)
        if parts.scheme == "http":
            return raw
        context = ssl.create_default_context(cafile=str(self.ca_file))
        return context.wrap_socket(raw, server_hostname=parts.hostname)

    def send_raw(self, fault, work="image:1"):
        """A socket on which the whole submit was sent and nothing read."""
        order = requests.Request("POST", f"{self.url}/v1/media", json=self.order()).prepare()
        head = (
            "POST /v1/media HTTP/1.1\r\nHost: sandbox\r\nAuthorization: Bearer a-key\r\n"
            f"X-Sandbox-Fault: {fault}\r\nX-Sandbox-Work: {work}\r\n"
            f"Content-Length: {len(order.body)}\r\n\r\n"
        )
        connection = self.open_socket()
        connection.sendall(head.encode() + order.body)
        return connection


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """The files (authority, certificate, key) of a site on 127.0.0.1."""
    folder = tmp_path_factory.mktemp("certificate")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    issued.private_key_pem.write_to_path(folder / "key.pem")
    return folder / "ca.pem", folder / "cert.pem", folder / "key.pem"


@pytest.fixture
def start_sandbox(tmp_path, certificate):
    """Starts sandboxes on one bill; all of them and their clients end with the test."""
    ca_file, *tls = certificate
    clients = []

    def start(scheme="http", **timing):
        server = SandboxServer(
            "127.0.0.1",
            0,
            tmp_path / "bill.sqlite3",
            tls=tuple(tls) if scheme == "https" else None,
            **{"seconds": SECONDS, "minute": MINUTE, **timing},
        )
        server.start()
        clients.append(Client(server, ca_file))
        return clients[-1]

    yield start
    for client in clients:
        client.session.close()
        client.server.stop()


@pytest.fixture(params=["http", "https"])
def anywhere(request, start_sandbox):
    """A client of a sandbox over http, then the same over TLS."""
    return start_sandbox(request.param)


@pytest.fixture
def client(start_sandbox):
    return start_sandbox()
