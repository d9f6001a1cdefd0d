"""`manage.py generate`: the same path as the form's, its exit codes, and what it says where."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone

from jobs import outcomes
from jobs.core.models import Heartbeat, Job
from jobs.engine import incoming
from jobs.management.commands import generate
from jobs.pictures.orders import order_picture
from providers.outcomes import Cause, Failed, Rejected, Unknown
from quotas import ledger
from quotas.models import Account, Attempt
from tests import rows
from tests.jobs.pictures.generate_steps import PICTURE, answer, job, send

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _quiet(enqueued, clock, monkeypatch):
    """Nothing is sent to a real queue, the time stands still unless a pause moves it, and the
    connection with the test's transaction outlives the outages that a test makes up."""
    monkeypatch.setattr(connection, "close_if_unusable_or_obsolete", lambda: None)


@pytest.fixture
def sandbox(settings):
    settings.IMAGE_MODELS = ["sandbox:test-picture"]


@pytest.fixture
def run(capsys, alive) -> Callable[..., Ended]:
    alive()

    def command(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as exit:
            call_command("generate", *arguments)
        said = capsys.readouterr()
        return Ended(exit.value.code or 0, said.out, said.err)

    return command


@pytest.fixture
def meanwhile(monkeypatch, clock):
    """What happens while the command pauses: a step a pause, and a second goes by each time."""

    def script(*steps: Callable[[], object]) -> None:
        left = list(steps)

        def pause(seconds: float) -> None:
            assert left, "waits on after the last step"
            left.pop(0)()
            clock.shift(timedelta(seconds=1))

        monkeypatch.setattr(generate, "pause", pause)

    return script


# What is ordered, and for whom


def test_an_order_is_in_the_queue_and_ends_well(run, sandbox):
    ended = run("a fox", "--json")
    assert ended.code == 0
    assert ended.json == {
        "job": str(job().pk),
        "state": "queued",
        "attempt": {"day": "2026-03-14", "slot": 1, "state": "pending"},
        "calls": [],
        "pictures": [],
        "error": None,
    }


def test_the_queue_gets_the_job(run, sandbox, enqueued, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        run("a fox")
    assert enqueued == [("jobs.processes.tasks.advance", (job().stages.get().pk,))]


def test_no_account_means_the_operator(run, sandbox):
    run("a fox")
    assert (job().account.name, job().account.plan.name) == ("operator", "operator")


def test_a_named_account_is_made_on_first_use_and_found_again(run, sandbox):
    for _ in range(2):
        assert run("a fox", "--account", "press").code == 0
    assert Account.objects.get(name="press").jobs.count() == 2


def test_the_name_of_a_user_is_the_account_of_the_user(run, sandbox, account):
    run("a fox", "--account", "ana")
    assert job().account == account


def test_plan_is_that_of_the_new_account(run, sandbox):
    run("a fox", "--account", "press", "--plan", "paid")
    assert job().attempt.allowed == 50


def test_plan_becomes_that_of_an_account_that_exists(run, sandbox, account):
    run("a fox", "--account", "ana", "--plan", "visitor")
    account.refresh_from_db()
    assert account.plan.name == "visitor"
    assert job().attempt.allowed == 3


def test_fault_and_shape_reach_the_job(run, sandbox):
    run("a fox", "--fault", "drop_after", "--aspect-ratio", "16:9")
    assert job().params["fault"] == "drop_after"
    assert job().params["aspect_ratio"] == "16:9"


def test_a_model_is_chosen_among_those_of_the_site(run, settings):
    settings.IMAGE_MODELS = ["polza:one", "polza:two"]
    run("a fox", "--model", "polza:two")
    assert job().params["model"] == "two"


# What is refused


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["  "], "generate: the prompt: Enter a prompt that says what should be in the picture."),
        (["x" * 2001], "generate: the prompt: Use 2000 characters or fewer. Your prompt has 2001."),
        (["a \udcff"], "generate: the prompt is not valid UTF-8"),
        (["a fox", "--aspect-ratio", "7:1"], "generate: --aspect-ratio: Select a valid choice."),
        (["a fox", "--fault", "flood"], "generate: --fault: Select a valid choice."),
        (["a fox", "--model", "nobody:x"], "generate: --model is one of sandbox:test-picture"),
        (["a fox", "--plan", "gold"], "generate: --plan is one of visitor, free, paid, operator"),
        (["a fox", "--account", ""], "generate: --account is a name of 1 to 150 characters"),
    ],
    ids=["blank", "long", "bytes", "shape", "fault", "model", "plan", "account"],
)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(run, sandbox, arguments, says):
    ended = run(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith(says)
    assert ended.err.count("\n") == 1
    assert not Job.objects.exists()
    assert not Account.objects.exists()


def test_a_fault_is_for_the_sandbox_alone(run, settings):
    settings.IMAGE_MODELS = ["polza:one", "sandbox:test-picture"]
    assert run("a fox", "--fault", "fail").err == (
        "generate: --fault works only with the sandbox, not with polza:one\n"
    )
    assert run("a fox", "--fault", "fail", "--model", "sandbox:test-picture").code == 0


def test_a_full_day_is_refused_and_says_when_it_renews(run, sandbox):
    for _ in range(3):
        assert run("a fox", "--account", "press", "--plan", "visitor").code == 0
    ended = run("a fox", "--account", "press", "--json")
    assert ended.code == 2
    assert ended.json["job"] is None
    assert ended.json["error"] == "full"
    assert ended.err == (
        "generate: no slot left today: 0 used and 3 on hold of 3; "
        "the day renews in 12 h 0 min (00:00 UTC)\n"
    )


def test_too_many_tries_of_a_day_are_refused(run, sandbox, now):
    run("a fox", "--account", "press", "--plan", "visitor")
    Attempt.objects.update(state="failed", settled_at=now)
    for _ in range(3 * 3 + 4):
        attempt = ledger.reserve(account=job().account, kind="image", now=now)
        ledger.settle(attempt_id=attempt.pk, state="failed", now=now)
    ended = run("a fox", "--account", "press")
    assert (ended.code, Job.objects.count()) == (2, 1)
    assert ended.err.startswith("generate: too many failed tries today")


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_timeout_is_a_number_of_seconds(sandbox, seconds):
    with pytest.raises(CommandError, match="a number of seconds above 0"):
        call_command("generate", "a fox", "--wait", "--timeout", seconds)


# How it ends with --wait


def test_ready_is_0_and_names_the_files(run, sandbox, meanwhile):
    meanwhile(*PICTURE)
    ended = run("a fox", "--wait", "--json")
    report = ended.json
    assert (ended.code, report["state"], report["error"]) == (0, "ready", None)
    assert report["attempt"]["state"] == "success"
    [path] = map(Path, report["pictures"])
    assert path.is_absolute()
    assert path.read_bytes() == rows.a_picture()
    assert report["calls"] == [
        {
            "id": rows.call_of(job()).pk,
            "provider": "sandbox",
            "model": "test-picture",
            "reference": "run-1",
            "state": "succeeded",
            "cost": "5.00",
            "cost_estimate": "5.00",
            "currency": "RUB",
        }
    ]


@pytest.mark.parametrize(
    ("news", "code", "state", "attempt", "error"),
    [
        (Rejected(Cause("balance", rule="refused")), 1, "failed", "failed", "balance"),
        (Failed(Cause("content")), 1, "failed", "failed", "content"),
        (Unknown(Cause("transport", rule="lost")), 3, "in_doubt", "pending", "transport"),
    ],
    ids=["rejected", "failed", "unknown"],
)
def test_other_ends(run, sandbox, meanwhile, news, code, state, attempt, error):
    meanwhile(send, answer(news))
    ended = run("a fox", "--wait", "--json")
    report = ended.json
    assert ended.code == code
    assert (report["state"], report["error"]) == (state, error)
    assert report["attempt"]["state"] == attempt
    assert report["pictures"] == []


def test_cancelled_meanwhile_is_1(run, sandbox, meanwhile):
    meanwhile(lambda: outcomes.cancel(job().pk, timezone.now()))
    assert run("a fox", "--wait").code == 1


def test_not_confirmed_is_3(run, sandbox, meanwhile):
    def give_up() -> None:
        answer(Unknown(Cause("transport", rule="lost")))()
        incoming.give_up(rows.call_of(job()), timezone.now())

    meanwhile(send, give_up)
    ended = run("a fox", "--wait", "--json")
    assert (ended.code, ended.json["state"]) == (3, "not_confirmed")


def test_a_429_is_no_end(run, sandbox, meanwhile):
    meanwhile(send, answer(Rejected(Cause("rate", rule="too_many"))), *PICTURE)
    assert run("a fox", "--wait").code == 0


def test_timeout_is_3_and_the_job_goes_on(run, sandbox, meanwhile, monkeypatch):
    meanwhile(send, lambda: None, lambda: None)
    seconds = iter([0.0, 0.1, 0.1, 0.6, 0.6, 1.1])
    monkeypatch.setattr(generate, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    ended = run("a fox", "--wait", "--timeout", "1", "--json")
    assert (ended.code, ended.json["state"]) == (3, "running")
    assert ended.err == "generate: timed out; the job is running and continues\n"
    assert job().state == "running"


def test_each_change_is_one_readable_line(run, sandbox, meanwhile):
    meanwhile(*PICTURE)
    lines = run("a fox", "--wait").out.splitlines()
    assert lines[0] == f"job {job().pk}"
    assert [line.partition(" ")[2] for line in lines[1:-1]] == [
        "Slot 1 of 14 Mar was reserved.",
        "Sent to sandbox, model test-picture.",
        "The provider accepted the request.",
        "The picture was made.",
        "The picture is ready.",
    ]
    assert lines[-1].startswith("ready: /")


def test_a_failure_ends_with_its_reason_in_words(run, sandbox, meanwhile):
    meanwhile(send, answer(Rejected(Cause("content", rule="refused"))))
    assert run("a fox", "--wait").out.splitlines()[-1] == (
        "failed: content: The provider refused this prompt because of its content rules."
    )


def test_ctrl_c_leaves_the_job_alone(run, sandbox, meanwhile):
    def interrupt() -> None:
        raise KeyboardInterrupt

    meanwhile(send, interrupt)
    ended = run("a fox", "--wait")
    assert (ended.code, job().state) == (130, "running")
    assert ended.err == "generate: stopped waiting; the job continues\n"


# When something is away


@pytest.mark.parametrize(
    ("silent", "says"),
    [
        (["worker"], "no worker cluster is alive"),
        (["ticker"], "no ticker is alive"),
        (["worker", "ticker"], "no ticker is alive and no worker was heard of lately"),
    ],
    ids=["cluster", "ticker", "both"],
)
def test_who_is_not_alive_is_said_in_one_line(run, sandbox, silent, says, now):
    Heartbeat.objects.filter(name__in=silent).update(beat_at=now - timedelta(hours=1))
    ended = run("a fox", "--json")
    assert (ended.code, ended.json["state"]) == (0, "queued")
    assert ended.err == f"generate: {says}: the job keeps its place until one is\n"


def test_a_living_site_says_nothing_on_stderr(run, sandbox):
    assert run("a fox").err == ""


def test_an_outage_while_waiting_is_one_line_and_waiting_goes_on(
    run, sandbox, meanwhile, monkeypatch
):
    real = generate.build_report

    def away(job):
        raise OperationalError("the database system is shutting down")

    def set_report(function) -> Callable[[], None]:
        return lambda: monkeypatch.setattr(generate, "build_report", function)

    meanwhile(set_report(away), lambda: None, lambda: None, set_report(real), *PICTURE)
    ended = run("a fox", "--wait", "--json")
    assert (ended.code, ended.json["state"]) == (0, "ready")
    assert (
        ended.err == "generate: the database cannot be used now (OperationalError); still waiting\n"
    )


def test_a_database_that_takes_no_order_is_one_line(run, sandbox, monkeypatch):
    def away(**kwargs):
        raise OperationalError("attempt to write a readonly database")

    monkeypatch.setattr("jobs.pictures.cli.order_picture", away)
    ended = run("a fox", "--json")
    assert (ended.code, ended.json["error"]) == (2, "database")
    assert ended.err == (
        "generate: no order can be taken: the database cannot be used now (OperationalError)\n"
    )


def test_a_commit_whose_answer_was_lost_is_found_by_its_form(run, sandbox, monkeypatch):
    def lose_the_answer(**kwargs):
        order_picture(**kwargs)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("jobs.pictures.cli.order_picture", lose_the_answer)
    ended = run("a fox", "--json")
    assert (ended.code, ended.json["job"]) == (0, str(job().pk))


def test_an_order_of_which_nothing_can_be_known_is_in_doubt(run, sandbox, monkeypatch):
    def away(*args, **kwargs):
        raise OperationalError("no route to host")

    monkeypatch.setattr("jobs.pictures.cli.order_picture", away)
    monkeypatch.setattr("jobs.pictures.cli.Job.objects.filter", away)
    ended = run("a fox")
    assert ended.code == 3
    assert ended.err == "generate: lost the database; the job may or may not have been created\n"


def test_a_database_that_is_not_set_up_is_one_line(run, sandbox, monkeypatch):
    def missing(name):
        raise OperationalError("no such table: quotas_account")

    monkeypatch.setattr("quotas.accounts.account_named", missing)
    ended = run("a fox")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
