"""Case 01: a run is reported complete before its output is listed, or in a shape of its own."""

import json
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import settings as settings_of_test
from hypothesis import strategies as st

from jobs.core.models import Stage, UnreadResult
from jobs.engine import incoming
from jobs.ops import audit
from jobs.processes import ticker
from providers.adapters.polza import adapter
from providers.adapters.polza.adapter import Polza
from providers.adapters.run_queries import poll_run
from providers.calls import poll_times
from providers.calls.models import Call
from providers.outcomes import Cause, Done, Failed, NoOutput
from quotas.models import Alert
from tests import working
from tests.adapter_limits import RETENTION
from tests.fakes import png
from tests.providers.scripted import answer_bytes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

COST = {"cost_rub": 1.5}


@pytest.fixture
def gateway(order, fake, monkeypatch, settings, serve, tmp_path):
    """A provider on the wire: `says` is what the next polls answer as `data`, the last one again
    and again; `/files/...` is a picture."""
    settings.MEDIA_ROOT = tmp_path / "media"
    said: list[object] = []

    def answer(line):
        path = line.read_head().split()[1]
        if path.startswith("/files/"):
            line.send(answer_bytes(200, png(), Content_Type="image/png"))
            return
        data = said.pop(0) if len(said) > 1 else said[0]
        body = {"id": "run-1", "status": "completed", "usage": COST, "data": data}
        line.answer(200, json.dumps(body).encode(), Connection="close")

    server = serve(answer)
    adapter = Polza(name="fake", base_url=server.url, key="k")
    monkeypatch.setattr(fake, "poll", adapter.poll)
    monkeypatch.setattr(fake, "result_origins", adapter.result_origins)
    job = order()
    working.advance(job.pk)
    return SimpleNamespace(url=server.url, job=job, said=said, server=server)


def look(gateway):
    """One poll of the call and what follows from it, as the ticker and a worker do it."""
    call = Call.objects.get()
    ticker.follow_poll(call, poll_run("fake", "run-1", "brush-1"), timezone.now())
    working.advance(gateway.job.pk)
    gateway.job.refresh_from_db()
    return gateway.job.state, gateway.job.reason, gateway.job.attempt.__class__.objects.get().state


@pytest.mark.parametrize(
    "nothing", [None, [], {}, [{}], [None, {}], "", {"url": None}, {"url": ""}, [{"images": []}]]
)
def test_output_that_is_listed_later_is_delivered(gateway, clock, nothing):
    gateway.said += [nothing, nothing, nothing, {"url": f"{gateway.url}/files/g1"}]
    for _ in range(3):
        assert look(gateway) == ("running", "", "pending")
        clock.shift(timedelta(seconds=10))
    assert look(gateway) == ("ready", "", "success")
    assert Call.objects.get().cost == Decimal("1.5")


def test_nothing_for_two_minutes_fails_with_its_cost_and_its_slot_back(gateway, clock):
    gateway.said.append(None)
    look(gateway)
    clock.shift(timedelta(seconds=119))
    assert look(gateway) == ("running", "", "pending")
    clock.shift(timedelta(seconds=1))
    assert look(gateway) == ("failed", "no_output", "failed")
    assert (Call.objects.get().state, Call.objects.get().cost) == ("failed", Decimal("1.5"))


def test_wait_is_counted_from_the_row_and_not_stretched_by_a_clock_set_back(gateway, clock):
    gateway.said.append([])
    look(gateway)
    clock.shift(timedelta(hours=-5))
    look(gateway)
    clock.shift(timedelta(seconds=121))
    assert look(gateway) == ("failed", "no_output", "failed")


def test_it_is_asked_more_slowly_and_the_page_says_so(gateway, clock, ana_client, settings):
    gateway.said.append(None)
    look(gateway)
    call = Call.objects.get()
    assert poll_times.next_poll(call, timezone.now()) > timezone.now() + settings.POLL_EVERY * 2
    page = ana_client.get(f"/jobs/{gateway.job.pk}").content.decode()
    assert "lists no picture yet" in page


def test_run_that_goes_on_after_all_is_waited_for(gateway, clock):
    gateway.said.append(None)
    look(gateway)
    call = Call.objects.get()
    ticker.follow_poll(call, ticker.Running("processing"), timezone.now())
    clock.shift(timedelta(minutes=5))
    assert look(gateway) == ("running", "", "pending")


SHAPES = [
    ["{url}"],
    {"url": ["{url}"]},
    {"images": [{"url": "{url}"}]},
    {"image_url": {"url": "{url}"}},
    {"output": "{url}"},
    {"result": {"images": ["{url}"]}},
    {"url": "/files/g1"},
    {"url": " {url}\n"},
    ["/files/g1"],
    {"url": "{url}", "thumbnail_url": "https://thumbs.test/1.png"},
    [{"type": "thumbnail", "url": "https://thumbs.test/1.png"}, {"url": "{url}"}],
    {"input": {"image_url": "https://mine.test/in.png"}, "url": "{url}"},
]


