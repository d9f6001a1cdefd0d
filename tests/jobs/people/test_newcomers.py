"""A visitor who is new needs a seat of the network's day, with the first order and for it alone."""

import re
from collections import defaultdict
from datetime import timedelta
from itertools import chain

import pytest
from django.conf import settings as site
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from jobs.core.models import Event, Job, Stage
from jobs.ops import audit
from jobs.ops.housekeeping import tidy
from jobs.pictures.orders import PictureOrder, order_picture
from quotas.accounts import account_of_visitor
from quotas.models import Account, Allowance, Attempt, Newcomer
from tests import rows
from tests.jobs.conftest import HTMX, text_of
from tests.quotas.test_contention import contend, errors_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued")]

NEW = "/images/new"
ORDER = PictureOrder(prompt="a fox", aspect_ratio="1:1", offer=rows.OFFER)
FIELDS = {"prompt": "A lighthouse at dusk", "aspect_ratio": "3:2", "form_key": "k" * 32}
SAYS = "Your network has reached today's limit for new visitors."


@pytest.fixture(autouse=True)
def one_a_day(settings):
    settings.NEW_VISITORS_A_DAY = 1


@pytest.fixture
def come():
    """A browser that is new here sends its first form."""

    def send(address: str = "192.0.2.1", *, headers=None, **fields):
        client = Client(REMOTE_ADDR=address)
        client.get(NEW, follow=True)
        return client.post(NEW, {**FIELDS, **fields}, headers=headers)

    return send


def test_the_products_default_is_thirty():
    example = (site.BASE_DIR / ".env.example").read_text(encoding="utf-8")
    assert re.search(r"^#NEW_VISITORS_A_DAY=30$", example, re.MULTILINE)


class TestLetIn:
    def test_the_first_takes_a_seat_with_the_account_and_the_slot(self, come, clock, now):
        assert come("2001:db8:1:2::3").status_code == 303
        seat = Newcomer.objects.get()
        assert (seat.network, seat.number, seat.allowed) == ("2001:db8:1:2::/64", 1, 1)
        assert (seat.day, seat.taken_at) == (now.date(), now)
        assert seat.account == Job.objects.get().account

    def test_another_network_and_another_day_have_seats_of_their_own(self, come, clock, now):
        assert come("192.0.2.1").status_code == 303
        assert come("192.0.2.2").status_code == 303
        clock.move_to(now + timedelta(days=1))
        assert come("192.0.2.1").status_code == 303
        assert Newcomer.objects.count() == 3

    def test_who_came_once_needs_no_other_seat(self, client):
        for number in range(3):
            response = client.post(NEW, {**FIELDS, "form_key": f"{number}" * 32})
            assert response.status_code == 303
        assert Newcomer.objects.count() == 1

    def test_the_same_form_twice_takes_one_seat(self, client):
        first, second = (client.post(NEW, FIELDS) for _ in range(2))
        assert first["Location"] == second["Location"]
        assert Newcomer.objects.count() == 1

    def test_a_replay_that_knew_of_no_account_takes_none_either(self, now):
        """Both forms were on their way before there was a row."""
        order = {"order": ORDER, "form_key": "k" * 32, "now": now, "network": "192.0.2.1"}
        first, second = (order_picture(account=account_of_visitor("new"), **order) for _ in "12")
        assert first == second == Job.objects.get()
        assert Newcomer.objects.count() == 1

    def test_a_user_never_needs_one(self, come, ana_client):
        come("127.0.0.1")
        assert ana_client.post(NEW, FIELDS).status_code == 303
        assert Newcomer.objects.get().account.user is None

    def test_a_visitor_of_no_network_is_no_order(self, now):
        new = account_of_visitor("new")
        with pytest.raises(ValueError, match="network"):
            rows.queued(new, now)

    def test_behind_a_proxy_the_client_counts_and_not_the_proxy(self, come, settings):
        settings.TRUSTED_PROXIES = 1
        for client in ("198.51.100.1", "198.51.100.2"):
            assert come("10.0.0.2", headers={"X-Forwarded-For": client}).status_code == 303

    @pytest.mark.parametrize("said", ["", "unknown"])
    def test_who_is_not_known_is_counted_by_the_peer(self, come, settings, said):
        """A quota does not fail open."""
        settings.TRUSTED_PROXIES = 1
        headers = {"X-Forwarded-For": said}
        assert come("10.0.0.2", headers=headers).status_code == 303
        assert come("10.0.0.2", headers=headers).status_code == 429
        assert Newcomer.objects.get().network == "10.0.0.2"


