"""Staff read jobs and find them quickly."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.core.models import Job
from quotas.models import Grant
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = pytest.mark.django_db

LIST = reverse("admin:jobs_job_changelist")


def found(client, **query: str) -> set[str]:
    shown = client.get(LIST, query).content.decode()
    return {str(job.pk) for job in Job.objects.all() if f"/jobs/job/{job.pk}/change/" in shown}


def change_of(job: Job) -> str:
    return reverse("admin:jobs_job_change", args=[job.pk])


def queries_of(client, address: str) -> list[str]:
    with CaptureQueriesContext(connection) as caught:
        assert client.get(address).status_code == 200
    return [query["sql"] for query in caught.captured_queries]


def test_job_is_read_with_its_stages_events_and_pictures(staff_client, account, now):
    job = rows.ready(account, now)
    text = text_of(staff_client.get(change_of(job)))
    for part in (job.prompt, "generate", "reserved", job.pictures.get().file):
        assert part in text


@pytest.mark.parametrize("page", ["admin:jobs_job_change", "admin:jobs_job_delete"])
def test_job_is_not_edited(staff_client, account, now, page):
    job = rows.ready(account, now)
    response = staff_client.post(reverse(page, args=[job.pk]), {"state": "failed", "post": "yes"})
    assert response.status_code == 403
    assert rows.again(job).state == "ready"


def test_jobs_are_not_added(staff_client):
    assert staff_client.get(reverse("admin:jobs_job_add")).status_code == 403


def test_owner_has_no_way_in(ana_client):
    assert ana_client.get(LIST).status_code == 302


@pytest.mark.parametrize("cut", [36, 12, 8, 4])
def test_job_is_found_by_its_id_and_by_how_it_begins(staff_client, account, now, cut):
    job = rows.queued(account, now)
    assert str(job.pk) in found(staff_client, q=str(job.pk)[:cut])


def test_other_ids_are_not_found(staff_client, account, now):
    job = rows.queued(account, now)
    other = "0000" if not str(job.pk).startswith("0000") else "1111"
    assert found(staff_client, q=other) == set()


def test_jobs_are_found_by_their_account(staff_client, account, visitor, now):
    mine = rows.queued(account, now)
    rows.queued(visitor, now)
    assert found(staff_client, q=str(account.pk)) == {str(mine.pk)}


@pytest.mark.parametrize("term", ["nothing like an id", "²", "9" * 40, "%"])
def test_nonsense_finds_nothing(staff_client, account, now, term):
    rows.queued(account, now)
    assert found(staff_client, q=term) == set()


def test_jobs_are_filtered_by_state(staff_client, account, now):
    rows.queued(account, now)
    failed = rows.failed(account, now)
    assert found(staff_client, state__exact="failed") == {str(failed.pk)}


def test_list_tells_who_is_asked(staff_client, account, now):
    rows.queued(account, now)
    assert "sandbox:test-picture" in text_of(staff_client.get(LIST))


def test_list_and_job_link_to_the_earlier_try(staff_client, account, now):
    first, job = rows.failed(account, now), rows.queued(account, now)
    Job.objects.filter(pk=job.pk).update(retry_of=first, try_number=2)
    link = f'<a href="{change_of(first)}">{str(first.pk)[:8]}</a>'
    for address in (LIST, change_of(job)):
        assert link in staff_client.get(address).content.decode()


@pytest.mark.parametrize(
    ("make", "column", "label"),
    [
        (rows.unwanted, "unwanted_at", "User stopped waiting:"),
        (rows.deleted, "result_deleted_at", "Result deleted:"),
    ],
)
def test_list_and_job_show_owner_actions(staff_client, account, now, make, column, label):
    job = make(account, now)
    listed = staff_client.get(LIST).content.decode()
    assert re.search(f'class="field-{column}[^>]*>14 Mar 2026, 12:00:[0-9]+ UTC<', listed)
    assert f"{label} 14 Mar 2026, 12:00" in text_of(staff_client.get(change_of(job)))


def test_jobs_are_filtered_by_kind(staff_client, account, now):
    job = rows.queued(account, now)
    assert found(staff_client, kind="image") == {str(job.pk)}
    assert found(staff_client, kind="contract") == set()


def test_jobs_set_aside_are_filtered(staff_client, account, now):
    aside = rows.set_aside(account, timezone.now())
    rows.queued(account, now)
    assert found(staff_client, aside="yes") == {str(aside.pk)}


@pytest.mark.parametrize("count", [3, 60])
def test_list_costs_the_same_whatever_the_history(staff_client, account, now, count):
    Grant.objects.create(
        account=account, kind="image", day=now.date(), slots=100, reason="test", granted_at=now
    )
    for _ in range(count):
        job = rows.queued(account, now)
        Job.objects.filter(pk=job.pk).update(retry_of=job)
    assert len(queries_of(staff_client, LIST)) == 4


def test_list_counts_no_whole_table(staff_client, account, now):
    rows.queued(account, now)
    counts = [sql for sql in queries_of(staff_client, LIST) if "COUNT(" in sql]
    assert counts
    assert all("LIMIT 5000" in sql for sql in counts)


def test_site_has_its_name(staff_client):
    assert "Counterfoil" in text_of(staff_client.get("/admin/"))


def test_the_schedules_of_the_queue_are_not_for_staff_to_edit(staff_client):
    assert staff_client.get("/admin/django_q/schedule/").status_code == 404
    assert "/admin/django_q/schedule/" not in staff_client.get("/admin/").content.decode()
