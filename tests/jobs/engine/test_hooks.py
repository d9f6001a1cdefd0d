"""What becomes of webhooks: the ticker asks, the provider's own word decides, and nothing else."""

import logging
from concurrent.futures import wait
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.core.models import Job
from jobs.engine import incoming, webhook_references
from jobs.ops import audit
from jobs.processes.ticker import Ticker
from providers.calls.models import Call, Hook
from providers.outcomes import Accepted, Cause, Failed, NoAnswer, Rejected, Running, Unknown
from quotas.models import Alert
from tests import working
from tests.fakes import made

pytestmark = pytest.mark.django_db

LOST = Unknown(Cause("transport", rule="lost"))
OWN_ERROR = Rejected(Cause("provider", rule="own_error", http=500))


@pytest.fixture
def ticker(clock):
    webhook_references._warn_of_several.cache_clear()
    ticker = Ticker()
    yield ticker
    ticker.close()


@pytest.fixture
def sent(clock, order, fake):
    """A job whose submit ended so."""

    def send(answer) -> Job:
        fake.submits = [answer]
        job = order()
        working.advance(job.pk)
        return job

    return send


@pytest.fixture
def lost(sent):
    return sent(LOST)


def round_of(ticker: Ticker) -> None:
    ticker.tick()
    wait(list(ticker.polls), timeout=60)
    ticker.collect()


def report(call: Call, named: str = "gen_77", *, note: str = "") -> int:
    body = f'{{"id": "{named}", "note": "{note}"}}'
    path = reverse("hook", args=[call.provider, call.hook_token])
    return Client().post(path, body, content_type="application/json").status_code


def call_of(job: Job) -> Call:
    return Call.objects.get(work=f"image:{job.pk}")


def state_of(job: Job) -> tuple[str, str]:
    job = Job.objects.select_related("attempt").get(pk=job.pk)
    return job.state, job.attempt.state


class TestLostSubmit:
    def test_it_is_delivered_when_its_webhook_comes(self, lost, ticker, fake):
        fake.polls["gen_77"] = made()
        assert report(call_of(lost)) == 204
        assert state_of(lost) == ("in_doubt", "pending")
        round_of(ticker)
        working.advance(lost.pk)
        assert state_of(lost) == ("ready", "success")
        assert call_of(lost).reference == "gen_77"

    def test_one_that_still_runs_is_polled_from_then_on(self, lost, ticker, fake, clock, settings):
        fake.polls["gen_77"] = Running("processing")
        report(call_of(lost))
        round_of(ticker)
        assert state_of(lost) == ("running", "pending")
        fake.polls["gen_77"] = made()
        clock.shift(settings.POLL_EVERY * 1.2)
        round_of(ticker)
        assert call_of(lost).state == "succeeded"

    def test_a_failure_gives_the_slot_back(self, lost, ticker, fake):
        fake.polls["gen_77"] = Failed(Cause("provider"), Decimal(0))
        report(call_of(lost))
        round_of(ticker)
        assert state_of(lost) == ("failed", "failed")

    @pytest.mark.parametrize("status", [404, 403, 500])
    def test_what_the_provider_does_not_know_means_nothing(
        self, lost, ticker, fake, clock, settings, status
    ):
        fake.polls["gen_77"] = NoAnswer(Cause("provider", http=status))
        report(call_of(lost))
        round_of(ticker)
        assert state_of(lost) == ("in_doubt", "pending")
        assert call_of(lost).reference is None
        fake.polls["gen_77"] = made()
        clock.shift(settings.SLOW_POLL_EVERY * 1.2)
        round_of(ticker)
        assert call_of(lost).state == "succeeded"

    def test_an_id_of_another_call_is_not_adopted(self, sent, ticker, fake):
        owner, lost = sent(Accepted("gen_77")), sent(LOST)
        fake.polls["gen_77"] = made()
        report(call_of(lost))
        round_of(ticker)
        assert call_of(lost).state == "unknown"
        assert call_of(lost).reference is None
        assert call_of(owner).reference == "gen_77"

    def test_of_several_ids_none_is_taken_and_staff_are_told_once(
        self, lost, ticker, fake, clock, settings, caplog
    ):
        for named in ("gen_77", "gen_78"):
            fake.polls[named] = made()
            report(call_of(lost), named)
        for _ in range(3):
            round_of(ticker)
            clock.shift(settings.SLOW_POLL_EVERY * 1.2)
            report(call_of(lost), "gen_77", note=str(timezone.now()))
        assert call_of(lost).state == "unknown"
        assert fake.asked == []
        warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert len(warnings) == 1
        assert "gen_7" not in caplog.text

    def test_the_same_id_twice_is_one(self, lost, ticker, fake):
        fake.polls["gen_77"] = made()
        report(call_of(lost))
        report(call_of(lost), note="again")
        round_of(ticker)
        assert call_of(lost).state == "succeeded"

    def test_without_a_webhook_nothing_is_asked(self, lost, ticker, fake, clock, settings):
        for _ in range(3):
            clock.shift(settings.SLOW_POLL_EVERY)
            round_of(ticker)
        assert fake.asked == []
        assert state_of(lost) == ("in_doubt", "pending")

    def test_one_that_names_nothing_asks_nothing(self, lost, ticker, fake):
        report(call_of(lost), "")
        round_of(ticker)
        assert fake.asked == []
        assert call_of(lost).poll_at > timezone.now()

    def test_one_that_comes_while_a_look_is_written_is_not_lost(
        self, lost, ticker, fake, monkeypatch
    ):
        """The claim of a look and a hook meet on one row: whoever is last, it is asked for."""
        fake.polls["gen_77"] = made()
        report(call_of(lost), "")
        between = iter([call_of(lost)])
        reach = "jobs.core.faultpoints.reach"
        monkeypatch.setattr(reach, lambda point: [report(call) for call in between])
        round_of(ticker)
        assert call_of(lost).state == "succeeded"


