"""A deleted picture is gone with its file; what it cost stays on record."""

import pytest
from django.db import transaction
from django.urls import reverse

from jobs.core.models import Picture
from jobs.files import media
from jobs.ops import audit
from jobs.pictures import owner_actions
from providers.calls.models import Call
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.fixture
def commit(django_capture_on_commit_callbacks):
    return lambda: django_capture_on_commit_callbacks(execute=True)


def press(client, job):
    return client.post(reverse("delete_result", args=[job.pk]), follow=True)


def test_the_picture_goes_with_its_file(ana_client, account, now, settings, commit):
    job = rows.ready(account, now)
    file = settings.MEDIA_ROOT / job.pictures.get().file
    with commit():
        response = press(ana_client, job)
    assert response.redirect_chain == [("/gallery", 303)]
    assert "The picture was deleted." in text_of(response)
    assert not Picture.objects.exists()
    assert not file.exists()


def test_the_ledgers_stay_as_they_are(ana_client, account, now, commit):
    job = rows.ready(account, now)
    before = (job.state, job.attempt.state, Call.objects.values().get())
    with commit():
        press(ana_client, job)
    job = rows.again(job)
    assert (job.state, job.attempt.state, Call.objects.values().get()) == before


def test_the_audit_accepts_it(ana_client, account, now, commit):
    with commit():
        press(ana_client, rows.ready(account, now))
    assert list(audit.violations(now, deep=True)) == []


def test_the_file_stays_until_the_commit(account, now, settings):
    job = rows.ready(account, now)
    file = settings.MEDIA_ROOT / job.pictures.get().file
    owner_actions.delete_result(job.pk, now)
    assert file.exists()


def test_a_rolled_back_wish_keeps_the_file(account, now, settings, commit):
    job = rows.ready(account, now)
    with commit(), transaction.atomic():
        owner_actions.delete_result(job.pk, now)
        transaction.set_rollback(True)
    assert (settings.MEDIA_ROOT / job.pictures.get().file).exists()


def test_it_is_deleted_once(ana_client, account, now):
    job = rows.deleted(account, now)
    press(ana_client, job)
    assert rows.again(job).version == job.version
    assert job.events.filter(name="deleted").count() == 1


@pytest.mark.parametrize("address", ["/", "/gallery"])
def test_lists_show_it_no_more(ana_client, account, now, address):
    job = rows.deleted(account, now)
    assert str(job.pk) not in ana_client.get(address).content.decode()


@pytest.mark.parametrize(
    "make", [rows.queued, rows.generating, rows.lost, rows.saving, rows.failed]
)
def test_there_is_nothing_to_delete(ana_client, account, now, make):
    job = make(account, now)
    assert "There is no picture to delete." in text_of(press(ana_client, job))
    assert rows.again(job).version == job.version


def test_without_a_script_a_page_asks_first(ana_client, account, now):
    job = rows.ready(account, now)
    shown = text_of(ana_client.get(reverse("delete_result", args=[job.pk])))
    assert "Delete this picture?" in shown
    assert "You do not get the slot back." in shown
    assert job.pictures.exists()


def test_another_cannot_delete(ben_client, account, now):
    job = rows.ready(account, now)
    assert press(ben_client, job).status_code == 404
    assert job.pictures.exists()


@pytest.mark.parametrize("file", ["../outside.png", "/outside.png", "", "a\0b"])
def test_no_name_leads_out_of_the_folder(file):
    assert media.path_of(file) is None


def test_a_file_that_cannot_be_removed_is_logged_without_its_name(settings, tmp_path, caplog):
    settings.MEDIA_ROOT = tmp_path
    (tmp_path / "folder").mkdir()
    media.remove(["folder"])
    assert [record.getMessage() for record in caplog.records] == [
        "A picture's file cannot be removed: Is a directory"
    ]
