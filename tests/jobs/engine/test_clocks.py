"""The clock was ahead when rows were written, and was set back: nothing waits for longer than it
ever waits, and nothing is concluded from such a time."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import DateTimeField
from django_q.brokers.orm import ORM
from django_q.models import OrmQ, Schedule
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.alerts import watch
from jobs.core import leases
from jobs.core.leases import CLOCKS_DIFFER
from jobs.core.models import Job, Lease, Stage
from jobs.engine import clocks, schedules
from jobs.engine.clocks import WAITS
from jobs.ops import housekeeping
from jobs.processes import ticker
from providers import recovery
from providers.calls.models import Call, Gate, Restore, SmokeTest
from providers.routing import gates
from quotas.models import Alert, Newcomer, Site, Unmeasured
from tests import rows, working
from tests.adapter_limits import ANSWER_TIMEOUT
from tests.fakes import ACCOUNT, made
from tests.providers.test_lost import listed  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "clock")]
HOUR, DAY, YEAR = timedelta(hours=1), timedelta(days=1), timedelta(days=365)
LEAPS = pytest.mark.parametrize("leap", [HOUR, DAY, YEAR], ids=["an hour", "a day", "a year"])

# Nothing waits for these: they say when something happened, or are looked after elsewhere.
RECORDS = {
    "Account.created_at", "Account.closed_at", "Account.removal_asked_at", "Account.removed_at",
    "Alert.seen_at", "Alert.closed_at", "Alert.mailed_at", "Alert.posted_at",
    "Attempt.reserved_at", "Attempt.settled_at",
    "Call.accepted_at", "Call.ended_at", "Call.late_at",
    "Event.at", "Grant.granted_at", "Hook.received_at",
    "Job.created_at", "Job.changed_at", "Job.ended_at", "Job.unwanted_at", "Job.notified_at",
    "Job.result_deleted_at", "Job.texts_removed_at",
    "Newcomer.taken_at", "Picture.created_at", "Restore.backup_made_at", "SmokeTest.ended_at",
    "UnreadResult.created_at", "UnreadResult.resolved_at", "StaffAction.at", "Stage.created_at",
    "Stage.done_at",
}  # fmt: skip
ELSEWHERE = {
    "Call.sent_at": "ledger.restart_sent_later", "Call.send_by": "connections.Wire",
    "Call.again_at": "pictures._is_ahead", "Heartbeat.asked_at": "heartbeats.ask_cluster",
    "Heartbeat.beat_at": "heartbeats._beat_within", "Lease.until": "leases.take_duty",
    "Unmeasured.last_at": "alarms.unmeasured_requests",
}  # fmt: skip


def test_every_instant_is_a_record_or_is_pulled_back():
    names = {
        f"{model.__name__}.{field.name}"
        for app in ("quotas", "providers", "jobs")
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.get_fields()
        if isinstance(field, DateTimeField)
    }
    waited_for = {f"{wait.model.__name__}.{wait.column}" for wait in WAITS}
    assert names - waited_for - RECORDS - ELSEWHERE.keys() == set()
    assert (RECORDS | ELSEWHERE.keys()) - names == set()


@pytest.fixture
def written(account, ana, now):
    """One row for each column that something waits for."""
    account.plan.allowances.update(slots=500)
    rows.queued(account, now)
    rows.generating(account, now)
    gate = {"provider": "sandbox", "why": "rate", "since": now, "paused_until": now}
    Gate.objects.create(**gate, exhausted_until=now, blocked_since=now)
    SmokeTest.objects.create(provider="sandbox", model="test-picture", began_at=now)
    Restore.objects.create(restored_at=now)
    Site.objects.get_or_create()
    Alert.objects.create(kind="silent", subject="x", opened_at=now, seen_at=now)
    Session.objects.create(session_key="s", session_data="", expire_date=now)
    OrmQ.objects.create(key="q", payload="", lock=now)
    assert working.take(rows.queued(account, now).pk, now)
    rows.lost(account, now)


@LEAPS
@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: f"{wait.model.__name__}.{wait.column}")
def test_no_column_lies_further_ahead_than_its_own_interval(written, now, wait, leap):
    rows_of_kind = wait.model.objects.filter(wait.rows)
    assert rows_of_kind.update(**{wait.column: now + leap + wait.longest()})
    clocks.pull_back(now)
    latest = max(rows_of_kind.values_list(wait.column, flat=True))
    assert latest <= now + wait.longest() + CLOCKS_DIFFER


def test_what_lies_within_its_interval_is_left_alone(written, now):
    before = [list(model.objects.values()) for model in (Stage, Call, Gate, Session, Job)]
    assert clocks.pull_back(now + CLOCKS_DIFFER) == 0
    assert [list(model.objects.values()) for model in (Stage, Call, Gate, Session, Job)] == before


def test_a_message_that_a_worker_has_taken_is_not_given_to_another(now):
    rests_until = ORM(list_key="q").timeout(task=None)
    OrmQ.objects.create(key="q", payload="", lock=rests_until)
    assert clocks.pull_back(now) == 0
    assert OrmQ.objects.get().lock == rests_until


@pytest.fixture
def site(fake, clock, monkeypatch):
    """site(at) is one tick at that instant, all polls answered."""
    active = ticker.Ticker()
    monkeypatch.setattr(active, "watch", lambda now: None)

    def tick(at: datetime) -> None:
        clock.move_to(at)
        assert active.tick()
        for future in active.polls:
            future.exception()
        active.collect()

    yield tick
    active.close()


@LEAPS
def test_an_order_of_the_future_is_woken_at_once(order, site, enqueued, now, leap):
    job = order(at=now + leap)
    Stage.objects.update(woken_at=None)
    site(now)
    assert ("jobs.processes.tasks.advance", (job.stages.get().pk,)) in enqueued


@LEAPS
def test_a_run_of_the_future_is_polled_at_once_and_delivered(order, fake, site, now, leap):
    job = order(at=now + leap)
    call = _send(job, now + leap)
    fake.polls["run_1"] = made()
    site(now)
    call.refresh_from_db()
    assert (call.state, rows.again(job).state) == ("succeeded", "running")


@LEAPS
def test_a_lease_of_the_future_lapses(order, site, enqueued, now, leap, settings):
    job = order()
    Stage.objects.update(due_at=now)
    assert working.take(job.pk, now)
    Stage.objects.update(leased_until=now + leap, lease_holder="elsewhere/1/1/x")
    site(now)
    assert Stage.objects.get().leased_until == now + settings.LEASE_LASTS
    enqueued.clear()
    site(now + settings.LEASE_LASTS + timedelta(seconds=1))
    assert ("jobs.processes.tasks.advance", (job.stages.get().pk,)) in enqueued


@LEAPS
def test_a_sender_of_the_future_is_in_doubt_after_its_whole_time_and_no_sooner(
    order, site, now, leap, settings
):
    job = order(at=now + leap)
    _send(job, now + leap, named=False)
    site(now)
    assert rows.again(job).state == "running"
    within = settings.SEND_WITHIN + timedelta(seconds=ANSWER_TIMEOUT)
    site(now + within - timedelta(seconds=1))
    assert rows.again(job).state == "running"
    site(now + within + timedelta(seconds=1))
    assert rows.again(job).state == "in_doubt"


def _send(job: Job, at: datetime, *, named: bool = True) -> Call:
    lease = working.take(job.pk, at)
    assert lease
    rows._open_call(job, at)
    if named:
        rows.news(job, rows.Accepted("run_1"), at)
    leases.release(lease, due_at=rows.call_of(job).deadline_at)
    return rows.call_of(job)


@LEAPS
def test_no_list_proves_anything_about_a_call_of_the_future(order, now, leap, settings):
    account = replace(ACCOUNT, key="the-key", key_exclusive=True)
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"fake": account}
    call = _send(order(at=now + leap), now + leap, named=False)
    assert recovery.why_not_to_ask(call) is None
    clocks.pull_back(now)
    call.refresh_from_db()
    assert recovery.why_not_to_ask(call) == "clock"


@LEAPS
@pytest.mark.parametrize("name", ["ticker", "alarms", "mail", "tidy"])
def test_a_duty_of_the_future_is_free(now, leap, name):
    Lease.objects.create(name=name, token=leases.uuid.uuid4(), holder="x/1/1/x", until=now + leap)
    lasts = min(leap / 2 - CLOCKS_DIFFER, timedelta(minutes=10))
    assert leases.take_duty(name, leases.uuid.uuid4(), now, lasts)


@LEAPS
def test_a_schedule_of_the_future_runs_within_its_own_interval(now, leap):
    schedules.ensure()
    for plan in schedules.PLANS:
        mine = Schedule.objects.filter(name=plan.name)
        mine.update(next_run=now + leap + timedelta(minutes=plan.minutes))
    schedules.ensure()
    for plan in schedules.PLANS:
        next_run = Schedule.objects.get(name=plan.name).next_run
        assert next_run <= now + timedelta(minutes=plan.minutes + 1)


@LEAPS
def test_a_pause_of_staff_stays_endless(now, leap):
    gates.pause("sandbox", now + leap)
    clocks.pull_back(now)
    gate = Gate.objects.get()
    assert (gate.why, gate.paused_until > now + YEAR) == (gates.STAFF, True)


@LEAPS
def test_a_gate_of_the_future_opens_by_its_next_success(now, leap):
    shut = {"why": "rate", "since": now + leap, "paused_until": now + leap}
    Gate.objects.create(provider="sandbox", model="test-picture", **shut)
    clocks.pull_back(now)
    gate = Gate.objects.get()
    assert gate.since <= now
    assert gate.paused_until <= now


def test_networks_of_days_to_come_are_forgotten(visitor, now):
    Newcomer.objects.create(network="192.0.2.1", day=(now + YEAR).date(), number=1, allowed=3,
                            account=visitor, taken_at=now)  # fmt: skip
    assert housekeeping.tidy(now, seconds=9)["new visitors"] == 1


def test_an_alert_about_what_a_clock_told_ends(now):
    row = {"day": (now + YEAR).date(), "why": "hangs", "requests": 1}
    Unmeasured.objects.create(**row, last_at=now + YEAR)
    assert list(watch.unmeasured_requests(now)) == []


@settings(max_examples=25)
@given(steps=st.lists(st.sampled_from([-365, -1, -0.04, 0.001, 0.04, 1, 365]), max_size=5))
def test_whatever_the_clock_did_nothing_is_due_too_late(steps):
    at = datetime(2026, 3, 14, 12, tzinfo=rows.datetime.now().astimezone().tzinfo)
    account = _account(at)
    for step in steps:
        at += timedelta(days=step)
        rows.generating(account, at)
    clocks.pull_back(at)
    for wait in WAITS:
        assert not wait.too_far(at).exists(), wait.column


def _account(at: datetime):
    from quotas import accounts

    user, _ = User.objects.get_or_create(username="ana")
    account = accounts.ensure_saved(accounts.account_of_user(user), now=at)
    account.plan.allowances.update(slots=500)
    return account
