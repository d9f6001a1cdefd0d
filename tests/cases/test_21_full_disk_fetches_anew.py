"""Case 21: while a picture cannot be stored nothing is fetched, and staff are told."""

import errno
import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from jobs.alerts import watch
from jobs.core.models import Event, Picture, Stage
from jobs.engine import incoming
from jobs.files import storing
from jobs.pictures import saving
from providers.calls.models import Call
from providers.outcomes import Artifact, Done
from providers.wire.picture_files import Fetched
from quotas.models import Alert
from tests import working
from tests.fakes import png

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


@pytest.fixture
def fetched(monkeypatch):
    """How often the file was requested; its size is announced before it is read."""
    times: list[int] = []

    def fetch(artifact, *, make_room, **_options):
        make_room(len(png()))
        times.append(1)
        return Fetched(png(), "image/png", "png", 8, 6)

    monkeypatch.setattr(saving.download, "fetch", fetch)
    return times


@pytest.fixture
def made(order, fake):
    job = order()
    working.advance(job.pk)
    artifact = Artifact(url="https://files.test/g1")
    incoming.apply(Call.objects.get(), Done((artifact,)), timezone.now())
    fake.polls["run-1"] = Done((artifact,))
    return job


@pytest.fixture
def disk(monkeypatch):
    """Its fault is a function of the path that is opened for writing; None where there is none."""
    real = open

    class Disk:
        fault: OSError | None = None

    def guarded(path, mode="r", *args, **options):
        if Disk.fault and "w" in mode and "media" in str(path):
            raise Disk.fault
        return real(path, mode, *args, **options)

    monkeypatch.setattr("builtins.open", guarded)
    return Disk


def state(job):
    job.refresh_from_db()
    return job.state


FAULTS = [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO, errno.EMFILE]


@pytest.mark.parametrize("number", FAULTS, ids=errno.errorcode.get)
def test_nothing_is_fetched_while_nothing_can_be_stored(made, fetched, disk, clock, number):
    disk.fault = OSError(number, os.strerror(number))
    for _ in range(8):
        working.advance(made.pk)
        clock.move_to(Stage.objects.get(name="save").due_at)
    assert (state(made), fetched) == ("running", [])
    disk.fault = None
    working.advance(made.pk)
    assert (state(made), fetched) == ("ready", [1])


def test_pauses_grow_to_ten_minutes(made, fetched, disk, clock):
    disk.fault = OSError(errno.ENOSPC, "full")
    pauses = []
    for _ in range(9):
        working.advance(made.pk)
        due_at = Stage.objects.get(name="save").due_at
        pauses.append((due_at - timezone.now()).total_seconds())
        clock.move_to(due_at)
    assert pauses == [10, 20, 40, 80, 160, 300, 600, 600, 600]


def test_staff_are_told_and_the_alert_closes_by_itself(made, fetched, disk):
    disk.fault = OSError(errno.ENOSPC, "No space left on device")
    working.advance(made.pk)
    alert = Alert.objects.get(kind="storage")
    assert "No space left" in alert.words
    watch.look_if_due(timezone.now())
    alert.refresh_from_db()
    assert alert.closed_at is None
    disk.fault = None
    watch.look_if_due(timezone.now() + timedelta(minutes=1))
    alert.refresh_from_db()
    assert alert.closed_at


def test_room_is_found_by_a_probe_that_downloads_nothing(made, fetched, disk, clock):
    disk.fault = OSError(errno.ENOSPC, "full")
    for _ in range(7):
        working.advance(made.pk)
        clock.move_to(Stage.objects.get(name="save").due_at)
    working.advance(made.pk)
    disk.fault = None
    clock.shift(timedelta(seconds=50))
    saving.wake_where_room_is(timezone.now())
    assert fetched == []
    working.advance(made.pk)
    assert (state(made), fetched) == ("ready", [1])


def test_file_that_is_larger_than_the_room_is_not_read(made, fetched, monkeypatch):
    def refuse_large(size=storing.LEAST_ROOM):
        if size < 10**9:
            return
        raise storing.NoRoom(OSError(errno.ENOSPC, "full"), size)

    monkeypatch.setattr("tests.cases.test_21_full_disk_fetches_anew.png", lambda: bytes(10**9))
    monkeypatch.setattr(storing, "check_room", refuse_large)
    working.advance(made.pk)
    assert (state(made), fetched) == ("running", [])
    assert Event.objects.get(name="store_failed").facts["size"] == 10**9


def test_only_what_has_room_is_woken(made, fetched, disk, monkeypatch, clock):
    disk.fault = OSError(errno.ENOSPC, "full")
    working.advance(made.pk)
    disk.fault = None
    monkeypatch.setattr("tests.cases.test_21_full_disk_fetches_anew.png", lambda: bytes(10**7))
    monkeypatch.setattr(storing, "_fill", full_from(10**6))
    clock.move_to(Stage.objects.get(name="save").due_at)
    working.advance(made.pk)
    due_at = Stage.objects.get(name="save").due_at
    saving.wake_where_room_is(timezone.now())
    assert Stage.objects.get(name="save").due_at == due_at
    monkeypatch.setattr(storing, "_fill", full_from(10**9))
    saving.wake_where_room_is(timezone.now())
    assert Stage.objects.get(name="save").due_at < due_at


def full_from(least):
    def fill(descriptor, size):
        if size >= least:
            raise OSError(errno.ENOSPC, "full")

    return fill


def test_bytes_that_only_want_their_name_are_not_fetched_again(made, fetched, monkeypatch, clock):
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "no")))
    working.advance(made.pk)
    assert (state(made), fetched) == ("running", [1])
    monkeypatch.setattr(os, "replace", real)
    clock.shift(timedelta(seconds=10))
    working.advance(made.pk)
    assert (state(made), fetched) == ("ready", [1])
    folder = Path(storing.settings.MEDIA_ROOT) / Picture.objects.get().file
    assert [file.name for file in folder.parent.iterdir()] == [folder.name]


def test_draft_that_was_lost_is_fetched_again(made, fetched, monkeypatch, clock):
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "no")))
    working.advance(made.pk)
    monkeypatch.setattr(os, "replace", real)
    draft = Event.objects.get(name="store_failed").facts["draft"]
    (Path(storing.settings.MEDIA_ROOT) / draft).unlink()
    clock.shift(timedelta(seconds=10))
    working.advance(made.pk)
    assert (state(made), fetched) == ("ready", [1, 1])


def test_room_is_tried_by_writing_and_leaves_nothing(tmp_path, settings):
    settings.MEDIA_ROOT = tmp_path
    storing.check_room(3 * 2**20)
    assert list((tmp_path / "pictures").iterdir()) == []
