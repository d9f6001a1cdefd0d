"""Staff see what was paid for and could not be read, and deliver it or give the slot back."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from jobs.alerts import watch
from jobs.core.models import Picture, StaffAction, UnreadResult
from jobs.engine import incoming
from jobs.ops import audit
from jobs.pictures import owner_actions, unread
from jobs.pictures.upkeep import chores
from quotas.models import Alert
from tests import rows
from tests.fakes import png

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.fixture
def job(account, now):
    return rows.unread_result(account, now)


def page(job, name="deliver"):
    return reverse(f"admin:{name}", args=[rows.call_of(job).pk])


def deliver(client, job, **fields):
    return client.post(page(job), {"reason": "converted by hand", **fields})


def states(job):
    job = rows.again(job)
    return job.state, job.attempt.state


def test_page_shows_the_answer_and_offers_the_bytes(staff_client, job, now):
    answer = b'{"data": {"file_id": "<b>7</b>"}}'
    unread.keep(job.pk, rows.call_of(job), "answer", answer, "answer", now)
    shown = staff_client.get(page(job)).content.decode()
    assert "&lt;b&gt;7&lt;/b&gt;" in shown
    kept = UnreadResult.objects.get(kind="file")
    file = staff_client.get(reverse("admin:kept_file", args=[kept.call_id, kept.pk]))
    assert file.content == b"<svg/>"
    assert file["Content-Disposition"].startswith("attachment")
    assert (file["X-Content-Type-Options"], file["Content-Type"]) == (
        "nosniff",
        "application/octet-stream",
    )


def test_picture_in_its_place_is_delivered(staff_client, job, settings):
    response = deliver(staff_client, job, picture=SimpleUploadedFile("1.png", png()))
    assert response.status_code == 302
    assert states(job) == ("ready", "success")
    assert (settings.MEDIA_ROOT / Picture.objects.get().file).read_bytes() == png()
    assert StaffAction.objects.get().facts["source"] == "upload"
    assert list(audit.violations(timezone.now(), deep=True)) == []


def test_kept_file_is_delivered_once_it_can_be_read(staff_client, job, now):
    unread.keep(job.pk, rows.call_of(job), "file", png(), "not_a_picture", now)
    assert deliver(staff_client, job).status_code == 302
    assert states(job) == ("ready", "success")


def test_what_is_no_picture_is_not_delivered(staff_client, job):
    upload = SimpleUploadedFile("1.png", b"<html>")
    assert deliver(staff_client, job, picture=upload).status_code == 409
    assert deliver(staff_client, job).status_code == 409
    assert states(job) == ("in_doubt", "pending")


def test_slot_is_given_back_and_the_result_can_be_delivered_later(staff_client, job):
    staff_client.post(page(job, "give_back"), {"reason": "cannot be converted"})
    assert states(job) == ("failed", "failed")
    assert rows.call_of(job).state == "succeeded"
    deliver(staff_client, job, picture=SimpleUploadedFile("1.png", png()))
    assert states(job) == ("ready", "failed")
    assert list(audit.violations(timezone.now(), deep=True)) == []


def test_alert_closes_with_the_delivery(staff_client, job):
    watch.look(timezone.now())
    assert Alert.objects.get(kind="unread").closed_at is None
    deliver(staff_client, job, picture=SimpleUploadedFile("1.png", png()))
    watch.look(timezone.now())
    assert Alert.objects.get(kind="unread").closed_at


def test_deleted_result_is_not_delivered(staff_client, job):
    deliver(staff_client, job, picture=SimpleUploadedFile("1.png", png()))
    owner_actions.delete_result(job.pk, timezone.now())
    assert UnreadResult.objects.count() == 0
    assert deliver(staff_client, job).status_code == 409


def test_permission_of_its_own_is_needed(member, job):
    client = member("providers.view_call", "jobs.give_slot_back")
    assert client.get(page(job)).status_code == 403
    kept = UnreadResult.objects.get()
    address = reverse("admin:kept_file", args=[kept.call_id, kept.pk])
    assert client.get(address).status_code == 403


def test_ready_job_leaves_nothing_to_deliver(staff_client, account, now):
    job = rows.ready(account, now)
    assert deliver(staff_client, job).status_code == 409


def test_two_deliveries_are_one_picture(job, staff):
    from jobs.pictures import saving
    from jobs.staff.actions import deliver
    from jobs.staff.actions.base import ActionRefused, Decision

    call, fetched = rows.call_of(job), saving.Fetched(png(), "image/png", "png", 8, 6)
    decision = Decision(staff, "converted", timezone.now())
    deliver.run(call.pk, saving.build_picture_row(job.pk, call, fetched), decision)
    with pytest.raises(ActionRefused):
        deliver.run(call.pk, saving.build_picture_row(job.pk, call, fetched), decision)
    assert Picture.objects.count() == 1


def test_old_kept_results_go_after_their_job(job, now):
    incoming.give_back(rows.call_of(job), now)

    later = now + unread.KEPT_FOR
    assert chores.tidy_unread(later - rows.SECOND) == 0
    assert chores.tidy_unread(later + rows.SECOND) == 1
    assert UnreadResult.objects.count() == 0
