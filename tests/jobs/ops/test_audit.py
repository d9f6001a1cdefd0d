"""The audit: silent about a site at work, and each damage found by name."""

import json
import os
from datetime import timedelta

import pytest
import time_machine
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.db.models import PROTECT, CharField, ForeignKey

from jobs.core.models import Event, Job, Picture, Stage
from jobs.core.states import JobState
from jobs.ops import audit
from jobs.ops.audit import all_checks, rules
from providers.outcomes import Accepted, Cause, Rejected, Unknown
from quotas import accounts
from quotas.models import Account, Attempt
from tests import rows, working
from tests.fakes import made
from tests.jobs.damages import DAMAGES, forget, replace_field

pytestmark = pytest.mark.django_db


@pytest.fixture
def make(media, enqueued, now):
    """Make a job of `rows` by its name, by the real services. Whatever is done to the rows is
    undone before the test's own end asks the database whether its references are whole."""
    with transaction.atomic():
        operator = accounts.ensure_saved(accounts.account_named("operator"), now=now)
        yield lambda name: getattr(rows, name)(operator, now)
        transaction.set_rollback(True)


def run_audit(now, *arguments) -> int:
    """The exit code. Output is left to capsys."""
    with time_machine.travel(now, tick=False):
        try:
            call_command("audit", *arguments)
        except SystemExit as exc:
            return exc.code
    return 0


def found(now, *, deep: bool = False) -> dict[str, set[str]]:
    """{check: ids of the rows it names}"""
    names: dict[str, set[str]] = {}
    for violation in audit.violations(now, deep=deep):
        names.setdefault(violation.check, set()).update(violation.rows)
    return names


def test_a_job_in_every_state_is_no_violation(make, now):
    states = {make(way.__name__).state for way in rows.EVERY_STATE}
    assert states == set(JobState)
    assert found(now, deep=True) == {}


def test_an_empty_database_is_no_violation(db, media, now):
    assert found(now) == {}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: f"{damage.check}-{damage.of}")
def test_damage_is_found_by_name(make, now, damage):
    job = make(damage.of)
    forget(*damage.despite)
    row = damage.plant(job)
    violations = found(now, deep=True)
    assert str(row) in violations.get(damage.check, ()), violations


def test_every_check_has_a_damage_that_it_finds():
    planted = {damage.check for damage in DAMAGES}
    assert {check.name for check in all_checks()} - planted == set()


CONSTRAINTS = [
    constraint.name for model in rules.audited_models() for constraint in model._meta.constraints
]
REFERENCES = [
    (Job, "account"),
    (Event, "job"),
    (Stage, "job"),
    (Picture, "job"),
    (Attempt, "account"),
]


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_constraint_that_the_database_lost_is_named(make, now, name):
    forget(name)
    assert found(now) == {"database_enforces_rules": {name}}


@pytest.mark.parametrize(
    ("model", "name", "loose"),
    [
        (Job, "attempt", ForeignKey(Attempt, PROTECT, null=True)),
        (Account, "name", CharField(max_length=40, null=True)),
    ],
    ids=["job_attempt", "account_name"],
)
def test_a_unique_column_that_is_no_longer_unique_is_named(make, now, model, name, loose):
    replace_field(model, name, loose)
    rule = f"{model._meta.model_name}_{name}_once"
    assert found(now) == {"database_enforces_rules": {rule}}


@pytest.mark.parametrize(("model", "name"), REFERENCES)
def test_a_reference_that_the_database_lost_is_named(make, now, model, name):
    parent = model._meta.get_field(name).related_model
    replace_field(model, name, ForeignKey(parent, PROTECT, db_constraint=False))
    rule = f"{model._meta.model_name}_{name}_exists"
    assert found(now) == {"database_enforces_rules": {rule}}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL refuses it at the commit")
def test_a_row_that_refers_to_none_is_named(make, now):
    job = make("queued")
    Job.objects.filter(pk=job.pk).update(account=-1)
    assert "database_references_exist" in found(now)


def test_only_the_damaged_row_is_named(make, now):
    job = make("failed")
    Job.objects.filter(pk=job.pk).update(version=1)
    assert found(now) == {"version_counts_events": {str(job.pk)}}


