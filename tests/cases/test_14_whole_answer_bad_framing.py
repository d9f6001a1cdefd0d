"""An answer that arrived whole is used although its framing is wrong: the paid picture comes."""

import pytest

from tests.cases.delivering import colours_of, deliver  # noqa: F401
from tests.cases.odd_provider import OddProvider, colour_of
from tests.providers.messages import ACCEPTED, AFTER, CHUNKS, ENCODINGS, HEADS, LENGTHS

pytestmark = pytest.mark.django_db

ALL = LENGTHS | CHUNKS | ENCODINGS | HEADS | AFTER
WHOLE = [name for name, way in ALL.items() if way.submit == ACCEPTED]


@pytest.mark.parametrize("name", WHOLE)
def test_picture_is_delivered_however_its_answers_are_framed(deliver, name):  # noqa: F811
    with OddProvider(way=ALL[name]) as provider:
        job = deliver(provider)
    assert (job.state, colours_of(job)) == ("ready", [colour_of("p7")])


@pytest.mark.parametrize("name", ["two_objects", "gzip_cut", "status_garbage", "head_cut"])
def test_where_nothing_can_be_read_it_stays_in_doubt(deliver, name):  # noqa: F811
    with OddProvider(way=ALL[name]) as provider:
        job = deliver(provider)
    assert (job.state, job.attempt.state) == ("in_doubt", "pending")
