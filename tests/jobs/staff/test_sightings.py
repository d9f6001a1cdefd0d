"""An id is attached only after the provider was asked about it, and its answer seen."""

from datetime import timedelta

import pytest
from django.db import connection
from django.urls import reverse

from jobs.core.models import StaffAction
from jobs.ops import audit
from providers.calls.models import Call
from providers.outcomes import Cause, Failed, NoAnswer, Report, Run, Running
from tests import rows
from tests.fakes import OFFER, made
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued", "media")]

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
FORM = {"reference": "gen_found", "reason": "seen in their history"}
SEEN = FORM | {"seen": "gen_found"}
SHOWN = "What the provider says about this id"


@pytest.fixture
def lost(account, now, clock, fake):
    job = rows.lost(account, now, offer=OFFER)
    clock.move_to(now + HOUR)
    return rows.call_of(job)


@pytest.fixture
def ours(fake, lost):
    """The run of the call stands in the provider's list."""
    run = Run("gen_found", OFFER.model, lost.sent_at + SECOND)
    fake.runs = [run]
    return run


@pytest.fixture
def post(staff_client, lost):
    page = reverse("admin:attach", args=[lost.pk])
    return lambda form, **more: staff_client.post(page, form, **more)


def is_untouched(call: Call) -> bool:
    now = Call.objects.get(pk=call.pk)
    return (now.state, now.reference) == ("unknown", None) and not StaffAction.objects.exists()


def test_its_answer_is_shown_before_anything_is_attached(post, lost, ours, fake):
    answer = post(FORM)
    text = text_of(answer)
    for part in (SHOWN, "running: processing", OFFER.model, "14 Mar 12:00:02 UTC"):
        assert part in text
    assert 'name="seen" value="gen_found"' in answer.content.decode()
    assert 'value="Attach the id"' in answer.content.decode()
    assert "seen in their history" in answer.content.decode()
    assert "errornote" not in answer.content.decode()
    assert is_untouched(lost)


def test_sent_again_it_is_attached_and_its_answer_followed_at_once(post, lost, ours, fake):
    fake.polls["gen_found"] = made()
    text = text_of(post(SEEN, follow=True))
    assert "The id was attached. The provider says: done, results: 1." in text
    call = Call.objects.get()
    assert (call.state, call.reference, call.cost) == ("succeeded", "gen_found", 5)
    entry = StaffAction.objects.get()
    assert entry.facts == {"reference": "gen_found", "provider_said": "done, results: 1"}
    assert list(audit.violations(lost.sent_at + HOUR)) == []


def test_a_run_that_failed_gives_the_slot_back_at_once(post, lost, ours, fake):
    fake.polls["gen_found"] = Failed(Cause("provider", code="E1"))
    assert "The provider says: failed: E1." in text_of(post(SEEN, follow=True))
    assert rows.again(StaffAction.objects.get().job).attempt.state == "failed"


def test_a_run_that_goes_on_is_polled_and_its_answer_stands_at_the_call(post, lost, ours, now):
    post(SEEN)
    call = Call.objects.get()
    assert (call.state, call.last_answer) == ("accepted", "running: processing")
    assert call.poll_at < now + HOUR + 10 * SECOND


@pytest.mark.parametrize("form", [FORM, SEEN], ids=["unseen", "seen"])
def test_what_the_provider_does_not_confirm_is_not_attached(post, lost, fake, form):
    fake.polls["gen_found"] = NoAnswer(Cause("provider", http=404))
    answer = post(form)
    assert answer.status_code == 409
    assert "does not confirm this id now (HTTP 404). Nothing was attached." in text_of(answer)
    assert is_untouched(lost)


def test_a_provider_that_left_the_settings_confirms_nothing(post, lost, fake):
    Call.objects.update(provider="gone")
    assert "not among the settings" in text_of(post(SEEN))
    assert is_untouched(lost)


def test_another_id_than_the_one_that_was_seen_is_shown_first(post, lost, ours):
    text = text_of(post(SEEN | {"seen": "gen_other"}))
    assert SHOWN in text
    assert is_untouched(lost)


@pytest.mark.parametrize("form", [FORM, SEEN], ids=["unseen", "seen"])
def test_a_run_that_began_before_the_call_was_sent_is_refused(post, lost, fake, form):
    fake.runs = [Run("gen_found", OFFER.model, lost.sent_at - 31 * SECOND)]
    answer = post(form)
    assert answer.status_code == 409
    assert "before the call was sent" in text_of(answer)
    assert is_untouched(lost)


@pytest.mark.parametrize(
    ("runs", "warning"),
    [
        ([], "The provider's list for the time of the call does not show this run."),
        ([("other-model", 0)], "This run used a different model than the call."),
        ([(OFFER.model, 50)], "It began after the answer to the call was due."),
    ],
)
def test_what_speaks_against_it_is_said(post, lost, fake, runs, warning):
    minute = timedelta(minutes=1)
    fake.runs = [Run("gen_found", model, lost.sent_at + n * minute) for model, n in runs]
    answer = post(FORM)
    assert warning in text_of(answer)
    assert answer.content.decode().count("errornote") == 1


def test_a_list_that_cannot_be_read_is_no_reason_to_refuse(post, fake, lost):
    fake.listing = NoAnswer(Cause("transport"))
    assert "does not show this run" in text_of(post(FORM))
    assert post(SEEN).status_code == 302


@pytest.mark.parametrize("said", ["a\0b", "a\ud800b", "x" * 100_000], ids=["nul", "half", "long"])
@pytest.mark.parametrize(
    "answer",
    [Running, lambda said: Failed(Cause("provider", code=said))],
    ids=["running", "failed"],
)
def test_whatever_it_says_is_shown_and_kept_as_text(post, lost, fake, answer, said):
    fake.polls["gen_found"] = answer(said)
    fake.runs = [Run("gen_found", said, lost.sent_at)]
    assert len(post(FORM).content) < 40_000
    assert post(SEEN).status_code == 302
    kept = StaffAction.objects.get().facts["provider_said"]
    assert len(kept) < 200
    assert "\0" not in kept


def test_whatever_it_says_instead_is_shown_as_text(post, lost, fake):
    fake.polls["gen_found"] = NoAnswer(Cause("provider", code="a\0\ud800" + "x" * 1000))
    assert post(FORM).status_code == 409
    assert is_untouched(lost)


def test_nobody_is_asked_about_an_id_of_another_call(post, lost, account, now, fake):
    taken = rows.call_of(rows.generating(account, now, offer=OFFER)).reference
    assert "belongs to another call" in text_of(post(SEEN | {"reference": taken, "seen": taken}))
    assert (fake.asked, fake.listed) == ([], [])


def test_the_provider_is_asked_outside_of_any_transaction(post, ours, fake):
    depths = []
    fake.poll = lambda reference, model: (
        depths.append(len(connection.atomic_blocks)) or Report(reference, Running())
    )
    post(SEEN)
    assert depths == [fake.tests_own_transactions]


def test_the_list_is_asked_for_around_the_call_alone(post, lost, ours, fake):
    post(FORM)
    [(since, until)] = fake.listed
    assert since >= lost.sent_at - HOUR
    assert until <= lost.answer_by + HOUR
