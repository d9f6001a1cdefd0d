"""No burst opens a rule that guards a secret: what the store elsewhere leaves unmeasured counts in
this process."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import requests

from jobs.web.limits import PASSWORD_RESET, POSTED, SECOND_FACTOR, SIGN_IN, SIGN_IN_NAME, SIGN_UP
from quotas.ratelimit import bypassed
from quotas.ratelimit.breaker import GuardedStore
from quotas.ratelimit.limiter import Limiter, Rule, Window, in_memory, in_redis
from tests.quotas.broken_store import WAYS, relay_to
from tests.web_process import web_process

CROWD, MOST = 48, SIGN_IN_NAME.most
NAME = Window(SIGN_IN_NAME, "name ana")


@pytest.mark.site
@pytest.mark.redis
def test_of_48_sign_ins_at_one_name_no_more_than_20_are_tried(sqlite_database, tmp_path, redis_url):
    """Sent by people without cookies, while Redis is healthy."""
    redis = {"RATE_LIMITS": "REDIS", "REDIS_URL": redis_url}
    with web_process(sqlite_database, tmp_path, **redis) as web, ThreadPoolExecutor(CROWD) as crowd:
        address = f"http://127.0.0.1:{web.port}/sign-in"
        form = requests.get(address, timeout=60)
        token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', form.text)[1]
        fields = {"username": "ana", "password": "wrong", "csrfmiddlewaretoken": token}

        def post(_number):
            cookies = {"csrftoken": form.cookies["csrftoken"]}
            return requests.post(address, fields, cookies=cookies, timeout=60).status_code

        statuses = list(crowd.map(post, range(2 * CROWD)))
    tried = sum(1 for status in statuses if status != 429)
    print(f"{tried} of {len(statuses)} tried")
    assert tried <= MOST


def burst(limits, window=NAME, many=CROWD):
    """How many of a crowd are let through."""
    with ThreadPoolExecutor(CROWD) as crowd:
        return list(crowd.map(lambda _: limits.check([window]), range(many))).count(None)


@pytest.mark.redis
@pytest.mark.parametrize("way", ["through", *WAYS])
def test_a_store_in_any_state_lets_no_more_than_the_rule_through(redis_url, settings, way):
    settings.Q_CLUSTER = {"name": f"test-{uuid.uuid4()}"}
    with relay_to(redis_url) as relay:
        limits = in_redis(relay.url)
        relay.way = way
        relay.drop()
        assert burst(limits) == MOST


class Late:
    """A store that measures some and leaves the others waiting too long, by turns."""

    def __init__(self):
        self.asked = 0

    def hit(self, item, identifier):
        self.asked += 1
        if self.asked % 2:
            raise TimeoutError
        return True


def limits_over(store):
    return Limiter(lambda rule: store, GuardedStore(budget=None), local=in_memory())


def test_what_was_measured_and_what_was_not_count_together():
    assert burst(limits_over(Late())) == MOST


def test_pages_stay_open_where_the_store_is_late():
    pages = Window(Rule("pages", 5, timedelta(minutes=1)), "visitor 1")
    assert burst(limits_over(Late()), pages) == CROWD


def test_only_where_memory_fails_too_a_try_passes_unmeasured(monkeypatch):
    limits = limits_over(Late())
    monkeypatch.setattr(limits._local, "_first_full", lambda windows: 1 / 0)
    assert burst(limits) == CROWD
    assert bypassed.tally.unflushed()


@pytest.mark.parametrize(
    "limit", [SIGN_IN, SIGN_UP, PASSWORD_RESET, SECOND_FACTOR], ids=lambda limit: limit.person.name
)
def test_every_rule_about_secrets_is_one_of_these(limit):
    assert limit.person.guards_secret
    assert limit.network.guards_secret
    assert not any(POSTED[name].person.guards_secret for name in ("new_picture", "upload"))
