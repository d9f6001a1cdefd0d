"""LOG_LEVEL=DEBUG writes no address with a secret, no key and no prompt."""

import copy
import io
import logging
import logging.config

import pytest
import redis
import requests
from django.db import connection
from django.test import Client
from django.urls import reverse

from config import logs
from jobs.alerts import alert_delivery
from providers.outcomes import Artifact
from providers.wire import download
from quotas.alerts import open_alert
from quotas.models import Alert, AlertKind
from tests.providers.scripted import ScriptedServer
from tests.site_process import Site

MARK = "hunter2"


@pytest.fixture
def written(settings):
    """What a process at LOG_LEVEL=DEBUG has written to its console."""
    stream = io.StringIO()
    config = copy.deepcopy(logs.configure("DEBUG"))
    config["handlers"]["console"]["stream"] = stream
    logging.config.dictConfig(config)
    yield stream
    logging.config.dictConfig(settings.LOGGING)


@pytest.fixture
def server():
    servers = []

    def answer(*head: bytes) -> ScriptedServer:
        def script(line) -> None:
            line.read_request()
            line.send(b"\r\n".join(head))
            line.sock.close()

        servers.append(ScriptedServer(script))
        return servers[-1]

    yield answer
    for each in servers:
        each.stop()


OK = (b"HTTP/1.1 200 OK", b"Content-Length: 0", b"", b"")
# urllib3 warns of such headers and names the whole address.
SPOILED = (b"HTTP/1.1 200 OK", b"Content-Length: 0", b"no header", b"X: y", b"", b"")


@pytest.mark.django_db
@pytest.mark.parametrize("head", [OK, SPOILED], ids=["ok", "spoiled"])
def test_alert_url_and_signed_results_are_not_written(written, settings, server, now, head):
    settings.ALERT_URL = f"{server(*head).url}/{MARK}/room?sig={MARK}"
    open_alert(kind=AlertKind.SILENT, subject="ticker", words="", now=now)
    alert_delivery.post(Alert.objects.get())
    url = server(*head).url
    download.fetch(Artifact(url=f"{url}/{MARK}?sig={MARK}"), own_origins=frozenset({url}))
    logging.getLogger("jobs").debug("seen")
    assert "seen" in written.getvalue()
    assert MARK not in written.getvalue()


def test_nor_by_what_is_asked_of_requests_directly(written, server):
    requests.get(f"{server(*SPOILED).url}/{MARK}?sig={MARK}", timeout=10)
    assert MARK not in written.getvalue()


@pytest.mark.django_db
def test_prompts_and_statements_are_not_written(written, settings):
    settings.DEBUG = True
    connection.force_debug_cursor = True
    Client().post(reverse("new_picture"), {"prompt": MARK})
    Client(HTTP_HOST="evil.example").get(f"/?sig={MARK}")
    connection.force_debug_cursor = False
    assert MARK not in written.getvalue()


def test_passwords_of_stores_are_not_written(written):
    with pytest.raises(redis.RedisError):
        redis.Redis.from_url(f"redis://:{MARK}@127.0.0.1:1/0").ping()
    logging.getLogger("psycopg").debug("postgres://site:%s@127.0.0.1/x", MARK)
    assert MARK not in written.getvalue()


@pytest.mark.parametrize(
    "line",
    [
        f"asked https://rooms.example.org/{MARK}",
        f"asked https://rooms.example.org?sig={MARK}",
        f"asked https://user:{MARK}@rooms.example.org",
        f"asked redis://:{MARK}@127.0.0.1:6379/0 and",
        f"asked 'postgres://site:{MARK}@127.0.0.1/x'",
        f'"GET /files/picture.png?sig={MARK} HTTP/1.1" 200',
        f"Not Found: /hooks/polza/{MARK}/",
    ],
)
def test_an_address_in_a_line_is_cut_to_its_host(written, line):
    logging.getLogger("jobs").warning("%s", line)
    assert written.getvalue()
    assert MARK not in written.getvalue()


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING", "ERROR"])
def test_only_our_own_loggers_follow_the_level(level):
    loggers = logs.configure(level)["loggers"]
    assert {loggers[name]["level"] for name in logs.OURS} == {level}
    assert logs.configure(level)["root"]["level"] in ("WARNING", "ERROR")


@pytest.mark.site
def test_a_whole_site_at_debug_writes_no_secret(tmp_path, server):
    site = Site(
        tmp_path,
        LOG_LEVEL="DEBUG",
        SANDBOX_SECONDS="0.3",
        POLL_EVERY="0.2",
        MORE_PROVIDERS="second=polza",
        SECOND_API_KEY=MARK,
        ALERT_URL=f"{server(*OK).url}/{MARK}",
        PUBLIC_URL="http://localhost",
        TRUSTED_PROXIES="0",
    )
    try:
        site.start()
        assert site.run("generate", f"a fox, {MARK}", "--wait").returncode == 0
        tokens = [token for (token,) in site.ask("SELECT hook_token FROM providers_call")]
        assert tokens
        assert not [secret for secret in (MARK, *tokens) if secret in site.logs()]
    finally:
        site.stop()
