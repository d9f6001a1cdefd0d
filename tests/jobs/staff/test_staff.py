"""What staff decide: its effect on attempt, call and job, its entry, and when it is refused."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.core.models import StaffAction, Stage
from jobs.engine import incoming
from jobs.engine.recovery import follow
from jobs.ops import audit
from jobs.panels import build_panel
from jobs.processes.ticker import Ticker
from jobs.staff.actions.attach import run as attach
from jobs.staff.actions.base import ActionRefused, Decision
from jobs.staff.actions.check import run as check_now
from jobs.staff.actions.give_back import run as give_back
from providers.calls.models import Call
from providers.outcomes import Accepted, Cause, Failed, Listing, Rejected, Run, Unknown
from providers.webhooks import store as hooks
from providers.wire.verifiers import WebhookNotice
from quotas.ledger import read_balance
from tests import rows
from tests.jobs.staff.conftest import HOUR, REASON

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued", "media")]

SECOND = timedelta(seconds=1)


@pytest.fixture
def soon(staff, now):
    """While what was sent at `now` is not late yet."""
    return Decision(staff, REASON, now + 9 * SECOND)


def left(account, now) -> int:
    return read_balance(account, "image", now.date()).left


def states(job) -> tuple[str, str, str]:
    """Of attempt, call and job."""
    job = rows.again(job)
    return job.attempt.state, rows.call_of(job).state, job.state


def given_back(account, decision, now):
    job = rows.lost(account, now)
    give_back(rows.call_of(job).pk, decision)
    return rows.again(job)


class TestGiveBack:
    @pytest.mark.parametrize("make", [rows.lost, rows.overdue, rows.silent])
    def test_attempt_and_job_have_failed_and_the_call_is_pursued(
        self, account, decision, now, make
    ):
        job = make(account, now)
        before = rows.call_of(job)
        give_back(before.pk, decision)
        call = rows.call_of(job)
        assert states(job) == ("failed", "given_up", "failed")
        assert rows.again(job).reason == "given_back"
        assert (call.poll_at, call.give_up_at) == (before.poll_at, before.give_up_at)
        assert left(account, now) == 10

    def test_it_counts_as_one_that_may_have_cost_money(self, account, decision, now):
        assert not given_back(account, decision, now).attempt.cost_nothing

    def test_its_person_reads_a_decision_and_no_finding(self, account, decision, now):
        panel = build_panel(given_back(account, decision, now))
        assert panel["sentences"] == [
            (
                "We have not found out whether the picture was made. If it still arrives, it "
                "is yours and uses no slot."
            ),
            "Your slot was given back.",
        ]
        assert panel["actions"] == ("again",)
        assert panel["history"][-1][1].startswith("Staff gave the slot back.")

    def test_no_stage_is_left_to_be_run(self, account, decision, now):
        job = given_back(account, decision, now)
        assert not Stage.objects.unfinished().filter(job=job).exists()

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (rows.sending, "This call is being sent"),
            (rows.generating, "This call is not in doubt"),
            (rows.saving, "The outcome of this call is known: succeeded."),
            (rows.ready, "The outcome of this call is known: succeeded."),
            (rows.failed, "The outcome of this call is known: rejected."),
            (rows.failed_billed, "The outcome of this call is known: failed."),
            (rows.not_confirmed, "gave up the call at the end of its retention"),
        ],
    )
    def test_it_is_refused_in_words(self, account, soon, now, make, words):
        job = make(account, now)
        before = states(job)
        with pytest.raises(ActionRefused, match=words):
            give_back(rows.call_of(job).pk, soon)
        assert states(job) == before
        assert not StaffAction.objects.exists()

    def test_a_second_time_is_refused(self, account, decision, now):
        job = given_back(account, decision, now)
        with pytest.raises(ActionRefused, match="already been given back"):
            give_back(rows.call_of(job).pk, decision)
        assert StaffAction.objects.count() == 1

    def test_what_happens_between_look_and_decision_undoes_it_whole(
        self, account, decision, now, monkeypatch
    ):
        job = rows.lost(account, now)
        monkeypatch.setattr("jobs.settling.quota.settle", lambda **wanted: False)
        with pytest.raises(ActionRefused, match="Something changed"):
            give_back(rows.call_of(job).pk, decision)
        assert states(job) == ("pending", "unknown", "in_doubt")


class TestLateTruth:
    def test_a_picture_is_delivered_and_takes_no_slot(self, account, decision, now):
        job = given_back(account, decision, now)
        rows.news(job, rows._done(), now + 2 * HOUR)
        job = rows.delivered(job, now + 2 * HOUR)
        assert states(job) == ("failed", "given_up", "ready")
        assert rows.call_of(job).late_outcome == "succeeded"
        assert left(account, now) == 10
        assert "this picture used none" in " ".join(build_panel(job)["sentences"])

    @pytest.mark.parametrize(
        "answer",
        [Failed(Cause("provider"), None), Rejected(Cause("transport", rule="not_executed"))],
    )
    def test_a_failure_is_told(self, account, decision, now, answer):
        job = rows.news(given_back(account, decision, now), answer, now + 2 * HOUR)
        assert states(job) == ("failed", "given_up", "failed")
        assert build_panel(job)["sentences"][0] == "We found out later that no picture was made."

    def test_the_providers_list_is_searched_for_it_all_the_same(
        self, account, decision, now, settings
    ):
        name = rows.OFFER.provider
        word = replace(settings.PROVIDER_ACCOUNTS[name], key_exclusive=True)
        settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {name: word}
        job = given_back(account, decision, now)
        call = rows.call_of(job)
        run = Run("gen_1", call.model, call.sent_at + SECOND)
        follow(call, Listing((run,), now + HOUR), now + 2 * HOUR)
        call.refresh_from_db()
        assert (call.state, call.late_outcome, call.reference) == ("given_up", "accepted", "gen_1")
        assert states(job) == ("failed", "given_up", "failed")

    def test_the_ticker_looks_for_it_as_before(self, account, decision, now, clock, monkeypatch):
        job = given_back(account, decision, now)
        looked_for = []
        monkeypatch.setattr(
            "jobs.engine.recovery.Searches.start",
            lambda self, wanted, now: looked_for.extend(wanted),
        )
        clock.move_to(now + 2 * HOUR)
        ticker = Ticker()
        ticker.poll_due(timezone.now())
        ticker.close()
        assert [call.pk for call in looked_for] == [rows.call_of(job).pk]

    def test_the_pursuit_ends_with_the_retention(self, account, decision, now):
        job = given_back(account, decision, now)
        call = rows.call_of(job)
        assert not incoming.give_up(call, call.give_up_at)
        assert rows.call_of(job).poll_at is None
        assert states(job) == ("failed", "given_up", "failed")

    def test_a_paid_result_of_another_call_is_fetched_all_the_same(self, account, decision, now):
        """It failed and was taken back, while the next one was lost."""
        job = rows.lost(account, now)
        lost = rows.call_of(job)
        paid = Call.objects.create(
            work=lost.work,
            provider="sandbox",
            model="other",
            state="failed",
            reference="gen_paid",
            sent_at=now,
            send_by=now,
            answer_by=now,
            deadline_at=now,
            give_up_at=now + 2 * HOUR,
            ended_at=now,
        )
        incoming.apply(paid, rows._done(), now + SECOND)
        give_back(lost.pk, decision)
        job = rows.delivered(job, now + HOUR)
        assert (job.state, job.attempt.state) == ("ready", "failed")


class TestAttach:
    def test_a_lost_call_is_polled_like_any_other(self, account, decision, now):
        job = rows.lost(account, now)
        attach(rows.call_of(job).pk, "gen_found", decision)
        call = rows.call_of(job)
        assert states(job) == ("pending", "accepted", "running")
        assert call.reference == "gen_found"
        assert call.poll_at < decision.now + 10 * SECOND
        assert [event.name for event in job.events.order_by("pk")][-2:] == ["attached", "accepted"]

    def test_its_picture_is_delivered_and_takes_the_slot(self, account, decision, now):
        job = rows.lost(account, now)
        attach(rows.call_of(job).pk, "gen_found", decision)
        rows.news(job, rows._done(), now + 2 * HOUR)
        job = rows.delivered(job, now + 2 * HOUR)
        assert states(job) == ("success", "succeeded", "ready")

    @pytest.mark.parametrize("end", ["given_back", "not_confirmed"])
    def test_a_call_that_was_given_up_brings_its_picture_late(self, account, decision, now, end):
        job = rows.not_confirmed(account, now) if end == "not_confirmed" else None
        job = job or given_back(account, decision, now)
        later = replace(decision, now=now + 30 * HOUR)
        attach(rows.call_of(job).pk, "gen_found", later)
        call = rows.call_of(job)
        assert (call.state, call.late_outcome) == ("given_up", "accepted")
        assert call.poll_at
        rows.news(job, rows._done(), now + 31 * HOUR)
        assert rows.delivered(job, now + 31 * HOUR).state == "ready"

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (rows.sending, "This call is being sent. If its answer is lost"),
            (rows.generating, "This call has a provider id: gen_"),
            (rows.ready, "This call has a provider id: gen_"),
        ],
    )
    def test_it_is_refused_in_words(self, account, soon, now, make, words):
        job = make(account, now)
        before = states(job)
        with pytest.raises(ActionRefused, match=words):
            attach(rows.call_of(job).pk, "gen_found", soon)
        assert states(job) == before
        assert not StaffAction.objects.exists()

    def test_what_is_known_not_to_have_run_takes_no_id(self, account, decision, now):
        job = rows.news(
            given_back(account, decision, now), Rejected(Cause("transport")), now + HOUR
        )
        with pytest.raises(ActionRefused, match="known: rejected"):
            attach(rows.call_of(job).pk, "gen_found", decision)

    def test_an_id_of_another_call_is_refused_with_its_number(self, account, decision, now):
        other, job = rows.generating(account, now), rows.lost(account, now)
        taken = rows.call_of(other)
        with pytest.raises(
            ActionRefused, match=f"another call: number {taken.pk}, for {taken.work}"
        ):
            attach(rows.call_of(job).pk, taken.reference, decision)
        assert states(job) == ("pending", "unknown", "in_doubt")
        assert rows.again(job).events.last().name == "unknown"

    def test_the_same_id_at_another_provider_is_another(self, account, decision, now):
        other, job = rows.generating(account, now), rows.lost(account, now)
        Call.objects.filter(pk=rows.call_of(other).pk).update(provider="polza", reference="run_1")
        attach(rows.call_of(job).pk, "run_1", decision)
        assert rows.call_of(job).reference == "run_1"

    def test_an_id_that_was_taken_in_this_moment_undoes_it_whole(
        self, account, decision, now, monkeypatch
    ):
        other, job = rows.generating(account, now), rows.lost(account, now)
        version = rows.again(job).version
        taken = rows.call_of(other).reference
        answers = iter(["", "It is taken."])
        monkeypatch.setattr(
            "jobs.staff.actions.attach.why_not_this_id", lambda call, reference: next(answers)
        )
        with pytest.raises(ActionRefused, match="It is taken"):
            attach(rows.call_of(job).pk, taken, decision)
        assert states(job) == ("pending", "unknown", "in_doubt")
        assert rows.again(job).version == version

    @pytest.mark.parametrize("reference", [".", "..", "a\nb", "x" * 201, "\x00"])
    def test_what_cannot_be_an_id_is_refused(self, account, decision, now, reference):
        job = rows.lost(account, now)
        with pytest.raises(ActionRefused, match="not a valid provider id"):
            attach(rows.call_of(job).pk, reference, decision)


class TestCheckNow:
    @pytest.mark.parametrize(
        "make", [rows.generating, rows.overdue, rows.ready, rows.failed_billed]
    )
    def test_what_has_an_id_is_looked_at_at_once_also_after_its_end(
        self, account, decision, now, make
    ):
        call = rows.call_of(make(account, now))
        assert check_now([call.pk], decision) == 1
        assert Call.objects.get(pk=call.pk).poll_at == decision.now
        assert call in Call.objects.due(decision.now)

    def test_what_was_pursued_long_enough_is_looked_at_once_more(self, account, decision, now):
        call = rows.call_of(rows.failed_billed(account, now))
        late = replace(decision, now=call.give_up_at + HOUR)
        check_now([call.pk], late)
        call.refresh_from_db()
        assert call.poll_at == late.now < call.give_up_at

    def test_a_late_truth_is_learned(self, account, decision, now, clock, monkeypatch):
        job = rows.failed_billed(account, now)
        monkeypatch.setattr("jobs.processes.ticker._poll", lambda call, reference: rows._done())
        clock.move_to(decision.now)
        check_now([rows.call_of(job).pk], decision)
        ticker = Ticker()
        ticker.poll_due(timezone.now())
        for asked in ticker.polls:
            asked.result(timeout=60)
        ticker.collect()
        ticker.close()
        job = rows.delivered(job, timezone.now())
        assert states(job) == ("failed", "failed", "ready")

    def test_no_state_is_touched_and_the_audit_has_nothing_to_say(self, account, decision, now):
        jobs = [make(account, now) for make in (rows.overdue, rows.failed_billed)]
        before = [states(job) for job in jobs]
        check_now([rows.call_of(job).pk for job in jobs], decision)
        assert [states(job) for job in jobs] == before
        assert [violation.check for violation in audit.violations(decision.now)] == []

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (rows.sending, "This call is being sent"),
            (rows.failed, "nothing to ask about"),
            (rows.not_confirmed, "nothing to ask about"),
            (rows.lost, "do not search the provider's list"),
        ],
    )
    def test_what_cannot_be_asked_about_is_refused_in_words(
        self, account, decision, now, make, words
    ):
        call = rows.call_of(make(account, now))
        with pytest.raises(ActionRefused, match=words):
            check_now([call.pk], decision)
        assert Call.objects.get(pk=call.pk).poll_at == call.poll_at

    def test_a_lost_one_is_looked_for_where_the_list_may_be_asked(
        self, account, decision, now, settings
    ):
        name = rows.OFFER.provider
        word = replace(settings.PROVIDER_ACCOUNTS[name], key_exclusive=True)
        settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {name: word}
        call = rows.call_of(rows.lost(account, now))
        assert check_now([call.pk], decision) == 1

    def test_a_lost_one_that_a_webhook_named_is_asked_about(self, account, decision, now):
        call = rows.call_of(rows.lost(account, now))
        hooks.store(call, WebhookNotice("gen_hook", "m1", False), b"{}", now)
        assert check_now([call.pk], decision) == 1

    def test_of_several_those_that_can_be_asked_are(self, account, decision, now):
        calls = [rows.call_of(make(account, now)) for make in (rows.lost, rows.overdue)]
        assert check_now([call.pk for call in calls], decision) == 1
        assert [entry.call_id for entry in StaffAction.objects.all()] == [calls[1].pk]


def test_news_that_comes_first_is_kept(account, decision, now):
    """The call was read before its news came."""
    job = rows.lost(account, now)
    pk = rows.call_of(job).pk
    rows.news(job, Accepted("gen_news"), now + 3 * SECOND)
    with pytest.raises(ActionRefused, match="gen_news"):
        attach(pk, "gen_found", decision)
    assert rows.call_of(job).reference == "gen_news"


def test_an_answer_after_the_slot_was_given_back_changes_no_end(account, decision, now):
    """The sender that was taken for lost woke, and its answer proves nothing."""
    job = rows.news(given_back(account, decision, now), Unknown(Cause("transport")), now + 2 * HOUR)
    assert states(job) == ("failed", "given_up", "failed")
