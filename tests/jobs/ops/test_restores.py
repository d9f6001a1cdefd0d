"""What a restored database does not do again, for it may have been done since the backup."""

import os
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone
from django_q.models import OrmQ

from jobs.core.models import Lease, Stage
from jobs.kinds import KINDS
from jobs.ops import housekeeping, restores, smoke
from jobs.panels import build_panel
from jobs.processes.ticker import follow_poll
from providers.calls.models import Call, Restore
from providers.outcomes import Cause, Failed
from quotas import alerts
from quotas.models import Alert, AlertKind
from tests import rows, working
from tests.fakes import OFFER, SPARE
from tests.jobs.tidying import DAY, violations

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "media", "clock")]


def take_over(now, seconds=60) -> int:
    return restores.take_over(backup_made_at=now, now=now + timedelta(seconds=seconds))


def test_a_queued_job_is_cancelled_and_its_slot_goes_back(account, now):
    job = rows.queued(account, now)
    assert take_over(now) == 1
    job = rows.again(job)
    assert (job.state, job.attempt.state, job.attempt.cost_nothing) == (
        "cancelled",
        "failed",
        False,
    )
    assert "restored from a backup" in build_panel(job)["sentences"][0]
    assert build_panel(job)["sentences"][1:] == ["Your slot was given back."]


def test_nothing_is_sent_for_it_again(order, fake, now):
    job = order()
    take_over(now)
    working.advance(job.pk)
    assert not Call.objects.exists()


@pytest.mark.parametrize("state", ["sending", "generating", "lost", "saving", "ready", "failed"])
def test_any_other_job_stays_as_it_was(account, now, state):
    job = getattr(rows, state)(account, now)
    take_over(now)
    assert rows.again(job).state == job.state
    assert violations(now + timedelta(seconds=60)) == []


def test_another_provider_that_may_have_been_asked_since_is_not_asked(order, fake, spare, now):
    job = order()
    working.advance(job.pk)
    call = Call.objects.get()
    take_over(now)
    follow_poll(call, Failed(Cause("provider"), cost=0), timezone.now())
    working.advance(job.pk)
    assert [call.provider for call in Call.objects.all()] == [OFFER.provider]
    assert rows.again(job).state == "failed"


def test_after_the_restore_another_provider_is_asked_as_ever(order, fake, spare, now, clock):
    take_over(now, seconds=0)
    clock.shift(1)
    job = order()
    working.advance(job.pk)
    follow_poll(Call.objects.get(), Failed(Cause("provider"), cost=0), timezone.now())
    working.advance(job.pk)
    assert [call.provider for call in Call.objects.order_by("pk")] == [
        OFFER.provider,
        SPARE.provider,
    ]


def test_a_stage_that_a_dead_process_held_is_due(account, now):
    job = rows.sending(account, now)
    assert working.take(job.pk, now)
    take_over(now)
    assert working.take(job.pk, now + timedelta(seconds=60))
    assert not Lease.objects.exists()


def test_what_may_have_been_mailed_or_posted_is_not_sent_again(account, now, settings):
    settings.ALERT_EMAILS, settings.ALERT_URL = ["staff@example.com"], "https://example.com"
    job = rows.generating(account, now)
    type(job).objects.update(notice_due_at=now)
    alerts.open_alert(kind=AlertKind.SMOKE, subject="x", words="y", now=now)
    take_over(now)
    assert rows.again(job).notice_due_at is None
    assert not Alert.objects.exclude(mail_due_at=None, post_due_at=None).exists()


def test_messages_of_the_queue_are_those_of_another_time(now):
    OrmQ.objects.create(key="counterfoil", payload="x", lock=now)
    take_over(now)
    assert not OrmQ.objects.exists()


def test_everyone_is_signed_out(client, ana, now):
    client.force_login(ana)
    take_over(now)
    assert not Session.objects.exists()


def test_a_smoke_test_of_that_time_brings_no_verdict(fake, now):
    smoke.begin(KINDS["image"], OFFER, now)
    take_over(now)
    assert smoke.describe_trouble(None, now) == ""
    assert Stage.objects.unfinished().count() == 0


class TestFiles:
    """Of a picture that was made after the backup, the file is all that is left."""

    @pytest.fixture
    def lost_row(self, account, now):
        job = rows.ready(account, now)
        picture = job.pictures.get()
        picture.delete()
        return picture

    def tidied(self, now) -> int:
        return housekeeping.tidy(now, seconds=60)["files"]

    def written_at(self, media, picture, at) -> None:
        os.utime(media / picture.file, (at.timestamp(), at.timestamp()))

    def test_a_file_that_was_there_at_the_restore_stays(self, lost_row, media, now):
        self.written_at(media, lost_row, now)
        take_over(now)
        assert self.tidied(now + 30 * DAY) == 0
        assert (media / lost_row.file).exists()

    def test_a_file_that_a_run_left_later_goes(self, lost_row, media, now):
        take_over(now)
        self.written_at(media, lost_row, now + DAY)
        assert self.tidied(now + 30 * DAY) == 1

    def test_a_file_of_an_unknown_job_stays_whenever_it_was_written(self, lost_row, media, now):
        lost_row.job.delete()
        take_over(now)
        self.written_at(media, lost_row, now + DAY)
        assert self.tidied(now + 30 * DAY) == 0

    def test_a_draft_goes(self, media, now):
        draft = media / "pictures" / "00" / ".draft"
        draft.parent.mkdir(parents=True)
        draft.touch()
        os.utime(draft, (now.timestamp(), now.timestamp()))
        take_over(now)
        assert self.tidied(now + 30 * DAY) == 1


def test_the_instant_of_the_restore_is_kept(now):
    take_over(now)
    assert Restore.objects.get().restored_at == now + timedelta(seconds=60)


def test_a_call_of_the_backup_leads_nowhere_although_the_clock_here_is_behind(
    order, fake, spare, now, clock
):
    job = order()
    working.advance(job.pk)
    take_over(now, seconds=-3600)
    call = Call.objects.get()
    # What the ticker does to a call that was sent later than now.
    Call.objects.update(sent_at=now + DAY)
    follow_poll(call, Failed(Cause("provider"), cost=0), timezone.now())
    assert rows.again(job).state == "failed"
