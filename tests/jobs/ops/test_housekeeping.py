"""Housekeeping removes what is old and told by nothing; money, slots and pages stay as they are."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as site
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.urls import reverse
from django_q.models import Task

from jobs import chores
from jobs.chores import BATCH
from jobs.core import leases, transitions
from jobs.core.models import Event, Job, Lease, Picture
from jobs.engine.schedules import PLANS
from jobs.ops import housekeeping
from jobs.ops.housekeeping import CHORES
from jobs.panels import build_panel
from jobs.pictures import thumbnails
from jobs.processes import tasks
from providers.calls import ledger, money
from providers.calls.models import Call
from providers.outcomes import Accepted
from quotas.models import Attempt
from tests import rows
from tests.jobs.tidying import DAY, YEARS, fail_tasks, run, violations
from tests.quotas.test_contention import contend, errors_in, read_rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "media")]


def test_a_site_at_work_has_nothing_to_tidy(everything, now):
    assert run(now + DAY) == {}


def test_what_is_years_old_goes_and_the_audit_finds_what_it_found_before(everything, now):
    at = now + YEARS
    before = violations(at)
    fail_tasks(1, now)
    assert run(at)["failed tasks"] > 0
    assert violations(at) == before
    assert run(at) == {}


def test_attempts_and_jobs_stay_as_they_are(everything, now):
    attempts, jobs = list(Attempt.objects.values()), list(Job.objects.values())
    run(now + YEARS)
    assert list(Attempt.objects.values()) == attempts
    assert list(Job.objects.values()) == jobs


# Calls and events


def shown(job: Job) -> dict:
    """The panel, but for the time it was drawn at."""
    panel = build_panel(rows.again(job))
    return {name: str(panel[name]) for name in ("steps", "sentences", "shown") if name in panel}


def test_every_call_and_every_event_stays_as_a_row(everything, clock, now):
    for job in everything:
        for event in ("busy", "fetch_failed", "send_window_missed", "busy", "fetch_failed"):
            transitions.record_event(job.pk, event=event, now=now + timedelta(seconds=30))
    clock.move_to(now + YEARS)
    tables = (Call, Event)
    before = [list(table.objects.order_by("pk").values()) for table in tables]
    pages = [shown(job) for job in everything]
    assert all(pages)
    run(now + YEARS)
    assert [list(table.objects.order_by("pk").values()) for table in tables] == before
    assert [shown(job) for job in everything] == pages


def test_what_was_given_up_stays_possibly_charged(account, now):
    rows.not_confirmed(account, now)
    rows.given_back(account, now)
    unpriced = rows.call_of(rows.not_confirmed(account, now + DAY))
    Call.objects.filter(pk=unpriced.pk).update(cost_estimate=None)
    before = money.sum_spend(["sandbox"], now + YEARS)["sandbox"]["RUB"]
    run(now + YEARS)
    assert money.sum_spend(["sandbox"], now + YEARS)["sandbox"]["RUB"] == before
    assert (before.possibly_charged, before.possibly_charged_unpriced) == (10, 1)


def test_a_call_given_up_that_is_gone_is_found(account, now):
    rows.not_confirmed(account, now)
    Call.objects.all().delete()
    found = {line.partition(":")[0] for line in violations(now + YEARS)}
    assert found == {"not_confirmed_job_gave_up", "ended_job_is_settled"}


@pytest.mark.parametrize(
    "make", [rows.ready, rows.deleted, rows.not_fetched, rows.ready_late, rows.failed_billed]
)
def test_an_old_call_refuses_its_work_and_its_id_to_others(account, now, make):
    call = rows.call_of(make(account, now))
    run(now + YEARS)
    call.refresh_from_db()
    other = rows.call_of(rows.lost(account, now))
    ledger.record(call_id=other.pk, news=Accepted(str(call.reference)), now=now + YEARS)
    other.refresh_from_db()
    assert other.reference is None
    if call.state == "succeeded":
        assert ledger.open_call(work=call.work, offer=rows.OFFER, now=now + YEARS) is None


# Failed tasks


def test_failed_tasks_are_kept_as_long_as_the_setting_says(now, settings):
    for number, (success, age) in enumerate([(False, 0), (False, 1), (True, 1)]):
        stopped = now - settings.FAILURES_KEPT - timedelta(seconds=age) + timedelta(seconds=0.5)
        Task.objects.create(
            id=str(number), name="x", func="x", started=stopped, stopped=stopped, success=success
        )
    assert run(now) == {"failed tasks": 1}
    assert sorted(Task.objects.values_list("id", flat=True)) == ["0", "2"]


# Pictures of visitors


@pytest.fixture
def kept_a_month(settings):
    settings.VISITOR_PICTURES_KEPT = 30 * DAY


def test_pictures_of_visitors_stay_unless_somebody_says_so(visitor, now, settings):
    assert settings.VISITOR_PICTURES_KEPT is None
    rows.ready(visitor, now)
    assert run(now + YEARS) == {}


@pytest.mark.usefixtures("kept_a_month")
def test_pictures_of_visitors_go_and_their_ledgers_stay(
    visitor, account, now, django_capture_on_commit_callbacks
):
    job, anas = rows.ready(visitor, now), rows.ready(account, now)
    picture = Picture.objects.get(job=job)
    thumbnails.make_thumbnail(picture)
    assert run(now + 29 * DAY) == {}
    with django_capture_on_commit_callbacks(execute=True):
        assert run(now + 31 * DAY) == {"pictures of visitors": 1}
    assert [found.job_id for found in Picture.objects.all()] == [anas.pk]
    assert not (Path(site.MEDIA_ROOT) / picture.file).exists()
    assert rows.again(job).attempt.state == "success"
    assert violations(now + 31 * DAY) == []


@pytest.mark.usefixtures("kept_a_month")
def test_the_page_does_not_say_that_the_visitor_did_it(visitor_client, visitor, now):
    job = rows.ready(visitor, now)
    run(now + 31 * DAY)
    page = visitor_client.get(reverse("job", args=[job.pk])).content.decode()
    assert "We keep visitors&#x27; pictures for a limited time." in page
    assert "You deleted" not in page


# Files


def lay(name: str, age: timedelta, now) -> Path:
    path = Path(site.MEDIA_ROOT) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    os.utime(path, ((now - age).timestamp(),) * 2)
    return path


def test_files_of_no_picture_go_after_a_day(account, now):
    rows.ready(account, now)
    picture = Path(site.MEDIA_ROOT) / Picture.objects.get().file
    os.utime(picture, ((now - YEARS).timestamp(),) * 2)
    thumbnails.make_thumbnail(Picture.objects.get())
    old = [
        lay("pictures/ab/abc-1-0.png", 2 * DAY, now),
        lay(f"pictures/ab/.{picture.name}.0123456789abcdef", 2 * DAY, now),
        lay("thumbnails/ab/00000000000000000000000000000000.webp", 2 * DAY, now),
    ]
    young = lay("pictures/ab/abd-1-0.png", timedelta(hours=23), now)
    assert run(now) == {"files": 3}
    assert [path for path in old if path.exists()] == []
    assert picture.exists()
    assert young.exists()


def test_files_that_cannot_be_removed_stand_in_the_way_of_no_other(now, monkeypatch):
    monkeypatch.setattr(chores, "BATCH", 2)
    laid = [lay(f"pictures/ab/{number}.png", 2 * DAY, now) for number in range(6)]
    stuck = set(os.listdir(laid[0].parent)[:3])
    unlink = Path.unlink

    def unlink_some(path: Path, missing_ok: bool = False) -> None:
        if path.name in stuck:
            raise PermissionError(1, "not permitted")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_some)
    assert run(now) == {"files": 3}
    assert {path.name for path in laid if path.exists()} == stuck


def test_other_folders_are_left_alone(now):
    stranger = lay("somewhere/else.png", 9 * DAY, now)
    assert run(now) == {}
    assert stranger.exists()


# The run


def test_a_run_is_bounded_and_the_next_goes_on(now, monkeypatch):
    monkeypatch.setattr(chores, "BATCH", 2)
    fail_tasks(5, now)
    removed = [run(now + YEARS, seconds=0).get("failed tasks") for _ in range(4)]
    assert removed == [2, 2, 1, None]


def test_a_chore_that_fails_stops_no_other(now, monkeypatch, caplog):
    fail_tasks(1, now)
    broken = housekeeping.Chore("broken", lambda now: 0, lambda now: 1 / 0)
    monkeypatch.setattr(housekeeping, "CHORES", (broken, *CHORES))
    assert run(now + YEARS) == {"failed tasks": 1}
    assert "Housekeeping of broken came to a stop" in caplog.text


def test_two_do_not_tidy_at_the_same_time(now):
    fail_tasks(1, now)
    other = housekeeping.uuid.uuid4()
    assert leases.take_duty(housekeeping.DUTY, other, now + YEARS, housekeeping.DUTY_LASTS)
    assert housekeeping.tidy_if_due(now + YEARS, seconds=1) == {}
    leases.drop_duty(housekeeping.DUTY, other)
    assert housekeeping.tidy_if_due(now + YEARS, seconds=1)["failed tasks"] == 1
    assert not Lease.objects.exists()


def test_it_is_a_schedule(now, clock):
    assert "jobs.processes.tasks.tidy" in {plan.func for plan in PLANS}
    fail_tasks(1, now)
    clock.move_to(now + YEARS)
    tasks.tidy()
    assert not Task.objects.exists()


def test_a_dry_run_counts_what_a_run_removes(everything, account, now, clock, capsys, settings):
    settings.VISITOR_PICTURES_KEPT = DAY
    fail_tasks(3, now)
    lay("pictures/ab/abc-1-0.png", 2 * DAY, now)
    clock.move_to(now + YEARS)
    states = [table.objects.count() for table in (Call, Event, Picture, Task)]
    call_command("tidy", "--dry-run")
    foretold = capsys.readouterr().out.replace("would be removed", "removed")
    assert [table.objects.count() for table in (Call, Event, Picture, Task)] == states
    call_command("tidy")
    assert capsys.readouterr().out == foretold
    assert "failed tasks: 0" not in foretold


def test_the_command_says_when_another_is_at_it(now, clock):
    other = housekeeping.uuid.uuid4()
    assert leases.take_duty(housekeeping.DUTY, other, now, housekeeping.DUTY_LASTS)
    with pytest.raises(CommandError, match="another process"):
        call_command("tidy")


def test_the_command_says_when_the_database_is_held(monkeypatch):
    def held(*given, **named):
        raise OperationalError("database is locked")

    monkeypatch.setattr(leases, "take_duty", held)
    with pytest.raises(CommandError, match="cannot be used now"):
        call_command("tidy")


def test_a_batch_is_few_statements(now, django_assert_max_num_queries):
    fail_tasks(6, now)
    assert BATCH == 200
    with django_assert_max_num_queries(5):
        assert housekeeping.tidy_failures(now + YEARS) == 6
    assert not Task.objects.exists()


def test_several_at_the_same_time_count_nothing_twice(each_database, tmp_path):
    answers = contend(each_database, "tidy", tmp_path, module="tests.jobs.tidiers")
    assert errors_in(answers) == []
    assert sum(answer["failed tasks"] for answer in answers) == 12
    assert read_rows(each_database, "SELECT COUNT(*) FROM django_q_task") == [(0,)]
