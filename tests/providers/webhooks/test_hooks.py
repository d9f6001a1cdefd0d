"""The address of webhooks: what is let in, what is kept of it, and what a stranger learns."""

import json
import subprocess
import sys
from collections import Counter
from datetime import timedelta

import pytest
import time_machine
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from providers.calls import ledger
from providers.calls.models import Call, Hook
from providers.sandbox.webhooks import Signer
from providers.webhooks import store as hooks
from providers.wire.verifiers import WebhookNotice
from tests.databases import ROOT
from tests.providers.call_rows import call_in, open_call

pytestmark = pytest.mark.django_db

BODY = b'{"id": "gen_77", "status": "completed", "prompt": "a secret fox"}'


@pytest.fixture
def clock(now):
    with time_machine.travel(now, tick=False) as traveller:
        yield traveller


@pytest.fixture
def call(now, clock):
    """Lost: unknown, without an id, next looked at some other time."""
    call = call_in("unknown", now)
    Call.objects.update(poll_at=call.give_up_at)
    call.refresh_from_db()
    return call


@pytest.fixture
def signed(settings):
    """Polza's calls get an account that speaks to the sandbox, and signs as Replicate does."""

    def make(style):
        settings.SANDBOX_HOOKS = style
        Call.objects.update(provider="sandbox")
        return Signer(style, settings.SANDBOX_HOOK_SECRET)

    return make


def send(call, body=BODY, *, provider=None, token=None, **options):
    path = reverse("hook", args=[provider or call.provider, token or call.hook_token])
    client = Client(enforce_csrf_checks=True)
    return client.post(path, body, content_type="application/json", **options)


def row_of(call):
    return Call.objects.values().get(pk=call.pk)


def nothing_changed(call):
    before = {name: getattr(call, name) for name in row_of(call)}
    return not Hook.objects.exists() and row_of(call) == before


class TestAddress:
    def test_it_is_below_the_public_url(self, call, settings):
        settings.PUBLIC_URL = "https://pictures.example.org"
        assert hooks.find_address(call) == (
            f"https://pictures.example.org/hooks/polza/{call.hook_token}/"
        )

    def test_without_a_public_url_there_is_none(self, call, settings):
        settings.PUBLIC_URL = ""
        assert hooks.find_address(call) == ""

    def test_tokens_cannot_be_guessed_and_are_never_the_same(self, now):
        tokens = {open_call(now, work=f"image:{number}").hook_token for number in range(50)}
        assert len(tokens) == 50
        assert {len(token) for token in tokens} == {43}


class TestTaken:
    def test_what_is_kept_is_the_id_it_names(self, call, now):
        reply = send(call)
        assert (reply.status_code, reply.content) == (204, b"")
        hook = Hook.objects.get()
        assert (hook.call, hook.reference, hook.is_signed) == (call, "gen_77", False)
        assert (hook.provider, hook.received_at) == ("polza", now)
        assert "fox" not in json.dumps(Hook.objects.values().get(), default=str)

    def test_it_moves_the_next_look_and_nothing_else(self, call, now):
        before = row_of(call)
        send(call)
        assert row_of(call) == before | {"poll_at": now}

    def test_the_same_again_is_kept_once_and_moves_nothing(self, call):
        assert send(call).status_code == 204
        Call.objects.update(poll_at=call.poll_at)
        assert send(call).status_code == 204
        assert Hook.objects.count() == 1
        assert Call.objects.get().poll_at == call.poll_at

    def test_one_body_may_come_for_two_calls(self, call, now):
        other = call_in("unknown", now, work="image:2")
        send(call)
        send(other)
        assert Hook.objects.count() == 2

    @pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"id": 7}', b"\xff"])
    def test_one_that_names_nothing_still_says_when_to_look(self, call, now, body):
        assert send(call, body).status_code == 204
        assert Hook.objects.get().reference == ""
        assert Call.objects.get().poll_at == now

    @pytest.mark.parametrize("state", ["succeeded", "rejected", "failed", "given_up"])
    def test_an_ended_call_is_looked_at_once_more(self, clock, now, state):
        call = call_in(state, now)
        assert send(call).status_code == 204
        after = Call.objects.get()
        assert (after.state, after.poll_at) == (state, now)

    def test_a_call_past_its_retention_is_asked_about_a_while_longer(self, call, clock):
        clock.shift(call.give_up_at - call.sent_at)
        assert ledger.give_up(call_id=call.pk, now=timezone.now())
        clock.shift(timedelta(hours=1))
        send(call)
        after = Call.objects.get()
        assert (after.state, after.poll_at) == ("given_up", timezone.now())
        assert after.give_up_at == timezone.now() + ledger.ASKED_FOR

    def test_a_call_has_so_many_and_no_more(self, call, now):
        for number in range(hooks.MOST_OF_A_CALL + 5):
            assert send(call, b'{"id": "gen_%d"}' % number).status_code == 204
        assert Hook.objects.count() == hooks.MOST_OF_A_CALL

    def test_no_cookie_is_set(self, call):
        assert not send(call).cookies
        assert not send(call, token="x" * 43).cookies

    def test_it_costs_few_questions_and_no_session(self, call, django_assert_max_num_queries):
        with django_assert_max_num_queries(9) as asked:
            send(call)
        assert not any("session" in query["sql"] for query in asked)


