"""advance(): one payment a work, whatever is run again, dies or raises."""

import time
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings as site
from django.db import OperationalError
from django.utils import timezone

from jobs import outcomes
from jobs.core import leases
from jobs.core.models import Job, Picture, Stage
from jobs.engine import incoming, sending
from jobs.kinds import KINDS
from jobs.ops import audit
from jobs.pictures import follow, saving
from jobs.processes.ticker import set_aside, wake_due
from providers.calls.models import Call
from providers.calls.states import CallState
from providers.outcomes import Accepted, Artifact, Cause, Done, Failed, Rejected, Unknown
from providers.wire import download
from providers.wire.download import Fetched
from tests import rows, working
from tests.fakes import made

pytestmark = pytest.mark.django_db

ADDRESS = "https://files.fake.test/a.png"


def call_of(job: Job) -> Call:
    return Call.objects.of_work(f"image:{job.pk}").last()


def find_calls(job: Job) -> list[str]:
    return [call.state for call in Call.objects.of_work(f"image:{job.pk}")]


def ends(job: Job) -> tuple[str, str, str]:
    job = rows.again(job)
    return job.state, job.reason, job.attempt.state


def test_an_accepted_job_waits_without_a_lease(clock, order):
    job = order()
    working.advance(job.pk)
    stage = Stage.objects.get(job=job)
    assert ends(job) == ("running", "", "pending")
    assert call_of(job).state == "accepted"
    assert stage.lease_token is None
    assert stage.due_at == call_of(job).deadline_at


def test_a_picture_is_delivered_and_its_slot_used(clock, order, fake, settings):
    job = order()
    working.advance(job.pk)
    incoming.apply(call_of(job), made(), timezone.now())
    working.advance(job.pk)
    picture = rows.again(job).pictures.get()
    assert ends(job) == ("ready", "", "success")
    assert (settings.MEDIA_ROOT / picture.file).stat().st_size == picture.size
    assert (picture.width, picture.height, picture.media_type) == (8, 6, "image/png")
    assert call_of(job).cost == Decimal("5.00")


def test_running_it_again_sends_nothing_again(clock, order, fake):
    job = order()
    for _ in range(3):
        working.advance(job.pk)
        Stage.objects.update(due_at=timezone.now())
    assert len(fake.sent) == 1


def test_the_request_leaves_after_its_row_is_committed(clock, order, fake, monkeypatch):
    job = order()
    seen = []
    monkeypatch.setattr(
        fake, "submit", lambda request, **when: seen.append(find_calls(job)) or Accepted("run")
    )
    working.advance(job.pk)
    assert seen == [["sending"]]


def test_unknown_keeps_the_slot_and_is_in_doubt(clock, order, fake, settings):
    fake.submits = [Unknown(Cause("transport", rule="lost"))]
    job = order()
    working.advance(job.pk)
    assert ends(job) == ("in_doubt", "transport", "pending")
    assert call_of(job).poll_at == timezone.now() + settings.POLL_EVERY


def test_an_adapter_that_raises_leaves_an_unknown(clock, order, fake):
    fake.submits = [RuntimeError("bug")]
    job = order()
    working.advance(job.pk)
    assert ends(job) == ("in_doubt", "transport", "pending")
    assert call_of(job).rule == "adapter_raised"


def test_rejected_gives_the_slot_back_as_surely_free(clock, order, fake):
    fake.submits = [Rejected(Cause("balance", rule="refused"))]
    job = order()
    working.advance(job.pk)
    assert ends(job) == ("failed", "balance", "failed")
    assert rows.again(job).attempt.cost_nothing
    assert not Stage.objects.unfinished().exists()


@pytest.mark.parametrize(
    ("cost", "surely_free"), [(Decimal(0), True), (Decimal(5), False), (None, False)]
)
def test_a_confirmed_failure_counts_as_free_only_by_word(clock, order, cost, surely_free):
    job = order()
    working.advance(job.pk)
    incoming.apply(call_of(job), Failed(Cause("provider"), cost), timezone.now())
    assert ends(job) == ("failed", "provider", "failed")
    assert rows.again(job).attempt.cost_nothing is surely_free


def test_a_429_keeps_the_place_and_then_succeeds(clock, order, fake):
    fake.submits = [Rejected(Cause("rate", rule="too_many", retry_after=1.0)), Accepted("run")]
    job = order()
    working.advance(job.pk)
    assert ends(job) == ("queued", "", "pending")
    clock.shift(timedelta(seconds=3))
    working.advance(job.pk)
    assert ends(job) == ("running", "", "pending")
    assert find_calls(job) == ["rejected", "accepted"]


