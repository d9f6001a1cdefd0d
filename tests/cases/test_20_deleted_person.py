"""A person is deleted: what was theirs goes if staff want it to, and no ledger changes."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings as site
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from django_q.models import Task

from jobs.core import transitions
from jobs.core.events import EventName
from jobs.core.models import ActionName, Job, Picture, StaffAction, Stage
from jobs.ops import audit, housekeeping
from jobs.people import deletion, removal
from jobs.people.sign_in import bring_along
from jobs.pictures import follow
from jobs.processes import ticker
from providers.calls.models import Call, CallResult
from providers.outcomes import Artifact, Done
from quotas import accounts
from quotas.ledger import Refused, reserve
from quotas.models import Account, Attempt, Grant
from tests import rows, working
from tests.cases.test_attack_8_one_sign_in_holds_the_writer import cancelled
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "clock")]
MARK = "zinnober"
DAY = timedelta(days=1)


@pytest.fixture
def person(now) -> User:
    return User.objects.create_user(MARK, f"{MARK}@example.org")


@pytest.fixture
def account(person, now) -> Account:
    account = accounts.ensure_saved(accounts.account_of_user(person), now=now)
    account.plan.allowances.update(slots=500)
    return account


@pytest.fixture
def delete(staff_client, person, django_capture_on_commit_callbacks):
    """delete(remove=True) is the admin's page with its box ticked."""

    def delete(*, remove: bool) -> None:
        sent = {"post": "yes"} | ({"remove": "yes"} if remove else {})
        with django_capture_on_commit_callbacks(execute=True):
            staff_client.post(reverse("admin:auth_user_delete", args=[person.pk]), sent)
        assert not User.objects.filter(pk=person.pk).exists()

    return delete


def ledgers() -> tuple:
    calls = Call.objects.order_by("pk").values_list("work", "state", "cost", "cost_estimate")
    attempts = Attempt.objects.order_by("pk").values_list("account", "slot", "day", "state")
    return list(calls), list(attempts)


def places_of(text: str) -> set[str]:
    """Every table with a row that holds it, in sessions and pickled results too, and each file."""
    found = set()
    for model in apps.get_models(include_auto_created=True):
        for row in model._base_manager.values():
            if text in str(row).lower():
                found.add(model._meta.label)
    found |= {"Session" for row in Session.objects.all() if text in str(row.get_decoded())}
    files = [path for path in Path(site.MEDIA_ROOT).rglob("*") if path.is_file()]
    return found | {str(path) for path in files if text.encode() in path.read_bytes()}


def write_everywhere(person, account, staff, now) -> None:
    jobs = [way(account, now, prompt=MARK) for way in rows.EVERY_STATE]
    for job in jobs:
        transitions.record_event(job.pk, event=EventName.FETCH_FAILED, now=now, why=MARK)
    Job.objects.update(params={"provider": "sandbox", "model": "test-picture", "fault": MARK})
    Call.objects.update(detail=MARK, code=MARK, last_answer=MARK)
    CallResult.objects.all().delete()
    CallResult.objects.create(call=Call.objects.first(), position=0, url=MARK)
    said = {"reason": MARK, "subject": MARK, "by_name": "staff", "at": now, "facts": {"x": MARK}}
    for about in ({"account": account}, {"job": jobs[0]}, {"call": Call.objects.first()}):
        StaffAction.objects.create(action=ActionName.GRANT, by=staff, **said, **about)
    StaffAction.objects.create(action=ActionName.CHECK, by=person, **said | {
        "by_name": MARK, "reason": "x", "subject": "x", "facts": {}})  # fmt: skip
    Grant.objects.create(account=account, kind="image", day=now.date(), slots=1, reason=MARK,
                         granted_at=now)  # fmt: skip
    LogEntry.objects.create(user=staff, object_id=str(person.pk), object_repr=MARK,
                            content_type=ContentType.objects.get_for_model(User),
                            action_flag=CHANGE, change_message=MARK)  # fmt: skip
    for number, names in enumerate([(str(jobs[0].pk),), (jobs[0].stages.first().pk,)]):
        Task.objects.create(id=str(number), name="x", func="jobs.processes.tasks.advance",
                            args=names, result=MARK, success=False,
                            started=now, stopped=now)  # fmt: skip
    session = SessionStore()
    session.update({"_auth_user_id": str(person.pk), "seen": MARK})
    session.save()