class TestRefused:
    def test_it_says_why_and_when_it_renews_and_the_way_on(self, come, clock):
        come()
        response = come(prompt="A harbour in fog", fault="drop_after")
        assert response.status_code == 429
        assert (
            f"{SAYS} It resets at 00:00 UTC, in 12 h 0 min. Sign in (opens in a new tab)"
            in text_of(response)
        )
        assert response["Retry-After"] == str(12 * 3600)
        shown = response.content.decode()
        assert "A harbour in fog</textarea>" in shown
        assert '<option value="drop_after" selected>' in shown
        assert 'href="/sign-in" target="_blank"' in shown
        assert 'value="' + "k" * 32 in shown

    def test_it_leaves_nothing(self, come, enqueued, django_capture_on_commit_callbacks):
        come()
        models = (Account, Newcomer, Job, Stage, Attempt, Event)
        before = [model.objects.count() for model in models]
        with django_capture_on_commit_callbacks(execute=True) as callbacks:
            come()
        assert [model.objects.count() for model in models] == before
        assert callbacks == []

    def test_htmx_gets_the_form_with_what_was_typed(self, come):
        come()
        response = come(headers=HTMX, prompt="A harbour in fog")
        shown = response.content.decode()
        assert response.status_code == 429
        assert "<html" not in shown
        assert "A harbour in fog</textarea>" in shown
        assert SAYS in text_of(response)

    def test_it_is_said_before_anything_is_typed(self, come, client):
        come("127.0.0.1")
        shown = client.get(NEW, follow=True)
        assert SAYS in text_of(shown)
        assert 'aria-disabled="true" aria-describedby="refusal"' in shown.content.decode()
        assert not shown.context["refused"]

    def test_it_is_not_said_to_who_came_before_nor_to_a_user(
        self, come, visitor_client, ana_client
    ):
        come("127.0.0.1")
        for client in (visitor_client, ana_client):
            assert SAYS not in text_of(client.get(NEW, follow=True))

    def test_a_seat_is_not_kept_for_an_order_that_was_refused(self, come, client):
        Allowance.objects.filter(plan__name="visitor", kind="image").update(slots=0)
        assert "Your plan includes no pictures." in text_of(come())
        assert (Account.objects.count(), Newcomer.objects.count()) == (0, 0)
        Allowance.objects.filter(plan__name="visitor", kind="image").update(slots=1)
        assert come().status_code == 303

    def test_the_same_form_is_taken_after_midnight(self, come, clock, now):
        come()
        client = Client(REMOTE_ADDR="192.0.2.1")
        client.get(NEW, follow=True)
        assert client.post(NEW, FIELDS).status_code == 429
        clock.move_to(now + timedelta(hours=12))
        assert client.post(NEW, FIELDS).status_code == 303

    def test_a_site_for_people_with_accounts_promises_no_renewal(self, come, settings):
        settings.NEW_VISITORS_A_DAY = 0
        response = come()
        assert response.status_code == 429
        assert "You need an account to make pictures on this site." in text_of(response)
        assert "Retry-After" not in response
        assert not Account.objects.exists()


def test_networks_are_forgotten_after_the_day_that_follows(come, clock, now):
    """The visitors and what they made stay."""
    come()
    assert tidy(now + timedelta(days=1), seconds=60)["new visitors"] == 0
    assert tidy(now.replace(hour=0) + timedelta(days=2), seconds=60)["new visitors"] == 1
    assert (Newcomer.objects.count(), Account.objects.count(), Job.objects.count()) == (0, 1, 1)


def test_a_dry_run_counts_them(come, clock, now, capsys):
    come()
    clock.move_to(now + timedelta(days=2))
    call_command("tidy", "--dry-run")
    assert re.search(r"new visitors\D+1\b|\b1 new visitors", capsys.readouterr().out)
    assert Newcomer.objects.exists()


def test_audit_finds_nothing_wrong(come):
    come()
    come()
    assert list(audit.violations(timezone.now())) == []


def test_sixty_at_once_are_thirty_let_in(each_database, tmp_path):
    """Two processes each; none is let in twice, and whom another rule refuses takes no seat."""
    found = contend(each_database, "", tmp_path, module="tests.jobs.newcomers")
    assert errors_in(found["answers"]) == []
    got = defaultdict(set)
    for name, answer in chain.from_iterable(share["got"] for share in found["answers"]):
        got[name].add(answer)
    let_in = {name for name, answers in got.items() if answers.isdisjoint({"new_visitors", "full"})}
    assert [number for number, _ in found["seats"]] == list(range(1, 31))
    assert {name for _, name in found["seats"]} == let_in
    assert all(name.startswith("visitor") for name in let_in)
    # Both clicks got the same answer: the one job, or the one refusal.
    assert {len(got[name]) for name in got if name.startswith("visitor")} == {1}
