"""Every process of a site gets over what becomes of its sessions, and finishes what was ordered."""

import re

import pytest
import requests

from tests.postgres_server import Server
from tests.site_orders import Desk

pytestmark = [pytest.mark.site, pytest.mark.postgres]


def states_of(desk: Desk) -> list[str]:
    return [job["state"] for job in desk.ask("report").values()]


def test_workers_ticker_and_live_pages_recover_by_themselves(start_site, postgres_database):
    server = Server(postgres_database.url)
    server.set("idle_session_timeout", "1s")
    site = start_site(DATABASE_URL=postgres_database.url, SANDBOX_SECONDS="1")
    desk = Desk(site.env)
    try:
        desk.ask("place", "while", "sessions", "end")
        server.end_sessions()
        server.set("default_transaction_read_only", "on")
        server.end_sessions()
        site.wait_until(lambda: not answers_ready(site))
        server.set("default_transaction_read_only", "off")
        site.wait_until(lambda: answers_ready(site), seconds=30)
        desk.close()
        desk.ask("place", "after")
        site.wait_until(lambda: states_of(desk) == ["ready"] * 4, seconds=60)
    finally:
        desk.close()
    audit = site.run("audit")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    traceback = re.search(r"(.*\n){3}.*(Traceback|  File \").*\n(.*\n){30}", site.logs())
    assert not traceback, traceback[0]


def answers_ready(site) -> bool:
    return requests.get(f"{site.url}/readyz", timeout=30).ok
