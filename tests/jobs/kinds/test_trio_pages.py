"""A second kind of job on the pages and in the emails that all kinds share."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs import kinds
from jobs.core.models import Job
from jobs.live import rendering
from jobs.notifications import notices
from jobs.ops import audit, housekeeping, smoke
from jobs.people import deletion, removal
from jobs.words.quota import read_quota
from quotas.models import Allowance
from tests import rows
from tests.jobs.kinds import trio

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.urls("tests.jobs.kinds.urls"),
    pytest.mark.usefixtures("clock", "enqueued"),
]


@pytest.fixture(autouse=True)
def registered(monkeypatch, settings):
    monkeypatch.setitem(kinds.KINDS, trio.KIND, trio.TRIO)
    settings.TEMPLATES = [
        {**engine, "DIRS": [*engine["DIRS"], Path(__file__).parent / "templates"]}
        for engine in settings.TEMPLATES
    ]


@pytest.fixture
def job(account, now) -> Job:
    return trio.order(account, now)


def page_of(client, job: Job) -> str:
    return client.get(reverse("job", args=[job.pk])).content.decode()


def end(job: Job, state: str = "ready") -> Job:
    Job.objects.filter(pk=job.pk).update(state=state, ended_at=timezone.now())
    return rows.again(job)


def test_its_page_shows_its_own_panel_words_and_allowance(ana_client, account, job):
    Allowance.objects.filter(plan=account.plan, kind=trio.KIND).update(slots=7)
    page = page_of(ana_client, job)
    assert f"Trio of {job.created_at:%H:%M}" in page
    assert "0 of 3 parts are done." in page
    assert "Three parts" in page
    assert "picture" not in page[page.index('id="_job_panel"') :]
    assert "<strong>6 left</strong>" in page


def test_header_links_to_each_order_form_and_counts_the_slots_of_each_kind(ana_client, job):
    page = " ".join(ana_client.get(reverse("home")).content.decode().split())
    assert '<a href="/trios/new">New trio</a>' in page
    assert "pictures: 10 of 10 slots left today" in page
    assert "contracts: 2 of 3 slots left today · 1 on hold" in page


def test_its_own_form_is_shown_again_with_what_was_typed_when_it_is_stale(db):
    client = Client(enforce_csrf_checks=True)
    client.get(reverse("sign_in"))
    answer = client.post("/trios/new", {"note": "My note"})
    assert answer.status_code == 403
    assert "This form is out of date." in answer.content.decode()
    assert 'value="My note"' in answer.content.decode()


def test_its_own_form_is_shown_again_with_what_was_typed_when_it_is_limited(ana_client):
    answer = ana_client.post("/trios/new", {"note": "My note"})
    assert answer.status_code == 429
    assert 'value="My note"' in answer.content.decode()


def test_a_plan_without_slots_of_its_kind_names_the_kind(account):
    Allowance.objects.filter(plan=account.plan, kind=trio.KIND).delete()
    assert read_quota(account, trio.KIND).refusal == "Your plan includes no contracts."


def test_its_stream_renders_the_same_panel(job):
    event = rendering.render(job.pk).event.decode()
    assert "0 of 3 parts are done." in event


def test_each_kind_has_its_own_entry_in_home_and_gallery(ana_client, account, job, now):
    end(job)
    picture = rows.ready(account, now)
    for address in ("home", "gallery"):
        page = ana_client.get(reverse(address)).content.decode()
        assert f'<li class="trio" id="tile-{job.pk}">' in page
        assert f'<li class="tile" id="tile-{picture.pk}">' in page


def test_lists_cost_as_many_queries_for_many_as_for_one(
    ana_client, account, job, now, django_assert_max_num_queries
):
    end(job)
    ana_client.get(reverse("gallery"))
    with django_assert_max_num_queries(40) as few:
        ana_client.get(reverse("gallery"))
    end(trio.order(account, now))
    with django_assert_max_num_queries(len(few)):
        ana_client.get(reverse("gallery"))


def test_its_email_uses_its_own_words(account, job):
    message = notices.message_about(end(job), "ana@example.org")
    assert message.body.startswith("Your trio from ")
    assert "picture" not in message.body


def test_its_owner_deletes_the_result_by_its_own_function(ana_client, job):
    end(job)
    page = ana_client.get(reverse("delete_result", args=[job.pk])).content.decode()
    assert "Delete this result?" in page
    response = ana_client.post(reverse("delete_result", args=[job.pk]), follow=True)
    assert "The trio was deleted." in response.content.decode()
    assert rows.again(job).result_deleted_at


def test_an_action_without_a_label_of_the_kind_is_not_offered(job):
    assert trio.WORDS.actions_for(end(job)) == ("delete",)


def test_the_title_of_the_tab_is_that_of_the_kind(job):
    assert "Trio of" in render_to_string("ui/_job_title.html", {"job": job})


def test_the_audit_finds_nothing_wrong_with_it(job):
    assert [found.check for found in audit.violations(timezone.now())] == []


def test_the_results_of_a_deleted_person_are_removed_by_its_own_function(ana, job, now):
    end(job)
    job.stages.update(done_at=now)
    deletion.delete_person(ana, deletion.Decider(None, "staff", "They left."), now, remove=True)
    removal.run(now, seconds=10)
    assert job.pk in trio.removed


def test_the_smoke_test_of_its_providers_orders_it(now):
    tested = smoke.tested_offers()
    assert tested["early"] == (trio.TRIO, trio.OFFERS["first"])
    test = smoke.begin(*tested["early"], now)
    job = Job.objects.of_work(test.work).get()
    assert (job.kind, test.provider) == (trio.KIND, "early")
    end(job)
    assert smoke.conclude_one(test, now)
    test.refresh_from_db()
    assert test.is_good


def test_the_audit_asks_its_own_checks(job):
    end(job)
    found = {violation.check: violation.rows for violation in audit.violations(timezone.now())}
    assert found["ready_trio_has_part"] == [str(job.pk)]


def test_housekeeping_does_its_own_chores(job, now):
    end(job)
    assert housekeeping.tidy(now + timedelta(hours=1), seconds=10)["trios of yesterday"] == 0
    assert housekeeping.tidy(now + timedelta(days=2), seconds=10)["trios of yesterday"] == 1
    assert rows.again(job).result_deleted_at
