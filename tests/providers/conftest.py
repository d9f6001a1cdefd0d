"""Providers whose every byte on the wire is scripted, and a public internet that is none."""

import socket
import ssl
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from urllib3.util import connection as urllib3_connection

from providers.adapters import run_queries
from providers.adapters.accounts import ProviderAccount
from providers.adapters.base import PictureRequest
from providers.adapters.polza.adapter import Polza
from providers.wire import http
from tests.providers.scripted import ScriptedServer

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
NAMES = ("127.0.0.1", "localhost", "provider.test", "pictures.test", "elsewhere.test")


@pytest.fixture(autouse=True)
def no_proxy_of_the_machine(monkeypatch):
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(autouse=True)
def fresh_polling_clients():
    """No kept connection reaches the next test."""
    yield
    for client in http._of_thread.__dict__.pop("clients", {}).values():
        client.session.close()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A certificate authority, its own certificate in a file."""
    authority = trustme.CA()
    authority.file = str(tmp_path_factory.mktemp("authority") / "ca.pem")
    authority.cert_pem.write_to_path(authority.file)
    return authority


@pytest.fixture(scope="session")
def tls_of(authority):
    """A server's TLS for the names given, by an authority."""

    def make(*names, by=authority):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        by.issue_cert(*names).configure_cert(context)
        return context

    return make


@pytest.fixture(scope="session")
def tls(tls_of):
    return tls_of(*NAMES)


@pytest.fixture
def serve(authority, tls, settings):
    """Starts scripted servers: serve(script, ..., scheme="https")."""
    settings.PROVIDER_CA_BUNDLE = authority.file
    started = []

    def start(*scripts, scheme="http", shake=True, certificate=tls):
        server = ScriptedServer(
            *scripts, tls=certificate if scheme == "https" else None, shake=shake
        )
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture(params=["http", "https"])
def scheme(request):
    return request.param


@pytest.fixture
def picture_request():
    return PictureRequest(work="image:1", model="google/model", prompt="a fox in fog")


@pytest.fixture
def submit(picture_request):
    """Submits one picture by the real adapter to an address."""

    def send(url, *, key="the-key", send_by=None):
        soon = datetime.now(UTC) + timedelta(seconds=30)
        polza = Polza(name="polza", base_url=f"{url}/api", key=key)
        return polza.submit(picture_request, send_by=send_by or soon)

    return send


@pytest.fixture
def account_at(settings):
    """account_at(url) is the name of a Polza account at that address."""

    def make(url):
        account = ProviderAccount(name="polza", adapter="polza", base_url=url, key="the-key")
        settings.PROVIDER_ACCOUNTS = {"polza": account}
        return account.name

    return make


@pytest.fixture
def poller(account_at):
    """poller(url) polls there, as the ticker does."""
    return lambda url: lambda reference: run_queries.poll_run(account_at(url), reference, "brush")


class ElsewhereSocket(socket.socket):
    """Connected to a server of the test, claiming to be connected to some other address."""

    claims = ""

    def getpeername(self):
        return self.claims, 443


class Internet:
    """Names, and the addresses that are found behind them one after another (the last for ever)."""

    def __init__(self, connect):
        self._connect = connect
        self._hosts = {}

    def put(self, name, server, *addresses):
        self._hosts[name] = (server, list(addresses))

    def connect(self, address, *args, **kwargs):
        name = address[0].strip("[]")
        if name not in self._hosts:
            assert name in ("127.0.0.1", "localhost"), f"a connection to {name} was tried"
            return self._connect(address, *args, **kwargs)
        server, addresses = self._hosts[name]
        sock = ElsewhereSocket(socket.AF_INET)
        sock.claims = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        sock.settimeout(30)
        sock.connect(("127.0.0.1", server.port))
        return sock


@pytest.fixture
def internet(monkeypatch):
    """Nothing leaves the machine: a name that no test has put here fails the test."""
    made = Internet(urllib3_connection.create_connection)
    monkeypatch.setattr(urllib3_connection, "create_connection", made.connect)
    return made
