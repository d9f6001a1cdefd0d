"""What staff decide about a provider, from the board and from the list of gates."""

import pytest
from django.contrib.admin.models import LogEntry
from django.db import transaction

from providers import gates, ledger
from providers.models import Call, Gate
from providers.pool import Candidate
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

BOARD = "/admin/dashboard/"
PAUSE, RESUME = f"{BOARD}sandbox/pause/", f"{BOARD}sandbox/resume/"


def enter(now):
    with transaction.atomic():
        return gates.enter(work="image:1", candidate=Candidate(rows.OFFER), now=now)


def test_pausing_is_asked_first(staff_client):
    assert "Pause sandbox?" in text_of(staff_client.get(PAUSE))
    assert not Gate.objects.exists()


def test_pausing_needs_a_reason(staff_client):
    answer = staff_client.post(PAUSE, {"reason": " "})
    assert answer.status_code == 422
    assert "This field is required." in text_of(answer)
    assert not Gate.objects.exists()


def test_staff_pause_and_resume_and_it_is_written_down(staff_client, staff, now):
    answer = staff_client.post(PAUSE, {"reason": "too dear today"}, follow=True)
    assert "Paused: sandbox." in text_of(answer)
    assert "Paused by staff" in text_of(answer)
    assert enter(now).why == gates.STAFF
    staff_client.post(RESUME, {"reason": "a new day"})
    assert isinstance(enter(now), Call)
    entries = LogEntry.objects.order_by("pk")
    assert [(entry.user_id, entry.change_message) for entry in entries] == [
        (staff.pk, "Paused by staff: too dear today"),
        (staff.pk, "Resumed by staff: a new day"),
    ]


@pytest.mark.parametrize("page", [PAUSE, RESUME])
def test_what_is_so_already_is_not_written_down_again(staff_client, page):
    if page == PAUSE:
        staff_client.post(page, {"reason": "first"})
    before = LogEntry.objects.count()
    answer = staff_client.post(page, {"reason": "again"}, follow=True)
    assert LogEntry.objects.count() == before
    said = {PAUSE: "Paused already: sandbox.", RESUME: "Nothing was paused: sandbox."}[page]
    assert said in text_of(answer)


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
    assert enter(now) == gates.Closed("staff", now + gates.STAFF_AGAIN)
    assert ledger.live_call_of("image:1") is None


def page_of(gate: Gate) -> str:
    return f"/admin/providers/gate/{gate.pk}/change/"


def test_a_gates_page_leads_to_the_one_that_asks_for_a_reason(staff_client, now):
    gates.pause("sandbox", now)
    assert "shut by staff" in text_of(staff_client.get("/admin/providers/gate/"))
    page = page_of(Gate.objects.get(model=""))
    assert f'href="{RESUME}"' in staff_client.get(page).content.decode()
    staff_client.post(RESUME, {"reason": "a new day"})
    assert isinstance(enter(now), Call)
    assert "a new day" in LogEntry.objects.get().change_message
    assert RESUME not in staff_client.get(page).content.decode()


def test_nothing_opens_a_gate_without_a_reason(staff_client, now):
    gates.pause("sandbox", now)
    fields = {"action": "resume", "_selected_action": [str(Gate.objects.get(model="").pk)]}
    staff_client.post("/admin/providers/gate/", fields)
    staff_client.post(RESUME, {"reason": " "})
    assert Gate.objects.get(model="").why == gates.STAFF


def test_to_see_the_gates_is_not_to_open_them(member, now):
    gates.pause("sandbox", now)
    client = member("providers.view_gate")
    assert RESUME not in client.get(page_of(Gate.objects.get(model=""))).content.decode()
    assert client.post(RESUME, {"reason": "mine"}).status_code == 403
    assert Gate.objects.get(model="").why == gates.STAFF
