"""Bytes that come inside an answer are a file before the row that names it, and in no row."""

import base64
import errno
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.core.models import Event, Job
from jobs.engine import incoming
from jobs.files import media, storing
from jobs.ops import audit, housekeeping
from jobs.ops.audit import files
from jobs.pictures import follow, unread
from providers.adapters import run_queries
from providers.calls import ledger
from providers.calls.models import Call, CallResult
from providers.outcomes import Artifact, Done
from tests import working
from tests.fakes import made, png

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "clock")]

FULL = OSError(errno.ENOSPC, "full")


@pytest.fixture
def job(order, fake):
    """Accepted; nothing was said about its run yet."""
    job = order()
    working.advance(job.pk)
    fake.polls["run-1"] = made()
    return job


@pytest.fixture
def full_disk(monkeypatch):
    """Raises from each attempt to store, as often as is left in `times`."""
    times = [10**6]
    real = storing.store

    def store(name, content):
        if times[0]:
            times[0] -= 1
            raise storing.NoRoom(FULL, len(content))
        real(name, content)

    monkeypatch.setattr(follow, "store", store)
    return times


def complete(job: Job, done: Done | None = None) -> Call:
    call = Call.objects.get()
    incoming.apply(call, done or made(), timezone.now())
    return Call.objects.get()


def kept() -> Path:
    return media.path_of(CallResult.objects.get().file)


def everything_in_rows() -> str:
    with connection.cursor() as cursor:
        found = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            found += [str(row) for row in cursor.fetchall()]
    return "\n".join(found)


@pytest.mark.parametrize("is_address", [False, True])
def test_the_bytes_are_in_a_file_and_in_no_row(job, is_address):
    encoded = base64.b64encode(png()).decode()
    said = Artifact(url=f"data:image/png;base64,{encoded}") if is_address else Artifact(b64=encoded)
    complete(job, Done((said,)))
    row = CallResult.objects.get()
    assert (row.url, row.size, row.is_encoded) == ("", len(png()), False)
    assert kept().read_bytes() == png()
    assert encoded[:40] not in everything_in_rows()
    assert list(audit.violations(timezone.now(), deep=True)) == []


def test_the_file_is_synced_before_the_transaction_that_names_it(job, monkeypatch):
    depth = len(connection.atomic_blocks)
    synced = []
    real = os.fsync

    def note(descriptor):
        synced.append(len(connection.atomic_blocks))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    complete(job)
    assert synced
    assert set(synced) == {depth}


def test_a_delivered_result_keeps_no_second_copy(job):
    complete(job)
    path = kept()
    working.advance(job.pk)
    job.refresh_from_db()
    assert (job.state, job.pictures.get().sha256) == ("ready", CallResult.objects.get().sha256)
    assert CallResult.objects.get().file == ""
    assert not path.exists()


def test_pages_read_calls_without_their_results(job, ana_client):
    complete(job)
    with CaptureQueriesContext(connection) as queries:
        assert ana_client.get(f"/jobs/{job.pk}").status_code == 200
        list(Call.objects.due(timezone.now()))
        Call.objects.get().refresh_from_db()
    assert not [query for query in queries if "callresult" in query["sql"]]


def test_a_full_disk_does_not_lose_the_end_of_the_call(job, full_disk):
    call = complete(job)
    assert (call.state, call.cost) == ("succeeded", 5)
    assert not CallResult.objects.exists()
    full_disk[0] = 0
    # The save stage polls for the result again.
    working.advance(job.pk)
    job.refresh_from_db()
    assert job.state == "ready"


def test_a_full_disk_does_not_lose_a_whole_answer_either(job, full_disk, monkeypatch):
    def refuse(*given):
        raise storing.NoRoom(FULL, 1)

    monkeypatch.setattr(storing, "store", refuse)
    call = complete(job, Done((), unread='{"what": "?"}'))
    assert call.state == "succeeded"


def test_an_answer_that_cannot_be_polled_for_waits_for_room(job, full_disk, monkeypatch):
    monkeypatch.setattr(follow, "can_poll", lambda provider: False)
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    full_disk[0] = 3
    complete(job)
    assert pauses == [follow.STORE_AGAIN] * 3
    assert kept().read_bytes() == png()


def test_only_a_provider_of_the_settings_with_polls_can_be_polled(fake):
    assert run_queries.can_poll("fake")
    assert not run_queries.can_poll("gone")


def test_a_full_disk_while_the_newest_answer_is_kept_waits_for_room(job, monkeypatch, full_disk):
    complete(job)
    full_disk[0] = 0

    def refuse(name, content):
        raise storing.NoRoom(FULL, len(content))

    monkeypatch.setattr("jobs.pictures.saving.store", refuse)
    working.advance(job.pk)
    job.refresh_from_db()
    assert job.state == "running"
    assert Event.objects.filter(name="store_failed").count() == 1


def test_the_same_bytes_are_kept_once(job):
    call = complete(job)
    first = kept()
    incoming.apply(call, made(), timezone.now())
    assert kept() == first
    assert list(first.parent.iterdir()) == [first]


def test_what_cannot_be_decoded_is_kept_as_it_came(job):
    complete(job, Done((Artifact(b64="not base64!"),)))
    row = CallResult.objects.get()
    assert row.is_encoded
    assert kept().read_bytes() == b"not base64!"


def test_damage_to_a_kept_result_is_found(job):
    complete(job)
    kept().write_bytes(b"other")
    names = {found.check for found in audit.violations(timezone.now(), deep=True)}
    assert names == {"picture_file_whole"}
    kept().unlink()
    names = {found.check for found in audit.violations(timezone.now(), deep=True)}
    assert names == {"picture_file_there"}


def test_a_file_of_a_process_that_died_is_an_orphan_and_a_named_one_is_none(job):
    complete(job)
    lost = kept().with_name(f"{Call.objects.get().pk}-of-the-dead.bin")
    lost.write_bytes(b"x")
    later = lost.stat().st_mtime + 1
    assert list(files.orphans(before=later)) == [str(lost.relative_to(media.path_of("x").parent))]


def test_removed_texts_take_the_result_with_them(job, django_capture_on_commit_callbacks):
    call = complete(job)
    path = kept()
    names = ledger.clear_texts([call.work])
    assert names == [str(path.relative_to(media.path_of("x").parent))]
    assert not CallResult.objects.exists()


def test_a_result_that_nobody_fetched_goes_long_after_its_end(job, clock):
    complete(job)
    path = kept()
    clock.shift(unread.KEPT_FOR - timedelta(seconds=1))
    assert housekeeping.tidy_results(timezone.now()) == 0
    clock.shift(timedelta(seconds=2))
    assert housekeeping.tidy_results(timezone.now()) == 1
    assert not path.exists()
    assert CallResult.objects.get().file == ""
