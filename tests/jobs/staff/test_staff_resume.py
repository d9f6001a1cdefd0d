"""Staff set going what was set aside: asked first, with a reason, written down."""

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.core import leases
from jobs.core.models import Job, StaffAction
from jobs.staff.actions.base import ActionRefused, Decision
from jobs.staff.actions.resume_job import run as resume
from quotas.models import Grant
from tests import rows, working
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued")]

LIST = reverse("admin:jobs_job_changelist")
PAGE = reverse("admin:resume")
REASON = {"reason": "it has more memory now"}


@pytest.fixture
def decision(staff, now):
    return Decision(staff, REASON["reason"], now)


@pytest.fixture
def job(account, now):
    return rows.set_aside(account, now)


def door(*jobs: Job) -> str:
    return f"{PAGE}?" + "&".join(f"job={job.pk}" for job in jobs)


def is_aside(job: Job) -> bool:
    return leases.set_aside(timezone.now()).filter(job=job).exists()


def choose(client, *jobs: Job):
    fields = {"action": "resume", "_selected_action": [str(job.pk) for job in jobs]}
    return client.post(LIST, fields)


def test_the_stage_is_due_and_its_deaths_stay_counted(
    job, decision, now, enqueued, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        assert resume([job.pk], decision) == 1
    stage = job.stages.get()
    assert (stage.due_at, stage.woken_at, stage.tries) == (now, None, 3)
    assert enqueued == [("jobs.processes.tasks.advance", (job.stages.get().pk,))]
    assert working.take(job.pk, now)


def test_who_when_why_and_which_job_stay(job, decision, now):
    resume([job.pk], decision)
    entry = StaffAction.objects.get()
    assert (entry.action, entry.by_name, entry.reason) == ("resume", "staff", REASON["reason"])
    assert (entry.job_id, entry.account_id, entry.at) == (job.pk, job.account_id, now)
    assert (entry.subject, job.events.last().name) == (f"job {job.pk}", "resumed")


def test_a_second_time_is_refused_and_leaves_no_entry(job, decision):
    resume([job.pk], decision)
    with pytest.raises(ActionRefused, match="No stage of this job is set aside"):
        resume([job.pk], decision)
    assert StaffAction.objects.count() == 1


@pytest.mark.parametrize("make", [rows.queued, rows.busy, rows.generating, rows.ready])
def test_what_was_not_set_aside_is_left_alone(account, now, decision, make, job):
    other = make(account, now)
    due_at = list(other.stages.values_list("due_at", flat=True))
    assert resume([other.pk, job.pk], decision) == 1
    assert list(other.stages.values_list("due_at", flat=True)) == due_at
    assert StaffAction.objects.get().job_id == job.pk


def test_looking_says_what_will_happen_and_does_nothing(staff_client, job):
    text = text_of(staff_client.get(door(job)))
    for part in (
        str(job.pk),
        "generate",
        "14 Mar 12:30:00 UTC",
        "goes back in the queue now",
        "Nothing is sent twice",
    ):
        assert part in text
    assert is_aside(job)


@pytest.mark.parametrize("reason", ["", "  "])
def test_without_a_reason_it_goes_on_resting(staff_client, job, reason):
    answer = staff_client.post(door(job), {"reason": reason})
    assert "This field is required." in text_of(answer)
    assert is_aside(job)
    assert not StaffAction.objects.exists()


def test_a_jobs_page_leads_there_and_tells_of_it_afterwards(staff_client, job):
    page = reverse("admin:jobs_job_change", args=[job.pk])
    assert door(job) in staff_client.get(page).content.decode()
    told = staff_client.post(door(job), REASON, follow=True)
    assert "Resumed 1 job." in text_of(told)
    assert REASON["reason"] in text_of(told)
    assert door(job) not in told.content.decode()
    assert not is_aside(job)


def test_several_chosen_in_the_list_go_on(staff_client, account, now):
    jobs = [rows.set_aside(account, now) for _ in range(2)]
    asked = choose(staff_client, *jobs)
    assert all(is_aside(job) for job in jobs)
    told = staff_client.post(asked["Location"], REASON, follow=True)
    assert "Resumed 2 jobs." in text_of(told)
    assert not any(is_aside(job) for job in jobs)
    assert StaffAction.objects.filter(action="resume").count() == 2


def test_too_many_at_once_are_refused(staff_client, account, now, monkeypatch):
    monkeypatch.setattr("jobs.staff.admin.MOST_AT_ONCE", 1)
    chosen = choose(staff_client, *(rows.set_aside(account, now) for _ in range(2)))
    assert "At most 1 at once." in text_of(staff_client.get(chosen["Location"]))


@pytest.mark.parametrize("query", ["", "?job=", "?job=x", f"?job={'9' * 32}"])
def test_nothing_chosen_is_said(staff_client, query):
    answer = staff_client.get(f"{PAGE}{query}")
    assert "No job was chosen." in text_of(answer)
    assert staff_client.post(f"{PAGE}{query}", REASON).status_code == 409


def test_what_rests_no_more_is_said_in_the_place_of_the_form(staff_client, account, now):
    answer = staff_client.get(door(rows.ready(account, now)))
    assert "No stage of this job is set aside." in text_of(answer)
    assert 'name="reason"' not in answer.content.decode()


def test_it_needs_its_own_permission(staff, staff_client, job):
    staff.is_superuser = False
    staff.save()
    others = ["view_job", "change_job", "change_stage", "check_call", "give_slot_back"]
    staff.user_permissions.set(Permission.objects.filter(codename__in=others))
    assert staff_client.post(door(job), REASON).status_code == 403
    choose(staff_client, job)
    assert is_aside(job)
    staff.user_permissions.add(Permission.objects.get(codename="resume_job"))
    assert staff_client.post(door(job), REASON).status_code == 302
    assert not is_aside(job)


def test_its_owner_has_no_way_in(ana_client, job):
    assert "/admin/login/" in ana_client.post(door(job), REASON)["Location"]
    assert is_aside(job)


@pytest.mark.parametrize("count", [1, 20])
def test_its_page_costs_the_same_for_one_as_for_many(staff_client, account, now, count):
    Grant.objects.create(
        account=account, kind="image", day=now.date(), slots=100, reason="r", granted_at=now
    )
    jobs = [rows.set_aside(account, now) for _ in range(count)]
    with CaptureQueriesContext(connection) as caught:
        assert staff_client.get(door(*jobs)).status_code == 200
    assert len(caught) == 4
