"""A crowd of wrong sign-ins keeps neither cores nor connections from everybody else."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import requests
from django.contrib.auth import get_user_model, hashers
from django.contrib.auth.hashers import check_password, make_password
from django.db import connections

from jobs.people import passwords
from jobs.people.passwords import TooManyPasswords
from tests.jobs.conftest import text_of
from tests.web_process import web_process

CROWD = 48
OURS = [f"jobs.people.passwords.{name}" for name in ("PBKDF2", "PBKDF2SHA1", "Scrypt")]


def try_to_sign_in(web, number):
    """The status; the name is unknown, so that the dummy hash runs."""
    session, address = requests.Session(), f"http://127.0.0.1:{web.port}/sign-in"
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', session.get(address).text)[1]
    fields = {"username": f"name-{number}", "password": "wrong", "csrfmiddlewaretoken": token}
    return session.post(address, data=fields, headers={"Referer": address}, timeout=60).status_code


@pytest.mark.site
def test_a_strangers_first_page_is_fast_while_48_wrong_sign_ins_run(each_database, tmp_path):
    with web_process(each_database, tmp_path) as web, ThreadPoolExecutor(CROWD) as crowd:
        alone = min(web.get("/")[1] for _ in range(3))
        began = time.monotonic()
        tries = [crowd.submit(try_to_sign_in, web, number) for number in range(CROWD)]
        looks = []
        while not all(one.done() for one in tries) and len(looks) < 200:
            looks.append(web.get("/"))
        statuses = [one.result() for one in tries]
        crowd_lasted = time.monotonic() - began
    slowest = max(lasted for _status, lasted in looks)
    print(f"{each_database.vendor}: alone {alone:.3f} s, slowest of {len(looks)} {slowest:.3f} s")
    print(f"the crowd took {crowd_lasted:.3f} s")
    assert {status for status, _lasted in looks} == {200}
    assert set(statuses) <= {422, 503}
    # Without turns a page waited for nearly all of the hashes.
    assert slowest < crowd_lasted / 2


@pytest.fixture
def full(settings, monkeypatch):
    """Every turn is taken, and waits are short."""
    settings.PASSWORD_HASHERS = OURS
    monkeypatch.setattr(passwords, "WAIT_SECONDS", 0.05)
    with ExitStack() as taken:
        for _ in range(passwords.AT_ONCE):
            passwords._turns.acquire()
            taken.callback(passwords._turns.release)
        yield


@pytest.mark.parametrize("path", ["/sign-in", "/admin/login/"])
@pytest.mark.parametrize("name", ["ana", "nobody"])
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_whoever_gets_no_turn_reads_so_in_words(client, ana, full, path, name):
    response = client.post(path, {"username": name, "password": "ana's password"})
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert response._has_been_logged
    assert "Try again in a few seconds" in text_of(response)
    assert "ana's password" not in response.content.decode()


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_hash_holds_no_connection(settings, monkeypatch):
    settings.PASSWORD_HASHERS = OURS
    done = []
    monkeypatch.setattr(connections["default"], "close", lambda: done.append("close"))
    monkeypatch.setattr(hashers, "pbkdf2", lambda *a, **o: done.append("hash") or b"")
    get_user_model().objects.count()
    make_password("secret")
    assert done == ["close", "hash"]


@pytest.mark.django_db
def test_a_transaction_does_not_wait_for_a_turn(full):
    """It may be SQLite's only writer."""
    assert check_password("secret", make_password("secret"))


def test_of_those_who_wait_only_so_many_wait(full, monkeypatch):
    monkeypatch.setattr(passwords, "_waiting", threading.BoundedSemaphore(1))
    with passwords._waiting, pytest.raises(TooManyPasswords):
        make_password("secret")


@pytest.mark.parametrize("hasher", ["pbkdf2_sha256", "pbkdf2_sha1", "scrypt"])
def test_every_hasher_takes_a_turn(full, hasher):
    with pytest.raises(TooManyPasswords):
        make_password("secret", hasher=hasher)