def test_a_429_fails_with_its_slot_back_after_pool_wait(clock, order, fake, settings):
    fake.submits = [Rejected(Cause("rate", rule="too_many"))] * 20
    job = order()
    for _ in range(20):
        working.advance(job.pk)
        clock.shift(timedelta(seconds=30))
    assert ends(job) == ("failed", "rate", "failed")
    assert len(fake.sent) == settings.POOL_WAIT // timedelta(seconds=30) + 1


def test_a_busy_provider_does_not_count_as_a_death_of_the_worker(clock, order, fake):
    fake.submits = [Rejected(Cause("rate", rule="too_many", retry_after=1.0))] * 2
    job = order()
    for _ in range(2):
        working.advance(job.pk)
        clock.shift(timedelta(seconds=10))
    assert Stage.objects.get().tries == 0


def test_a_sender_that_overslept_sends_again_at_once(clock, order, fake):
    fake.submits = [Rejected(Cause("transport", rule="send_window_missed")), Accepted("run")]
    job = order()
    working.advance(job.pk)
    assert ends(job) == ("running", "", "pending")
    assert find_calls(job) == ["rejected", "accepted"]


def test_a_cancelled_job_is_never_sent(clock, order, fake):
    job = order()
    assert outcomes.cancel(job.pk, timezone.now())
    working.advance(job.pk)
    assert fake.sent == []
    assert ends(job) == ("cancelled", "", "failed")
    assert not outcomes.cancel(job.pk, timezone.now())


def test_a_job_that_was_sent_cannot_be_cancelled(clock, order):
    job = order()
    working.advance(job.pk)
    assert not outcomes.cancel(job.pk, timezone.now())
    assert ends(job) == ("running", "", "pending")


def died_while_sending(job: Job, holder: str) -> None:
    """The rows as a worker leaves them that died between the commit and the answer."""
    lease = working.take(job.pk, timezone.now())
    opened = sending._open_somewhere(lease, KINDS["image"], timezone.now())
    assert isinstance(opened, Call)
    Stage.objects.update(lease_holder=holder)


def test_a_sender_known_dead_leaves_a_doubt_at_once(clock, order, fake, monkeypatch):
    job = order()
    died_while_sending(job, "dead")
    monkeypatch.setattr("jobs.core.holders.is_surely_dead", lambda holder: holder == "dead")
    Stage.objects.update(leased_until=timezone.now())
    working.advance(job.pk)
    assert ends(job) == ("in_doubt", "transport", "pending")
    assert call_of(job).rule == "sender_lost"
    assert fake.sent == []


def test_a_sleeping_sender_is_waited_for(clock, order, fake, settings):
    job = order()
    died_while_sending(job, "elsewhere/1/1/aa")
    clock.shift(settings.LEASE_LASTS)
    working.advance(job.pk)
    assert ends(job) == ("running", "", "pending")
    assert Stage.objects.get().due_at == call_of(job).answer_by
    clock.move_to(call_of(job).answer_by)
    working.advance(job.pk)
    assert ends(job) == ("in_doubt", "transport", "pending")


def test_the_answer_of_a_sender_taken_for_lost_still_counts(clock, order, fake):
    job = order()
    died_while_sending(job, "elsewhere/1/1/aa")
    incoming.apply(call_of(job), Unknown(Cause("transport", rule="sender_lost")), timezone.now())
    incoming.apply(call_of(job), Accepted("run"), timezone.now())
    assert ends(job) == ("running", "", "pending")
    assert call_of(job).reference == "run"


def test_an_exception_keeps_the_start_counted_and_waits(clock, order, fake, monkeypatch):
    job = order()
    broken = replace(KINDS["image"], stages={"generate": lambda lease: 1 / 0})
    monkeypatch.setitem(KINDS, "image", broken)
    working.advance(job.pk)
    stage = Stage.objects.get()
    assert (stage.tries, stage.due_at) == (1, timezone.now() + timedelta(minutes=1))


def test_the_third_death_without_a_call_fails_with_the_slot_back(clock, order, monkeypatch):
    job = order()
    broken = replace(KINDS["image"], stages={"generate": lambda lease: 1 / 0})
    monkeypatch.setitem(KINDS, "image", broken)
    for _ in range(3):
        working.advance(job.pk)
        clock.shift(timedelta(hours=1))
    assert ends(job) == ("failed", "config", "failed")


def test_a_sender_that_woke_in_time_keeps_the_job_from_failing_as_unsent(clock, order):
    job = order()
    working.advance(job.pk)
    stage = job.stages.get()
    follower = KINDS["image"].follower
    assert not outcomes.fail_unsent(stage, timezone.now(), follower, reason="config")
    assert ends(job) == ("running", "", "pending")


