"""An adapter has the protocols that its provider offers, and callers do without the others."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from providers import recovery
from providers.adapters import registry, run_queries, submits
from providers.adapters.accounts import ProviderAccount
from providers.adapters.base import (
    AnswersAtOnce,
    ListsRuns,
    PictureRequest,
    PollsRuns,
    SendsWebhooks,
    SubmitsRuns,
    ignore_id,
)
from providers.adapters.polza.adapter import Polza
from providers.adapters.registry import Offer
from providers.calls import ledger
from providers.calls.models import Call
from providers.outcomes import Artifact, Done, NoAnswer, Running
from providers.webhooks import store
from tests.fakes import FakeProvider

SOON = timedelta(minutes=1)
REQUEST = PictureRequest(work="image:1", model="brush", prompt="a fox")
RESULT = Done((Artifact(b64="YQ=="),))


class Synchronous:
    """Answers at once, and can do nothing else."""

    name = "bare"
    caps = replace(FakeProvider.caps, enqueue_only=False)

    def complete(self, request, *, send_by, note_id):
        note_id("early")
        return RESULT

    def result_origins(self):
        return frozenset()


@pytest.fixture
def bare(monkeypatch, settings):
    monkeypatch.setitem(registry.ADAPTERS, "bare", lambda **account: Synchronous())
    account = ProviderAccount(
        name="bare", adapter="bare", base_url="https://bare.test", key="k", key_exclusive=True
    )
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"bare": account}
    settings.PUBLIC_URL = "https://pictures.example.org"
    registry.find_provider.cache_clear()
    yield account
    registry.find_provider.cache_clear()


def test_polza_submits_polls_lists_and_reports():
    polza = Polza(name="polza", base_url="https://polza.test", key="k")
    has = (SubmitsRuns, PollsRuns, ListsRuns, SendsWebhooks)
    assert all(isinstance(polza, capability) for capability in has)
    assert not isinstance(polza, AnswersAtOnce)


def test_a_request_goes_the_way_that_its_provider_offers(bare, fake):
    ids = []
    send_by = timezone.now() + SOON
    outcome = submits.send_request("bare", REQUEST, send_by=send_by, note_id=ids.append)
    assert (outcome, ids) == (RESULT, ["early"])
    submits.send_request("fake", REQUEST, send_by=send_by, note_id=ignore_id)
    assert fake.sent == [REQUEST]
    assert submits.answers_at_once("bare")
    assert not submits.answers_at_once("fake")


def test_a_provider_without_polls_or_lists_is_not_queried(bare):
    now = timezone.now()
    answers = (
        run_queries.poll_run("bare", "run-1", "brush"),
        run_queries.list_runs("bare", now - SOON, now),
    )
    for answer in answers:
        assert isinstance(answer, NoAnswer)
        assert answer.why.kind == "config"


def test_a_poll_names_the_model_of_the_call(fake):
    assert run_queries.poll_run("fake", "run-1", "brush-1") == Running("processing")
    assert fake.polled_models == {"brush-1"}


def test_no_lost_call_is_looked_for_where_there_is_no_list(bare):
    call = Call(provider="bare", model="brush", key_mark=bare.key_mark, sent_at=timezone.now())
    assert recovery.why_not_to_ask(call) == "no_list"


def test_an_address_for_reports_is_given_only_where_reports_exist(bare, fake):
    assert store.find_address(Call(provider="bare", hook_token="t")) == ""
    assert store.find_address(Call(provider="fake", hook_token="t")).endswith("/hooks/fake/t/")


@pytest.mark.django_db
def test_a_report_of_a_provider_that_sends_none_is_not_found(bare, client):
    call = ledger.open_call(work="image:1", offer=Offer("bare", "brush"), now=timezone.now())
    path = f"/hooks/bare/{call.hook_token}/"
    assert client.post(path, data=b"{}", content_type="application/json").status_code == 404