def follow_to_the_end(now, callbacks) -> None:
    """As the site would: calls in doubt are given up, and housekeeping does the rest."""
    # A sender that never answered is in doubt first; a call is polled once more before its end.
    for call in [*Call.objects.filter(poll_at__isnull=False)] * 2:
        Call.objects.filter(pk=call.pk).update(polled_at=now)
        ticker._decide(Call.objects.get(pk=call.pk), now)
    with callbacks(execute=True):
        for stage in Stage.objects.unfinished().filter(name="save"):
            rows.delivered(stage.job, now)
        housekeeping.tidy(now, seconds=60)


def test_no_word_of_theirs_is_left_in_any_table_or_file(
    person, account, staff, delete, now, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        write_everywhere(person, account, staff, now)
    assert len(places_of(MARK)) >= 10
    delete(remove=True)
    follow_to_the_end(now + 8 * DAY, django_capture_on_commit_callbacks)
    assert places_of(MARK) == set()
    assert not any(path.is_file() for path in Path(site.MEDIA_ROOT).rglob("*"))


def test_prompts_and_pictures_go_at_once(person, account, delete, now):
    ready, sent = rows.ready(account, now, prompt=MARK), rows.generating(account, now, prompt=MARK)
    delete(remove=True)
    assert not Job.objects.filter(prompt__contains=MARK).exists()
    assert not Picture.objects.exists()
    assert [rows.again(job).state for job in (ready, sent)] == ["ready", "running"]


def test_the_ledgers_and_the_audit_stay_as_they_are(person, account, delete, now):
    for way in rows.EVERY_STATE:
        if way not in (rows.queued, rows.busy):
            way(account, now)
    before = ledgers(), [str(found) for found in audit.violations(now, deep=True)]
    delete(remove=True)
    assert (ledgers(), [str(found) for found in audit.violations(now, deep=True)]) == before


@pytest.mark.parametrize("remove", [True, False])
def test_what_waits_is_cancelled_and_what_was_sent_is_followed(account, delete, now, remove):
    queued, sent = rows.queued(account, now), rows.generating(account, now)
    delete(remove=remove)
    assert rows.again(queued).state == "cancelled"
    assert rows.again(queued).attempt.state == "failed"
    assert rows.again(sent).unwanted_at
    assert Call.objects.get().poll_at


@pytest.mark.parametrize("way", [rows.generating, rows.overdue, rows.saving])
def test_a_late_picture_is_paid_and_kept_by_nobody(
    account, delete, now, way, django_capture_on_commit_callbacks
):
    job = way(account, now, prompt=MARK)
    delete(remove=True)
    with django_capture_on_commit_callbacks(execute=True):
        made = job if way is rows.saving else rows.polled(job, rows._done(), now + DAY)
        rows.delivered(made, now + DAY)
    job = rows.again(job)
    assert (job.state, job.attempt.state, bool(job.result_deleted_at)) == ("ready", "success", True)
    assert Call.objects.get().cost is not None
    assert not Picture.objects.exists()
    assert not any(path.is_file() for path in Path(site.MEDIA_ROOT).rglob("*"))


@pytest.mark.parametrize("way", [rows.not_confirmed, rows.given_back, rows.failed_billed])
@pytest.mark.parametrize("unread", ["", f"an answer about {MARK}"])
def test_news_that_come_after_the_removal_are_removed_too(
    account, delete, now, way, unread, django_capture_on_commit_callbacks
):
    job = way(account, now, prompt=MARK)
    delete(remove=True)
    later = now + 8 * DAY
    with django_capture_on_commit_callbacks(execute=True):
        housekeeping.tidy(later, seconds=20)
        made = () if unread else (Artifact(url=f"http://127.0.0.1:1/{MARK}.png"),)
        rows.news(job, Done(made, Decimal("5.00"), unread=unread), later)
        follow.end_unfetched(working.take(job.pk, later + DAY), later + DAY, code=MARK)
        housekeeping.tidy(later + DAY, seconds=20)
    assert places_of(MARK) == set()


def test_a_call_in_doubt_is_pursued_to_its_end(account, delete, now):
    job = rows.lost(account, now, prompt=MARK)
    delete(remove=True)
    assert (rows.again(job).state, rows.again(job).prompt) == ("in_doubt", "")
    call = Call.objects.get()
    ticker._decide(call, call.give_up_at)
    assert rows.again(job).state == "not_confirmed"
    assert rows.again(job).attempt.state == "pending"


def test_without_removal_all_stays_and_says_whose_it_was(account, delete, now, staff_client):
    job = rows.ready(account, now, prompt=MARK)
    delete(remove=False)
    account.refresh_from_db()
    assert (account.user, account.closed_at, rows.again(job).prompt) == (None, now, MARK)
    assert f"former user, account {account.pk}" in str(account)
    assert "former user" in text_of(staff_client.get("/admin/quotas/account/"))


def test_ownerless_pictures_and_prompts_go_with_those_of_visitors(account, delete, now, settings):
    settings.VISITOR_PICTURES_KEPT = 30 * DAY
    rows.ready(account, now, prompt=MARK)
    delete(remove=False)
    assert housekeeping.tidy(now + 29 * DAY, seconds=60)["jobs of former users"] == 0
    assert housekeeping.tidy(now + 31 * DAY, seconds=60)["jobs of former users"] == 1
    assert (places_of(MARK) - {"admin.LogEntry"}, Picture.objects.count()) == (set(), 0)


@pytest.mark.parametrize("way", ["shell", "queryset"])
def test_a_user_deleted_by_the_orm_leaves_a_closed_account(person, account, now, way):
    queued = rows.queued(account, now)
    person.delete() if way == "shell" else User.objects.filter(pk=person.pk).delete()
    account.refresh_from_db()
    assert (account.closed_at, rows.again(queued).state) == (now, "cancelled")


def test_the_page_says_in_numbers_what_stays_and_offers_to_remove_the_rest(
    person, account, staff_client, now
):
    rows.ready(account, now)
    rows.queued(account, now)
    rows.generating(account, now)
    page = staff_client.get(reverse("admin:auth_user_delete", args=[person.pk]))
    for words in ("3 prompts", "1 picture (", "3 slots", "1 job is in the queue", "1 job was sent",
                  "Remove their prompts, pictures and texts"):  # fmt: skip
        assert words in text_of(page)


def test_several_are_deleted_from_the_list_with_the_same_words(
    person, account, ben, staff_client, now, django_capture_on_commit_callbacks
):
    rows.ready(account, now, prompt=MARK)
    chosen = {"action": "delete_selected", "_selected_action": [person.pk, ben.pk]}
    lists = reverse("admin:auth_user_changelist")
    assert "1 prompt" in text_of(staff_client.post(lists, chosen))
    with django_capture_on_commit_callbacks(execute=True):
        staff_client.post(lists, chosen | {"post": "yes", "remove": "yes"})
    assert User.objects.count() == 1
    assert places_of(MARK) == set()


def test_thousands_of_jobs_go_in_batches_and_the_queue_goes_on(
    account, delete, now, enqueued, monkeypatch
):
    monkeypatch.setattr(removal, "BATCH", 10)
    monkeypatch.setattr(deletion, "REMOVED_WITHIN", 0)
    cancelled(account, now, 35)
    Job.objects.update(prompt=MARK)
    delete(remove=True)
    assert ("jobs.processes.tasks.remove_texts", ()) in enqueued
    steps = [removal.clear_batch(now) for _ in range(5)]
    assert steps == [10, 10, 10, 5, 0]
    account.refresh_from_db()
    assert account.removed_at == now


def test_what_a_visitor_brought_along_goes_too(person, account, visitor, delete, now):
    rows.ready(visitor, now, prompt=MARK)
    bring_along(visitor=visitor.visitor, user=person, now=now)
    delete(remove=True)
    assert not Job.objects.exclude(prompt="").exists()


def test_the_command_says_first_and_does_it_then(person, account, now, capsys):
    rows.ready(account, now, prompt=MARK)
    call_command("forget", MARK)
    assert "Nothing was changed" in capsys.readouterr().out
    call_command("forget", MARK, "--yes")
    assert not User.objects.filter(username=MARK).exists()
    entry = StaffAction.objects.get()
    assert (entry.action, entry.subject, entry.by_name) == (
        "delete", f"user {person.pk}", "manage.py forget")  # fmt: skip


def test_who_deletes_themself_leaves_no_name(staff, staff_client, now):
    sent = {"post": "yes", "remove": "yes"}
    staff_client.post(reverse("admin:auth_user_delete", args=[staff.pk]), sent)
    assert StaffAction.objects.get().by_name == deletion.former_name(staff.pk)


def test_a_person_who_never_ordered_is_deleted(person, delete):
    delete(remove=True)
    assert places_of(MARK) == set()


def test_nothing_is_reserved_for_somebody_who_was_deleted(person, account, delete, now):
    on_its_way = Account.objects.get(pk=account.pk)
    delete(remove=False)
    refused = reserve(account=on_its_way, kind="image", now=timezone.now())
    assert isinstance(refused, Refused)
    assert refused.why == "closed"


def test_its_events_keep_their_number(account, delete, now):
    job = rows.ready(account, now)
    before = job.events.count()
    delete(remove=True)
    assert job.events.count() == before + 1
    assert list(audit.violations(now)) == []