@pytest.mark.parametrize("shape", SHAPES, ids=json.dumps)
def test_shape_that_can_be_read_is_delivered(gateway, shape):
    gateway.said.append(json.loads(json.dumps(shape).replace("{url}", f"{gateway.url}/files/g1")))
    assert look(gateway) == ("ready", "", "success")


UNREADABLE = [
    {"file_id": "file-8812"},
    {"url": "gs://bucket/1.png"},
    ["gen_8812"],
    42,
    {"thumbnail": "https://thumbs.test/1.png"},
    {"url": "https://a.test/1.png", "download_url": "https://b.test/2.png"},
    {"attachment": {"handle": "https://a.test/1"}},
]


@pytest.mark.parametrize("data", UNREADABLE, ids=json.dumps)
def test_shape_that_cannot_be_read_is_kept_in_doubt_for_staff(gateway, data):
    gateway.said.append(data)
    assert look(gateway) == ("in_doubt", "unread", "pending")
    kept = UnreadResult.objects.get()
    assert json.loads((ticker.settings.MEDIA_ROOT / kept.file).read_bytes())["data"] == data
    assert (Call.objects.get().state, Call.objects.get().cost) == ("succeeded", Decimal("1.5"))
    ticker.alarms.look(timezone.now())
    assert Alert.objects.get(kind="unread").closed_at is None
    assert list(audit.violations(timezone.now(), deep=True)) == []


def test_later_answer_that_can_be_read_is_delivered(gateway, clock):
    gateway.said += [{"file_id": 7}, {"file_id": 7}, {"url": f"{gateway.url}/files/g1"}]
    assert look(gateway) == ("in_doubt", "unread", "pending")
    clock.move_to(Stage.objects.get(name="save").due_at)
    working.advance(gateway.job.pk)
    gateway.job.refresh_from_db()
    assert gateway.job.state == "ready"
    assert UnreadResult.objects.get().resolved_at


def test_unreadable_result_frees_its_slot_at_the_end_of_retention(gateway, clock, settings):
    gateway.said.append({"file_id": 7})
    look(gateway)
    clock.shift(RETENTION)
    working.advance(gateway.job.pk)
    gateway.job.refresh_from_db()
    assert (gateway.job.state, gateway.job.reason) == ("failed", "not_fetched")
    assert UnreadResult.objects.count() == 1


def test_good_result_among_bad_ones_is_delivered_and_the_bad_are_kept(gateway):
    gateway.said.append([{"odd": "1"}, {"url": f"{gateway.url}/files/g1"}])
    assert look(gateway) == ("ready", "", "success")
    assert UnreadResult.objects.get().resolved_at is None


def completed(**more):
    body = {"id": "g", "status": "completed", **more}
    return adapter._read_polled(body, "https://p.test/api")


@pytest.mark.parametrize(
    "error", [None, "", {}, [], "null", {"code": None, "message": ""}, {"details": [{}]}], ids=str
)
def test_error_that_says_nothing_is_none(error):
    assert isinstance(completed(data=None, error=error), NoOutput)
    assert isinstance(completed(data=["https://a.test/1.png"], error=error), Done)


@pytest.mark.parametrize("word", ["COMPLETED", "Completed", " completed\n"])
def test_word_for_the_state_is_read_in_any_case(word):
    assert isinstance(completed(status=word, data=None), NoOutput)


def test_data_of_any_depth_are_kept_for_staff():
    data = json.loads('{"a":' * 800 + "1" + "}" * 800)
    assert completed(data=data).unread


def test_text_without_end_is_no_address_and_takes_no_time():
    assert completed(data=".png?" * 200_000 + "\x0bz").unread


def test_cost_of_an_interim_answer_is_kept_where_the_last_says_none(gateway, clock):
    gateway.said.append(None)
    look(gateway)
    assert Call.objects.get().cost == Decimal("1.5")
    call = Call.objects.get()
    incoming.apply(call, Failed(Cause("provider")), timezone.now())
    call.refresh_from_db()
    assert (call.state, call.cost) == ("failed", Decimal("1.5"))


def test_last_answer_says_what_a_run_costs(gateway):
    gateway.said.append(None)
    look(gateway)
    incoming.apply(Call.objects.get(), Failed(Cause("provider"), Decimal(0)), timezone.now())
    assert Call.objects.get().cost == 0


def test_cost_that_is_said_after_the_result_is_kept(gateway, clock):
    incoming.apply(Call.objects.get(), Done((), None, "{}"), timezone.now())
    gateway.said.append({"url": f"{gateway.url}/files/g1"})
    working.advance(gateway.job.pk)
    assert Call.objects.get().cost == Decimal("1.5")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["url", "b64_json", "data", "images", "x", "type"]) | st.text(), inner
        )
    ),
    max_leaves=12,
)


@settings_of_test(max_examples=60)
@given(data=JSON)
def test_no_data_at_all_is_ever_a_failure(data):
    assert isinstance(completed(data=data), Done | NoOutput)