def test_a_changed_byte_is_found_only_by_the_deep_look(make, now):
    damage = next(damage for damage in DAMAGES if damage.check == "picture_file_unchanged")
    damage.plant(make("ready"))
    assert found(now) == {}
    assert set(found(now, deep=True)) == {"picture_file_unchanged"}


def test_late_pictures_on_their_way_are_no_violation(make, now):
    """The two ends that a late result may take back: its save is open although the job ended."""
    done = rows._done()
    for name in ("failed_billed", "not_confirmed"):
        assert rows.news(make(name), done, now + timedelta(days=2)).ended_at
        assert found(now) == {}


def test_a_late_failure_is_no_violation(make, now):
    job = rows.news(make("not_confirmed"), Rejected(Cause("provider")), now + timedelta(days=2))
    assert job.attempt.state == "failed"
    assert found(now) == {}


@pytest.mark.parametrize(
    "answers",
    [
        [Accepted("run")],
        [Unknown(Cause("transport", rule="lost"))],
        [Rejected(Cause("balance", rule="refused"))],
        [Rejected(Cause("rate", rule="too_many", retry_after=0.0)), Accepted("run")],
    ],
    ids=["accepted", "unknown", "rejected", "busy"],
)
def test_nothing_is_wrong_at_any_commit_of_a_run(
    order, fake, monkeypatch, now, answers, django_capture_on_commit_callbacks
):
    """Looked at wherever a process could die: at every named point between two commits."""
    seen = {}
    monkeypatch.setattr(
        "jobs.core.faultpoints.reach", lambda point: seen.update({point: found(now)})
    )
    fake.submits = answers
    with time_machine.travel(now, tick=False) as clock:
        with django_capture_on_commit_callbacks(execute=True):
            job = order()
        for _ in range(len(answers)):
            working.advance(job.pk)
            clock.shift(timedelta(seconds=5))
        if rows.call_of(job).state == "accepted":
            rows.news(job, made(), now)
            working.advance(job.pk)
    assert {"job_committed", "generate_leased", "call_committed", "submit_recorded"} <= set(seen)
    assert all(violations == {} for violations in seen.values()), seen


def test_the_command_is_silent_and_ends_well_on_a_healthy_site(make, now, capsys):
    make("ready")
    assert run_audit(now) == 0
    assert capsys.readouterr().out == "audit: no violation\n"


def test_the_command_names_each_violation_in_a_line(make, now, capsys):
    job = make("ready")
    Job.objects.filter(pk=job.pk).update(version=1)
    assert run_audit(now) == 1
    line, last = capsys.readouterr().out.splitlines()
    assert line.startswith(f"version_counts_events: jobs_job {job.pk}: ")
    assert last == "audit: violations: 1"


def test_the_command_speaks_json(make, now, capsys):
    job = make("ready")
    job.pictures.update(size=1)
    assert run_audit(now, "--json") == 1
    [violation] = json.loads(capsys.readouterr().out)["violations"]
    assert violation == {
        "check": "picture_file_whole",
        "table": "jobs_picture",
        "rows": [str(job.pictures.get().pk)],
        "says": "A picture's file has another size.",
    }


def test_an_old_file_of_no_picture_is_only_a_note(make, media, now, capsys):
    make("ready")
    for name, age in (("left.png", timedelta(hours=2)), ("young.png", timedelta(0))):
        file = media / "pictures" / name
        file.write_bytes(b"x")
        os.utime(file, ((now - age).timestamp(),) * 2)
    assert run_audit(now) == 0
    assert capsys.readouterr().out.splitlines() == [
        "note: pictures/left.png belongs to no picture",
        "audit: no violation",
    ]


def test_a_database_that_is_away_is_one_line(db, monkeypatch, now, capsys):
    def away(*args, **kwargs):
        raise OperationalError("server closed the connection")

    monkeypatch.setattr("jobs.ops.audit.violations", away)
    assert run_audit(now) == 2
    assert capsys.readouterr().err == "audit: the database cannot be used now (OperationalError)\n"


def test_the_audit_writes_nothing(make, now):
    make("ready")
    with connection.execute_wrapper(only_reads):
        assert found(now) == {}


def only_reads(execute, sql, params, many, context):
    assert sql.lstrip().upper().startswith(("SELECT", "PRAGMA", "DECLARE")), sql
    return execute(sql, params, many, context)
