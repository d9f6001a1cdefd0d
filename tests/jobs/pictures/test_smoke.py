"""The smoke test is a real order; its verdict is written once and told by an alert."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.utils import timezone

from jobs.alerts import alert_delivery, watch
from jobs.core.models import Job
from jobs.kinds import KINDS
from jobs.management.commands import smoke as command
from jobs.ops import audit, smoke
from jobs.pictures import owner_actions
from jobs.processes import tasks
from providers.calls.models import SmokeTest
from providers.outcomes import Cause, Rejected, Unknown
from providers.routing import gates
from quotas import accounts
from quotas.models import Account, Alert, AlertKind, Allowance
from tests import working
from tests.fakes import OFFER, SPARE, made

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "fake", "clock")]

HOUR = timedelta(hours=1)
IMAGE = KINDS["image"]
REFUSED = Rejected(Cause("provider", rule="own_error", http=500))


@pytest.fixture
def run(fake):
    """A test of the fake provider, its stages run as by a worker, and its verdict."""

    def run(*answers, provider=fake) -> SmokeTest:
        provider.submits += answers or [made()]
        test = smoke.begin(IMAGE, OFFER, timezone.now())
        return finish(test)

    return run


def job_of(test: SmokeTest) -> Job:
    return Job.objects.of_work(test.work).get()


def finish(test: SmokeTest) -> SmokeTest:
    working.advance(job_of(test).pk)
    smoke.conclude(timezone.now())
    test.refresh_from_db()
    return test


def alerts() -> list[tuple[str, str]]:
    watch.look(timezone.now())
    return list(Alert.objects.open().filter(kind=AlertKind.SMOKE).values_list("subject", "words"))


def test_it_is_an_order_of_the_operator_like_any_other(run, now):
    test = run()
    job = Job.objects.select_related("account", "attempt").get()
    assert (job.account.name, job.attempt.state, job.state) == ("operator", "success", "ready")
    assert (test.provider, test.model, test.work) == ("fake", "brush-1", f"image:{job.pk}")
    assert (test.is_good, test.ended_at, test.words) == (True, now, "")
    assert [str(found) for found in audit.violations(now)] == []


@pytest.mark.parametrize("answer", [REFUSED, Rejected(Cause("auth", rule="refused", http=401))])
def test_a_refusal_is_a_failure_in_words(run, answer):
    test = run(answer)
    assert test.is_good is False
    assert test.words


def test_a_picture_of_another_provider_proves_nothing(run, fake, spare):
    spare.submits.append(made())
    test = run(REFUSED)
    assert Job.objects.get().state == "ready"
    assert (test.is_good, test.words) == (
        False,
        "This provider did not make the picture. A fallback did.",
    )


def test_a_test_in_doubt_runs_until_its_time_is_over(run, clock):
    test = run(Unknown(Cause("transport", rule="lost")))
    assert test.ended_at is None
    clock.shift(smoke.LASTS)
    assert finish(test).words == "No result after 10 minutes."
    assert test.is_good is False


def test_a_verdict_is_written_once(run, clock):
    test = run()
    clock.shift(HOUR)
    assert not smoke.conclude_one(test, timezone.now())
    assert SmokeTest.objects.get().ended_at == timezone.now() - HOUR


def test_one_that_cannot_be_judged_stops_no_other_nor_the_alerts(run, clock, caplog, monkeypatch):
    odd = SmokeTest(provider="a", model="m", work="image:nonsense", began_at=timezone.now())
    odd.save()
    judge = smoke.conclude_one

    def fail_for_odd(test: SmokeTest, now: datetime) -> bool:
        if test == odd:
            raise ValueError("cannot be judged")
        return judge(test, now)

    monkeypatch.setattr(smoke, "conclude_one", fail_for_odd)
    test = smoke.begin(IMAGE, OFFER, timezone.now())
    working.advance(job_of(test).pk)
    clock.shift(smoke.LASTS)
    assert watch.look_if_due(timezone.now())
    test.refresh_from_db()
    assert test.ended_at
    assert Alert.objects.filter(kind=AlertKind.SMOKE).exists()
    assert "The smoke test of a cannot be judged" in caplog.text


def test_a_picture_that_somebody_deleted_was_made(fake, now):
    fake.submits.append(made())
    test = smoke.begin(IMAGE, OFFER, now)
    working.advance(job_of(test).pk)
    assert owner_actions.delete_result(job_of(test).pk, now)
    assert finish(test).is_good


def test_one_runs_at_a_time_for_a_provider(now):
    first, second = smoke.begin(IMAGE, OFFER, now), smoke.begin(IMAGE, OFFER, now)
    assert first == second
    assert Job.objects.count() == 1


def test_a_database_that_refuses_every_order_is_asked_no_more_than_twice(now, monkeypatch):
    asked = []

    def refuse(*given):
        asked.append(given)
        if len(asked) > 5:
            pytest.fail("asked for ever")
        raise IntegrityError

    monkeypatch.setattr(smoke, "_order", refuse)
    with pytest.raises(IntegrityError):
        smoke.begin(IMAGE, OFFER, now)
    assert len(asked) == 2


def test_a_full_day_of_the_operator_is_a_failure(now):
    Allowance.objects.filter(plan__name=accounts.OPERATOR).update(slots=0)
    test = smoke.begin(IMAGE, OFFER, now)
    assert (test.is_good, test.work) == (False, "")
    assert "operator" in test.words
    assert not Job.objects.exists()


def test_each_provider_is_tested_with_what_it_is_asked_for_first(spare, settings):
    settings.IMAGE_MODELS = [str(OFFER), "fake:brush-9"]
    assert smoke.tested_offers() == {"fake": (IMAGE, OFFER), "spare": (IMAGE, SPARE)}


# Every day


def test_nothing_is_ordered_unless_it_is_switched_on(settings):
    assert settings.SMOKE_DAILY is False
    tasks.begin_smoke_tests()
    assert not Job.objects.exists()


def test_switched_on_each_provider_is_tested_once_a_day(spare, settings, clock):
    settings.SMOKE_DAILY = True
    for _ in range(48):
        tasks.begin_smoke_tests()
        for test in SmokeTest.objects.running():
            finish(test)
        smoke.conclude(timezone.now() + smoke.LASTS)
        clock.shift(HOUR)
    tested = SmokeTest.objects.order_by("began_at", "pk").values_list("provider", flat=True)
    assert list(tested) == ["fake", "spare"] * 3


def test_a_provider_that_is_not_asked_is_not_tested(settings, now):
    settings.SMOKE_DAILY = True
    SmokeTest.objects.create(
        provider="gone", model="x", began_at=now, ended_at=now, is_good=False, words="x"
    )
    assert [test.provider for test in smoke.begin_due(now)] == ["fake"]
    assert alerts() == []


def test_a_provider_that_staff_have_paused_is_tested_once_it_is_let_in(settings, now):
    settings.SMOKE_DAILY = True
    gates.pause("fake", now)
    assert smoke.begin_due(now) == []
    assert not Job.objects.exists()
    gates.resume("fake")
    later = now + smoke.DUTY_LASTS
    assert [test.provider for test in smoke.begin_due(later)] == ["fake"]


# What staff are told


def test_a_failure_is_told_until_a_good_one(run, clock):
    run(REFUSED)
    assert [subject for subject, _ in alerts()] == ["fake"]
    clock.shift(HOUR)
    assert [subject for subject, _ in alerts()] == ["fake"]
    run()
    assert alerts() == []
    assert Alert.objects.filter(kind=AlertKind.SMOKE).count() == 1


def test_a_failure_is_mailed_once(run, clock, settings):
    settings.ALERT_EMAILS = ["ops@example.org"]
    run(REFUSED)
    for _ in range(3):
        alerts()
        alert_delivery.send_due(timezone.now())
        clock.shift(HOUR)
    told = [message.subject for message in mail.outbox]
    assert [subject for subject in told if "smoke test" in subject] == [
        "Alert: smoke test failed or stale: fake · Counterfoil"
    ]


def test_a_running_one_leaves_what_was_told(run, clock, now):
    run(REFUSED)
    assert len(alerts()) == 1
    clock.shift(HOUR)
    smoke.begin(IMAGE, OFFER, timezone.now())
    assert len(alerts()) == 1


def test_a_stale_one_is_told_where_it_is_daily(run, clock, settings):
    run()
    clock.shift(smoke.STALE_AFTER)
    assert alerts() == []
    settings.SMOKE_DAILY = True
    assert [subject for subject, _ in alerts()] == ["fake"]


def test_staff_are_told_of_no_test_while_they_have_paused_the_provider(run, clock, settings, now):
    settings.SMOKE_DAILY = True
    run()
    gates.pause("fake", now)
    clock.shift(smoke.STALE_AFTER)
    assert alerts() == []
    gates.resume("fake")
    assert [subject for subject, _ in alerts()] == ["fake"]


def test_the_look_writes_the_verdict(fake, now):
    fake.submits.append(REFUSED)
    working.advance(job_of(smoke.begin(IMAGE, OFFER, now)).pk)
    assert watch.look_if_due(now)
    assert Alert.objects.open().filter(kind=AlertKind.SMOKE).count() == 1


# The command


@pytest.fixture
def call(monkeypatch, capsys, clock) -> Callable:
    """The command beside a worker: each of its pauses is a turn of that."""

    def pause(seconds: float) -> None:
        for test in SmokeTest.objects.running():
            working.advance(job_of(test).pk)
        clock.shift(timedelta(seconds=1))

    def call(*arguments: str) -> tuple[int, str]:
        clock_of_command = SimpleNamespace(monotonic=time.monotonic, sleep=pause)
        monkeypatch.setattr(command, "time", clock_of_command)
        try:
            call_command("smoke", *arguments)
        except SystemExit as exc:
            return exc.code, capsys.readouterr().out
        return 0, capsys.readouterr().out

    return call


def test_the_command_prints_a_line_for_each_provider(call, fake, spare):
    fake.submits.append(made())
    spare.submits.append(made())
    assert call() == (0, "fake: good, 1.0 s (brush-1)\nspare: good, 2.0 s (brush-2)\n")


def test_the_command_fails_where_one_fails(call, fake, spare):
    fake.submits.append(made())
    spare.submits.append(REFUSED)
    code, said = call()
    assert (code, said.splitlines()[0]) == (1, "fake: good, 1.0 s (brush-1)")
    assert said.splitlines()[1].startswith("spare: failed: ")


def test_the_command_tests_one_alone(call, fake, spare):
    spare.submits.append(made())
    assert call("--provider", "spare") == (0, "spare: good, 1.0 s (brush-2)\n")
    assert fake.sent == []


def test_the_command_waits_no_longer_than_it_is_told(call):
    code, said = call("--timeout", "0")
    assert (code, said) == (1, "fake: not done in time: no worker or ticker is alive\n")
    assert SmokeTest.objects.running().count() == 1


def test_the_command_knows_no_other_provider(call):
    with pytest.raises(CommandError, match="--provider must be one of fake"):
        call("--provider", "polza")
    assert not Account.objects.exists()
