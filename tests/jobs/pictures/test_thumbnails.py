"""Small pictures: drawn once, for the owner alone, and never in the way."""

import io
import os
from datetime import timedelta

import pytest
from django.urls import reverse
from PIL import Image

from jobs.core.models import Picture
from jobs.ops import audit
from jobs.pictures import owner_actions, thumbnails
from tests import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.fixture
def large(account, now):
    """The picture of a job that is ready, 1600 by 900."""
    out = io.BytesIO()
    Image.new("RGB", (1600, 900), "teal").save(out, "PNG")
    job = rows.saving(account, now)
    return rows.delivered(job, now + rows.SECOND * 6, picture=out.getvalue()).pictures.get()


def small(client, picture):
    return client.get(reverse("picture_thumbnail", args=[picture.pk]))


def kept(settings, picture):
    return settings.MEDIA_ROOT / thumbnails.file_of(picture.pk)


def test_it_is_small_and_of_the_same_shape(ana_client, large):
    response = small(ana_client, large)
    image = Image.open(io.BytesIO(response.content))
    assert (response["Content-Type"], image.format, image.size) == (
        "image/webp",
        "WEBP",
        (480, 270),
    )


def test_it_is_drawn_once(ana_client, large, settings):
    first = small(ana_client, large).content
    (settings.MEDIA_ROOT / large.file).unlink()
    assert small(ana_client, large).content == first


def test_no_cache_in_between_may_keep_it(ana_client, large):
    assert "private" in small(ana_client, large)["Cache-Control"]


def test_another_does_not_get_it(ana_client, ben_client, large):
    small(ana_client, large)
    assert small(ben_client, large).status_code == 404


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L", "LA", "1"])
def test_every_kind_of_pixel_can_be_drawn(ana_client, large, settings, mode):
    Image.new(mode, (30, 20)).save(settings.MEDIA_ROOT / large.file, "PNG")
    assert small(ana_client, large).status_code == 200


def test_a_picture_lies_as_its_camera_held_it(ana_client, large, settings):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (40, 20)).save(settings.MEDIA_ROOT / large.file, "JPEG", exif=exif)
    assert Image.open(io.BytesIO(small(ana_client, large).content)).size == (20, 40)


def test_a_large_webp_lies_as_browsers_show_it(ana_client, large, settings, monkeypatch):
    monkeypatch.setattr(thumbnails, "LARGE", 0)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (40, 20)).save(settings.MEDIA_ROOT / large.file, "WEBP", exif=exif)
    assert Image.open(io.BytesIO(small(ana_client, large).content)).size == (40, 20)


def with_notes(type_: str, notes: bytes) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 20)).save(out, type_, exif=notes)
    return out.getvalue()


# Orientation 6, and a width that is text where a number must stand.
ODD_NOTES = b"Exif\0\0" + bytes.fromhex(
    "49492a0008000000 0200 000102000100000061000000 120103000100000006000000 00000000"
)


@pytest.mark.parametrize(
    "content",
    [with_notes("PNG", b"no notes"), with_notes("JPEG", ODD_NOTES)],
    ids=["notes-of-nothing", "odd-notes"],
)
def test_notes_that_make_no_sense_hide_no_picture(ana_client, large, settings, content):
    (settings.MEDIA_ROOT / large.file).write_bytes(content)
    assert small(ana_client, large)["Content-Type"] == "image/webp"


@pytest.mark.parametrize("content", [b"", b"no picture"], ids=["empty", "text"])
def test_what_cannot_be_drawn_is_shown_as_it_is(ana_client, large, settings, content):
    (settings.MEDIA_ROOT / large.file).write_bytes(content)
    assert small(ana_client, large)["Location"] == f"/images/{large.pk}/file"


def test_a_full_disk_costs_only_the_keeping(ana_client, large, settings, monkeypatch):
    def full(*args):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(thumbnails.os, "replace", full)
    assert small(ana_client, large).status_code == 200
    assert list(kept(settings, large).parent.iterdir()) == []


def test_a_folder_that_takes_no_files_costs_only_the_keeping(ana_client, large, settings):
    (settings.MEDIA_ROOT / "thumbnails").write_bytes(b"a file where the folder should be")
    assert small(ana_client, large).status_code == 200


def test_an_empty_one_is_drawn_anew(ana_client, large, settings):
    content = small(ana_client, large).content
    kept(settings, large).write_bytes(b"")
    assert small(ana_client, large).content == content
    assert kept(settings, large).read_bytes() == content


def test_it_goes_with_its_picture(
    ana_client, large, settings, now, django_capture_on_commit_callbacks
):
    small(ana_client, large)
    assert kept(settings, large).exists()
    with django_capture_on_commit_callbacks(execute=True):
        owner_actions.delete_result(large.job_id, now)
    assert not kept(settings, large).exists()


def test_one_that_outlived_its_picture_is_named_by_the_audit(ana_client, large, settings):
    small(ana_client, large)
    path = kept(settings, large)
    os.utime(path, (0, 0))
    assert list(audit.files.orphans()) == []
    Picture.objects.all().delete()
    os.utime(settings.MEDIA_ROOT / large.file)
    assert list(audit.files.orphans()) == [thumbnails.file_of(large.pk)]


def test_lists_ask_for_the_small_one(ana_client, large):
    shown = ana_client.get("/gallery").content.decode()
    assert reverse("picture_thumbnail", args=[large.pk]) in shown


def links_of(client, job) -> list[str]:
    """The pictures that the page of this one leads to, newer first."""
    response = client.get(reverse("picture", args=[job.pictures.get().pk]))
    near = (response.context["newer"], response.context["older"])
    return [picture.job_id if picture else None for picture in near]


def test_a_picture_leads_to_the_next_newer_and_older_one(ana_client, account, now):
    jobs = [rows.ready(account, now - timedelta(minutes=number)) for number in range(3)]
    rows.failed(account, now)
    assert links_of(ana_client, jobs[0]) == [None, jobs[1].pk]
    assert links_of(ana_client, jobs[1]) == [jobs[0].pk, jobs[2].pk]
    assert links_of(ana_client, jobs[2]) == [jobs[1].pk, None]


def test_pictures_of_one_moment_form_one_line(ana_client, account, now):
    jobs = sorted((rows.ready(account, now) for _ in range(3)), key=lambda job: job.pk)
    assert [links_of(ana_client, job)[1] for job in jobs] == [jobs[1].pk, jobs[2].pk, None]


def test_another_persons_pictures_are_not_led_to(account, now, visitor_client, visitor):
    rows.ready(account, now)
    own = rows.ready(visitor, now)
    assert links_of(visitor_client, own) == [None, None]