class TestRefused:
    @pytest.mark.parametrize("provider", ["sandbox", "nobody"])
    def test_a_token_under_another_provider_is_not_there(self, call, provider):
        assert send(call, provider=provider).status_code == 404
        assert nothing_changed(call)

    def test_an_unknown_token_is_not_there(self, call):
        reply = send(call, token="x" * 43)
        assert (reply.status_code, reply.content) == (404, b"")
        assert nothing_changed(call)

    def test_an_account_that_was_taken_away_is_not_there(self, call, settings):
        accounts = settings.PROVIDER_ACCOUNTS
        settings.PROVIDER_ACCOUNTS = {"sandbox": accounts["sandbox"]}
        assert send(call).status_code == 404
        assert nothing_changed(call)

    @pytest.mark.parametrize("path", ["/hooks/", "/hooks/polza/", "/hooks/polza/a%00b/"])
    def test_no_address_is_not_there(self, db, path):
        assert Client().post(path, b"{}", content_type="application/json").status_code == 404

    @pytest.mark.parametrize("size", [65_537, 2**20])
    def test_a_large_body_is_refused(self, call, size):
        assert send(call, b"x" * size).status_code == 413
        assert nothing_changed(call)

    @pytest.mark.parametrize("method", ["get", "put", "delete", "head"])
    def test_only_a_post_reports(self, call, method):
        path = reverse("hook", args=[call.provider, call.hook_token])
        assert getattr(Client(), method)(path).status_code == 405
        assert nothing_changed(call)

    @pytest.mark.parametrize("style", ["STANDARD", "ED25519"])
    def test_an_unsigned_one_is_refused_where_they_are_signed(self, call, signed, style):
        signed(style)
        call.refresh_from_db()
        assert send(call).status_code == 403
        assert nothing_changed(call)

    def test_neither_token_nor_body_reach_the_log(self, call, signed, caplog):
        send(call)
        send(call, b"x" * 70_000)
        signed("STANDARD")
        call.refresh_from_db()
        send(call)
        assert "was refused" in caplog.text
        assert call.hook_token not in caplog.text
        assert "fox" not in caplog.text

    def test_a_database_that_is_away_is_said_so_that_it_comes_again(self, call, monkeypatch):
        def fail(*args):
            raise OperationalError

        monkeypatch.setattr("providers.webhooks.store.store", fail)
        assert send(call).status_code == 503


class TestSigned:
    """As Replicate and OpenAI sign; how a signature is read is in test_webhooks."""

    @pytest.fixture
    def signer(self, call, signed):
        signer = signed("STANDARD")
        call.refresh_from_db()
        return signer

    def sign(self, signer, body=BODY, *, at=None, run="gen_77"):
        return signer.headers(run, body, sent_at=(at or timezone.now()).timestamp())

    def test_a_valid_one_is_kept_under_its_own_id(self, call, signer):
        assert send(call, headers=self.sign(signer)).status_code == 204
        hook = Hook.objects.get()
        assert (hook.message_id, hook.reference, hook.is_signed) == ("msg_gen_77", "gen_77", True)

    def test_sent_again_under_a_new_time_it_is_the_same(self, call, signer, clock):
        send(call, headers=self.sign(signer))
        clock.shift(timedelta(minutes=2))
        assert send(call, headers=self.sign(signer)).status_code == 204
        assert Hook.objects.count() == 1

    def test_a_replay_within_its_time_changes_nothing(self, call, signer, now):
        headers = self.sign(signer)
        send(call, headers=headers)
        Call.objects.update(poll_at=call.poll_at)
        send(call, headers=headers)
        assert Hook.objects.count() == 1
        assert Call.objects.get().poll_at == call.poll_at

    def test_a_replay_to_another_call_changes_nothing(self, call, signer, now):
        headers = self.sign(signer)
        send(call, headers=headers)
        other = call_in("unknown", now, work="image:2")
        Call.objects.filter(pk=other.pk).update(provider="sandbox")
        other.refresh_from_db()
        send(other, headers=headers)
        assert Hook.objects.get().call == call
        assert Call.objects.get(pk=other.pk).poll_at == other.poll_at

    def test_a_replay_after_its_time_is_refused(self, call, signer, clock):
        headers = self.sign(signer)
        clock.shift(timedelta(seconds=301))
        assert send(call, headers=headers).status_code == 403
        assert nothing_changed(call)

    def test_a_changed_body_is_refused(self, call, signer):
        assert send(call, BODY + b" ", headers=self.sign(signer)).status_code == 403
        assert nothing_changed(call)


def test_ids_are_those_named_and_each_once(call, now):
    for number, reference in enumerate(["gen_1", "", "gen_2", "gen_1"]):
        hooks.store(call, WebhookNotice(reference, f"msg_{number}"), b"", now)
    silent = call_in("unknown", now, work="image:2")
    assert hooks.ids_named_for([call, silent]) == {call.pk: ["gen_1", "gen_2"]}


def test_webhook_is_kept_once_whoever_brings_it(each_database, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.providers.hook_contenders"],
        cwd=ROOT,
        env=each_database.environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *answers, left = json.loads(done.stdout)
    assert [answer["error"] for answer in answers if "error" in answer] == []
    new = Counter(pk for answer in answers for pk in answer["new"])
    assert new == dict.fromkeys(left["calls"], 1)
    assert (left["rows"], left["looked_at"]) == (20, 20)
    assert all(answer["usable"] for answer in answers)


def test_storing_undoes_both_when_it_fails(call, now, monkeypatch):
    """The hook and the look are one transaction: a hook that is there is looked at."""

    def fail(*args, **columns):
        raise OperationalError

    monkeypatch.setattr("django.db.models.query.QuerySet.update", fail)
    with pytest.raises(OperationalError):
        hooks.store(call, WebhookNotice("gen_1"), BODY, now)
    assert not connection.needs_rollback
    assert not Hook.objects.exists()
