"""Interim answers are read and skipped, before every answer of a provider."""

import pytest

from tests.cases.delivering import colours_of, deliver  # noqa: F401
from tests.cases.odd_provider import OddProvider, colour_of
from tests.providers.messages import INTERIM, Way, first

pytestmark = pytest.mark.django_db

READ = [name for name, way in INTERIM.items() if way.poll]
MIXED = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX: y\r\n\r\nHTTP/1.1 103 Hints"
WAYS = {name: INTERIM[name] for name in READ} | {"mixed": Way(first(MIXED), then="waits")}


@pytest.mark.parametrize("name", WAYS)
def test_picture_is_delivered_behind_a_gateway_that_sends_them_first(deliver, name):  # noqa: F811
    with OddProvider(way=WAYS[name], spoils_pictures=True) as provider:
        job = deliver(provider)
    assert (job.state, colours_of(job)) == ("ready", [colour_of("p7")])
    assert job.attempt.state == "success"


@pytest.mark.parametrize("name", ["101", "101_then_answer", "103_alone", "103_endless"])
def test_where_no_final_answer_comes_the_submit_is_in_doubt(deliver, name):  # noqa: F811
    with OddProvider(way=INTERIM[name]) as provider:
        job = deliver(provider)
    assert (job.state, job.attempt.state) == ("in_doubt", "pending")