class TestBeforeTheAnswer:
    def test_it_ends_nothing_and_the_answer_counts(self, order, clock, ticker, fake):
        asked = []

        def overtaken(request, **options):
            call = Call.objects.get(work=request.work)
            assert report(call, "gen_77") == 204
            round_of(ticker)
            asked.append(Call.objects.get().state)
            return Accepted("gen_77")

        fake.submit = overtaken
        job = order()
        working.advance(job.pk)
        assert asked == ["sending"]
        assert (call_of(job).state, call_of(job).reference) == ("accepted", "gen_77")
        assert fake.asked == []

    @pytest.mark.parametrize("answer", [LOST, OWN_ERROR])
    def test_a_lost_answer_is_made_good_by_it(self, order, clock, ticker, fake, answer):
        fake.polls["gen_77"] = made()

        def overtaken(request, **options):
            report(Call.objects.get(work=request.work))
            round_of(ticker)
            return answer

        fake.submit = overtaken
        job = order()
        working.advance(job.pk)
        assert call_of(job).poll_at == timezone.now()
        round_of(ticker)
        working.advance(job.pk)
        assert Job.objects.get(pk=job.pk).state == "ready"

    def test_a_sender_that_died_is_noticed_at_its_own_time(self, sent, ticker, clock, fake):
        job = sent(LOST)
        call = call_of(job)
        Call.objects.update(state="sending", poll_at=call.answer_by)
        fake.polls["gen_77"] = made()
        report(call)
        round_of(ticker)
        assert (call_of(job).state, call_of(job).poll_at) == ("sending", call.answer_by)
        clock.move_to(call.answer_by)
        round_of(ticker)
        assert call_of(job).rule == "sender_lost"
        round_of(ticker)
        assert call_of(job).state == "succeeded"


class TestAccepted:
    def test_it_moves_the_next_look_to_now(self, sent, ticker, fake):
        job = sent(Accepted("gen_77"))
        fake.polls["gen_77"] = made()
        round_of(ticker)
        assert fake.asked == []
        report(call_of(job))
        round_of(ticker)
        assert fake.asked == ["gen_77"]
        assert call_of(job).state == "succeeded"

    def test_another_id_than_its_own_is_never_asked_for(self, sent, ticker, fake):
        job = sent(Accepted("gen_77"))
        fake.polls["gen_78"] = made()
        report(call_of(job), "gen_78")
        round_of(ticker)
        assert fake.asked == ["gen_77"]
        assert state_of(job) == ("running", "pending")

    def test_what_it_claims_is_not_believed(self, sent, ticker, fake):
        job = sent(Accepted("gen_77"))
        report(call_of(job), note='", "status": "failed", "x": "')
        round_of(ticker)
        assert state_of(job) == ("running", "pending")

    def test_polling_alone_ends_it_as_well(self, sent, ticker, fake, clock, settings):
        job = sent(Accepted("gen_77"))
        fake.polls["gen_77"] = made()
        clock.shift(settings.POLL_EVERY)
        round_of(ticker)
        assert not Hook.objects.exists()
        assert call_of(job).state == "succeeded"


