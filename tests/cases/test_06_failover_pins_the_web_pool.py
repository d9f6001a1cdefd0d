"""After a failover the web process takes orders again within seconds, and says when it cannot."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.postgres_server import Server
from tests.site_process import wait_until
from tests.web_orders import order
from tests.web_process import Web, web_process

pytestmark = [pytest.mark.postgres, pytest.mark.site]

RECOVERS_WITHIN = 6.0


@pytest.fixture(scope="module")
def database(copy_postgres):
    with copy_postgres() as database:
        yield database


@pytest.fixture(scope="module")
def process(database, tmp_path_factory):
    with web_process(database, tmp_path_factory.mktemp("failover")) as web:
        yield web


@pytest.fixture
def server(database):
    """Healthy again after each test."""
    server = Server(database.url)
    yield server
    server.set("default_transaction_read_only", "off")
    server.set("idle_session_timeout", "0")
    server.end_sessions()


@pytest.fixture
def web(process, server):
    wait_until(lambda: order(process) == 303, seconds=RECOVERS_WITHIN, every=0.2)
    return process


def fill_pool(web: Web) -> None:
    with ThreadPoolExecutor(20) as browsers:
        pages = browsers.map(lambda _: web.get("/gallery")[0], range(60))
        assert set(pages) == {200}


def seconds_until_ordered(web: Web) -> float:
    started = time.monotonic()
    wait_until(lambda: order(web) == 303, seconds=RECOVERS_WITHIN, every=0.2)
    return time.monotonic() - started


def demote(web: Web, server: Server) -> None:
    server.set("default_transaction_read_only", "on")
    server.end_sessions()
    fill_pool(web)
    assert order(web) == 503


def test_orders_are_taken_again_after_a_failover(web, server):
    demote(web, server)
    server.set("default_transaction_read_only", "off")
    assert seconds_until_ordered(web) < RECOVERS_WITHIN


def test_sessions_that_were_ended_are_replaced_before_anybody_meets_one(web, server):
    fill_pool(web)
    server.end_sessions()
    assert [order(web) for _ in range(5)] == [303] * 5


def test_an_idle_timeout_of_the_server_costs_no_order(web, server):
    server.set("idle_session_timeout", "100ms")
    server.end_sessions()
    assert [order(web) for _ in range(2)] == [303] * 2
    wait_until(lambda: server.sessions() == 0)
    assert order(web) == 303


def test_a_refused_order_leaves_one_line_and_no_traceback(web, server):
    before = len(web.logs())
    demote(web, server)
    logs = web.logs()[before:]
    assert "File " not in logs
    assert logs.count("The database cannot be used") == 1


def test_readyz_says_that_nothing_can_be_ordered_and_recovers_by_itself(web, server):
    demote(web, server)
    assert not writes(web)
    server.set("default_transaction_read_only", "off")
    wait_until(lambda: writes(web), seconds=RECOVERS_WITHIN, every=0.2)


def writes(web: Web) -> bool:
    answer = requests.get(f"http://127.0.0.1:{web.port}/readyz", timeout=20).json()
    said = "The database accepts no writes, so no picture can be requested."
    assert answer["database"]
    assert answer["writes"] != (said in answer["missing"])
    return answer["writes"]