def test_a_killer_is_set_aside_for_growing_delays(clock, order, fake):
    job = order()
    died_while_sending(job, "dead")
    for tries, minutes in [(2, 1), (3, 5), (4, 30), (5, 60), (6, 60)]:
        Stage.objects.update(
            tries=tries, lease_token="0" * 32, leased_until=timezone.now(), due_at=None
        )
        set_aside(Stage.objects.get(), timezone.now())
        stage = Stage.objects.get()
        assert stage.due_at == timezone.now() + timedelta(minutes=minutes)
        assert stage.lease_token is None
    assert ends(job) == ("running", "", "pending")


def test_an_outage_while_recording_does_not_lose_the_id(clock, order, fake, monkeypatch):
    job = order()
    outages = [OperationalError("disk full"), OperationalError("read-only")]
    real = outcomes.apply

    def away_at_first(*args):
        if outages:
            raise outages.pop()
        return real(*args)

    monkeypatch.setattr(outcomes, "apply", away_at_first)
    hasty = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: None)
    monkeypatch.setattr("jobs.core.outages.time", hasty)
    monkeypatch.setattr("jobs.core.outages.connection.close", lambda: None)
    working.advance(job.pk)
    assert call_of(job).reference == "run-1"
    assert len(fake.sent) == 1


def test_a_disk_that_is_full_delays_the_picture(clock, order, fake, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "file"
    settings.MEDIA_ROOT.write_text("in the way")
    job = order()
    working.advance(job.pk)
    incoming.apply(call_of(job), made(), timezone.now())
    working.advance(job.pk)
    assert ends(job) == ("running", "", "pending")
    settings.MEDIA_ROOT.unlink()
    # The bytes came inside the answer, so the answer is requested again.
    fake.polls["run-1"] = made()
    clock.shift(timedelta(seconds=10))
    working.advance(job.pk)
    assert ends(job) == ("ready", "", "success")


def test_a_holder_that_lost_its_lease_delivers_nothing(clock, order, fake, settings):
    job = order()
    working.advance(job.pk)
    incoming.apply(call_of(job), made(), timezone.now())
    slept = working.take(job.pk, timezone.now())
    clock.shift(settings.LEASE_LASTS)
    other = working.take(job.pk, timezone.now())
    assert other is not None
    assert not follow.deliver(slept, [], timezone.now())
    assert not leases.release(slept, due_at=timezone.now())
    assert ends(job) == ("running", "", "pending")


def test_whoever_slept_over_a_download_writes_over_no_picture(clock, order, fake, monkeypatch):
    """Its provider may encode the file anew at each download."""
    job = order()
    working.advance(job.pk)
    incoming.apply(call_of(job), Done((Artifact(url=ADDRESS),), Decimal(5)), timezone.now())
    slept = working.take(job.pk, timezone.now())
    contents = iter((b"of the second", b"of the first"))

    def fetch(artifact, **_options):
        if timezone.now() < slept.stage.leased_until:
            clock.move_to(slept.stage.leased_until)
            working.advance(job.pk)
        return Fetched(next(contents), "image/png", "png", 8, 6)

    monkeypatch.setattr(download, "fetch", fetch)
    saving.save(slept)
    picture = Picture.objects.get()
    assert (Path(site.MEDIA_ROOT) / picture.file).read_bytes() == b"of the second"
    assert list(audit.violations(timezone.now(), deep=True)) == []


def test_a_late_result_is_delivered_and_the_attempt_stays(clock, order, fake, settings):
    fake.submits = [Unknown(Cause("transport"))]
    job = order()
    working.advance(job.pk)
    clock.shift(settings.LOST_RETENTION)
    assert incoming.give_up(call_of(job), timezone.now())
    assert ends(job) == ("not_confirmed", "deadline", "pending")
    recorded = incoming.apply(call_of(job), made(), timezone.now())
    assert recorded.late
    working.advance(job.pk)
    assert ends(job) == ("ready", "", "success")
    call = call_of(job)
    assert (call.state, call.late_outcome) == (CallState.GIVEN_UP, CallState.SUCCEEDED)


def test_waking_puts_no_more_into_the_queue_than_it_has_room_for(
    clock, order, enqueued, settings, monkeypatch
):
    settings.WORKERS = 1
    for number in range(6):
        order(str(number))
    Stage.objects.update(woken_at=None)
    enqueued.clear()
    wake_due(timezone.now())
    assert len(enqueued) == 4


def test_a_queue_that_takes_nothing_is_tried_once_a_tick(clock, order, monkeypatch):
    for number in range(3):
        order(str(number))
    Stage.objects.update(woken_at=None)
    tried = []
    monkeypatch.setattr("jobs.core.queue.enqueue", lambda job_id: bool(tried.append(job_id)))
    wake_due(timezone.now())
    assert len(tried) == 1