class TestAfterTheEnd:
    def test_a_failure_taken_back_is_delivered_beside_the_ended_attempt(
        self, sent, ticker, fake, clock, settings
    ):
        job = sent(Accepted("gen_77"))
        incoming.apply(call_of(job), Failed(Cause("provider"), Decimal(0)), timezone.now())
        fake.polls["gen_77"] = made()
        report(call_of(job))
        round_of(ticker)
        working.advance(job.pk)
        assert state_of(job) == ("ready", "failed")
        assert (call_of(job).state, call_of(job).late_outcome) == ("failed", "succeeded")
        assert Alert.objects.get().kind == "contradiction"

    def test_a_refusal_that_was_executed_is_delivered(self, sent, ticker, fake):
        job = sent(OWN_ERROR)
        assert state_of(job) == ("failed", "failed")
        fake.polls["gen_77"] = made()
        report(call_of(job))
        round_of(ticker)
        working.advance(job.pk)
        assert state_of(job) == ("ready", "failed")
        assert (call_of(job).state, call_of(job).cost) == ("rejected", Decimal("5.00"))

    @pytest.mark.parametrize("answer", [made(), Failed(Cause("provider"), Decimal(0))])
    def test_it_is_looked_at_until_a_terminal_answer(self, sent, ticker, fake, answer):
        job = sent(Accepted("gen_77"))
        incoming.apply(call_of(job), made(), timezone.now())
        report(call_of(job))
        round_of(ticker)
        assert call_of(job).poll_at is not None
        fake.polls["gen_77"] = answer
        report(call_of(job), note="again")
        round_of(ticker)
        assert call_of(job).poll_at is None

    def test_a_call_that_was_given_up_is_rescued(self, lost, ticker, fake, clock, settings):
        clock.shift(settings.LOST_RETENTION)
        round_of(ticker)
        assert state_of(lost) == ("not_confirmed", "pending")
        clock.shift(timedelta(hours=5))
        fake.polls["gen_77"] = made()
        report(call_of(lost))
        round_of(ticker)
        working.advance(lost.pk)
        assert state_of(lost) == ("ready", "success")
        assert (call_of(lost).state, call_of(lost).late_outcome) == ("given_up", "succeeded")

    def test_a_rescued_call_rests_whatever_comes_again(self, lost, ticker, fake, clock, settings):
        self.test_a_call_that_was_given_up_is_rescued(lost, ticker, fake, clock, settings)
        report(call_of(lost), note="again")
        round_of(ticker)
        assert call_of(lost).poll_at is None

    def test_one_that_nobody_knows_is_asked_about_for_a_while_only(
        self, lost, ticker, fake, clock, settings
    ):
        clock.shift(settings.LOST_RETENTION)
        round_of(ticker)
        fake.polls["gen_77"] = NoAnswer(Cause("provider", http=404))
        report(call_of(lost))
        for _ in range(4):
            round_of(ticker)
            clock.shift(timedelta(minutes=11))
        assert call_of(lost).poll_at is None
        assert state_of(lost) == ("not_confirmed", "pending")

    def test_one_that_overtakes_the_answer_of_a_poll_is_asked_after_too(
        self, sent, ticker, fake, clock, settings
    ):
        """The answer was given before the hook was sent, and is written down after it came."""
        job = sent(Accepted("gen_77"))
        fake.polls["gen_77"] = Failed(Cause("provider"), Decimal(0))
        clock.shift(settings.POLL_EVERY)
        ticker.tick()
        wait(list(ticker.polls), timeout=60)
        clock.shift(timedelta(milliseconds=50))
        report(call_of(job))
        ticker.collect()
        assert call_of(job).state == "failed"
        fake.polls["gen_77"] = made()
        round_of(ticker)
        assert call_of(job).late_outcome == "succeeded"
        assert call_of(job).poll_at is None

    def test_the_audit_finds_nothing_in_it(self, sent, ticker, fake):
        job = sent(Accepted("gen_77"))
        incoming.apply(call_of(job), made(), timezone.now())
        report(call_of(job))
        working.advance(job.pk)
        assert list(audit.violations(timezone.now())) == []


class TestAddress:
    def test_a_request_carries_the_address_of_its_own_call(self, sent, fake, settings):
        settings.PUBLIC_URL = "https://pictures.example.org"
        job = sent(Accepted("gen_77"))
        token = call_of(job).hook_token
        assert fake.sent[0].hook_url == f"https://pictures.example.org/hooks/fake/{token}/"

    def test_without_a_public_url_it_carries_none(self, sent, fake, settings):
        settings.PUBLIC_URL = ""
        sent(Accepted("gen_77"))
        assert fake.sent[0].hook_url == ""


class TestErrorAfterAHook:
    """The hook overtakes the answer to the submit, and the answer is an error of the server."""

    @pytest.fixture
    def overtaken(self, clock, order, fake, spare, monkeypatch) -> Job:
        job = order()

        def report_and_fail(request, **when):
            report(call_of(job))
            return OWN_ERROR

        monkeypatch.setattr(fake, "submit", report_and_fail)
        working.advance(job.pk)
        return job

    def test_nobody_else_is_asked_before_the_run_was_asked_for(self, overtaken, spare):
        assert state_of(overtaken) == ("in_doubt", "pending")
        assert spare.sent == []

    def test_the_run_that_was_named_is_delivered(self, overtaken, ticker, fake, spare):
        fake.polls["gen_77"] = made()
        round_of(ticker)
        working.advance(overtaken.pk)
        assert state_of(overtaken) == ("ready", "success")
        assert not Alert.objects.exists()
