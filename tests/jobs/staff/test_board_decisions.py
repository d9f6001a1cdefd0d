"""What staff decide about a provider, from the board and from the list of gates."""

from datetime import timedelta

import pytest
from django.db import transaction

from jobs.core.models import StaffAction
from jobs.staff.actions import provider_gate
from jobs.staff.actions.base import ActionRefused, Decision
from providers.calls import ledger
from providers.calls.models import Call, Gate
from providers.routing import gates
from providers.routing.pool import Candidate
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

BOARD = "/admin/dashboard/"
HOUR = timedelta(hours=1)
PAUSE, RESUME = f"{BOARD}sandbox/pause/", f"{BOARD}sandbox/resume/"


def enter(now):
    with transaction.atomic():
        return gates.enter(work="image:1", candidate=Candidate(rows.OFFER), now=now)


def test_pausing_is_asked_first(staff_client):
    assert "Pause sandbox" in text_of(staff_client.get(PAUSE))
    assert not Gate.objects.exists()


def test_pausing_needs_a_reason(staff_client):
    answer = staff_client.post(PAUSE, {"reason": " "})
    assert "This field is required." in text_of(answer)
    assert not Gate.objects.exists()


def test_staff_pause_and_resume_and_it_is_written_down(staff_client, staff, now):
    answer = staff_client.post(PAUSE, {"reason": "too dear today"}, follow=True)
    assert "Paused: sandbox." in text_of(answer)
    assert "Paused by staff" in text_of(answer)
    assert enter(now).why == gates.STAFF
    staff_client.post(RESUME, {"reason": "a new day"})
    assert isinstance(enter(now), Call)
    entries = StaffAction.objects.order_by("pk")
    assert list(entries.values_list("action", "by", "by_name", "reason", "at", "subject")) == [
        ("pause", staff.pk, "staff", "too dear today", now, "provider sandbox"),
        ("let_in", staff.pk, "staff", "a new day", now, "provider sandbox"),
    ]
    assert {entry.gate for entry in entries} == {Gate.objects.get(model="")}


def test_a_provider_that_stands_open_and_one_that_is_shut_is_shown_so(staff_client, now):
    assert "Up" in text_of(staff_client.get(PAUSE))
    Gate.objects.create(
        provider="sandbox", model="test-picture", paused_until=now + HOUR, why="rate", since=now
    )
    shown = text_of(staff_client.get(RESUME))
    for part in ("sandbox:test-picture", "Paused until 14 Mar 13:00:00 UTC", "too many requests"):
        assert part in shown
    staff_client.post(RESUME, {"reason": "a new day"})
    assert not Gate.objects.get(model="test-picture").is_paused


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (PAUSE, "Staff have already paused it."),
        (RESUME, "Neither the provider nor any of its models is paused."),
    ],
)
def test_what_is_so_already_has_no_form_and_no_second_entry(staff_client, now, page, words):
    if page == PAUSE:
        gates.pause("sandbox", now)
    shown = staff_client.get(page)
    assert words in text_of(shown)
    assert 'name="reason"' not in shown.content.decode()
    assert staff_client.post(page, {"reason": "again"}).status_code == 409
    assert not StaffAction.objects.exists()


@pytest.mark.parametrize(
    ("decide", "step"), [(provider_gate.run_pause, "pause"), (provider_gate.run_resume, "resume")]
)
def test_who_comes_second_in_the_same_moment_is_refused(staff, now, monkeypatch, decide, step):
    """Both had seen it open for the decision."""
    if step == "resume":
        gates.pause("sandbox", now)
    monkeypatch.setattr(f"providers.routing.gates.{step}", lambda *args: False)
    with pytest.raises(ActionRefused, match="Something changed"):
        decide("sandbox", Decision(staff, "mine", now))
    assert not StaffAction.objects.exists()


@pytest.mark.parametrize("page", [PAUSE, RESUME])
def test_to_see_the_board_is_not_to_decide(member, page):
    client = member("jobs.view_dashboard")
    assert client.get(BOARD).status_code == 200
    assert "/pause/" not in client.get(BOARD).content.decode()
    assert client.post(page, {"reason": "mine"}).status_code == 403
    assert not Gate.objects.exists()


def test_who_may_decide_decides(member):
    client = member("jobs.view_dashboard", "providers.change_gate")
    assert client.post(PAUSE, {"reason": "mine"}).status_code == 302
    assert Gate.objects.get(model="").why == "staff"


def test_nobody_pauses_what_is_not_there(staff_client):
    assert staff_client.post(f"{BOARD}nobody/pause/", {"reason": "x"}).status_code == 404
    assert not Gate.objects.exists()


def test_work_waits_while_staff_have_shut_its_provider(account, now, staff_client):
    staff_client.post(PAUSE, {"reason": "x"})
    assert enter(now) == gates.Blocked("staff", now + gates.STAFF_AGAIN)
    assert ledger.find_live_call("image:1") is None


def page_of(gate: Gate) -> str:
    return f"/admin/providers/gate/{gate.pk}/change/"


def test_a_gates_page_leads_to_the_one_that_asks_for_a_reason(staff_client, now):
    gates.pause("sandbox", now)
    assert "paused by staff" in text_of(staff_client.get("/admin/providers/gate/"))
    page = page_of(Gate.objects.get(model=""))
    assert f'href="{RESUME}"' in staff_client.get(page).content.decode()
    staff_client.post(RESUME, {"reason": "a new day"})
    assert isinstance(enter(now), Call)
    told = staff_client.get(page)
    assert "a new day" in text_of(told)
    assert RESUME not in told.content.decode()


def test_the_list_of_gates_says_for_how_long_each_is_shut(staff_client, now, clock):
    ends = {"paused_until": now + HOUR / 2, "exhausted_until": now + HOUR}
    Gate.objects.create(provider="sandbox", why="balance", since=now, **ends)
    assert "paused until 14 Mar 13:00:00 UTC" in text_of(staff_client.get("/admin/providers/gate/"))
    clock.move_to(now + HOUR)
    assert "next request is a trial" in text_of(staff_client.get("/admin/providers/gate/"))


def test_a_gates_page_leads_to_the_pause_too(staff_client, now):
    page = page_of(Gate.objects.create(provider="sandbox", model="m"))
    assert f'href="{PAUSE}"' in staff_client.get(page).content.decode()
    gates.pause("sandbox", now)
    assert PAUSE not in staff_client.get(page).content.decode()


def test_the_page_of_a_gate_of_nobody_leads_nowhere(staff_client, now):
    gates.pause("gone", now)
    page = staff_client.get(page_of(Gate.objects.get())).content.decode()
    assert "/admin/dashboard/gone/" not in page


def test_nothing_opens_a_gate_without_a_reason(staff_client, now):
    gates.pause("sandbox", now)
    staff_client.post(RESUME, {"reason": " "})
    assert Gate.objects.get(model="").why == gates.STAFF


def test_to_see_the_gates_is_not_to_open_them(member, now):
    gates.pause("sandbox", now)
    client = member("providers.view_gate")
    assert RESUME not in client.get(page_of(Gate.objects.get(model=""))).content.decode()
    assert client.post(RESUME, {"reason": "mine"}).status_code == 403
    assert Gate.objects.get(model="").why == gates.STAFF
