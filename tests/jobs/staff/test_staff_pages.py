"""The pages on which staff decide: what they say before, who may come, and what they cost."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.core.models import Job, StaffAction
from jobs.staff.actions.page import MOST_AT_ONCE
from providers.calls.models import Call
from quotas.ledger import read_balance
from quotas.models import Grant
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued", "media")]

LIST = reverse("admin:providers_call_changelist")
GRANT = reverse("admin:quotas_grant_add")
HOUR = timedelta(hours=1)
DECISIONS = {
    "check_now": "check_call",
    "give_back": "give_slot_back",
    "attach": "attach_reference",
    "revoke": "delete_grant",
}
WORDS = {
    "check_now": "Check now",
    "give_back": "Give the slot back",
    "attach": "Attach a provider id",
}


@pytest.fixture
def overdue(account, now, clock):
    """A call in doubt that has an id."""
    job = rows.overdue(account, now)
    clock.move_to(now + HOUR)
    return rows.call_of(job)


@pytest.fixture
def lost(account, now, clock):
    """A call in doubt that has none."""
    job = rows.lost(account, now)
    clock.move_to(now + HOUR)
    return rows.call_of(job)


@pytest.fixture
def extra(account, now, clock, staff):
    clock.move_to(now + HOUR)
    return Grant.objects.create(
        account=account, kind="image", day=now.date(), slots=5, reason="r", granted_at=now
    )


@pytest.fixture
def only(staff, staff_client):
    """only("attach_reference") is staff with that permission and those to look."""

    def let(*names: str):
        staff.is_superuser = False
        staff.save()
        looks = ("view_call", "view_grant", "view_job")
        staff.user_permissions.set(Permission.objects.filter(codename__in=[*looks, *names]))
        return staff_client

    return let


def door(name: str, row) -> str:
    if name == "check_now":
        return f"{reverse('admin:check_now')}?call={row.pk}"
    return reverse(f"admin:{name}", args=[row.pk])


def page_of(call: Call) -> str:
    return reverse("admin:providers_call_change", args=[call.pk])


def grant_form(client, account, now) -> dict[str, object]:
    """As it comes, filled in."""
    [key] = re.findall(r'name="key" value="([^"]+)"', client.get(GRANT).content.decode())
    day = {"account": account.pk, "kind": "image", "day": now.date()}
    return day | {"slots": 2, "reason": "sorry", "key": key}


def doors_on(client, call: Call) -> set[str]:
    shown = text_of(client.get(page_of(call)))
    return {name for name, words in WORDS.items() if words in shown}


def test_page_shows_what_is_known_of_the_call(staff_client, overdue):
    text = text_of(staff_client.get(door("give_back", overdue)))
    for part in (
        str(overdue.pk),
        overdue.work,
        "sandbox:test-picture",
        "accepted, in doubt",
        overdue.reference,
        "14 Mar 12:00:01 UTC, 59",
        "running: processing",
        f"{overdue.cost_estimate:.2f} {overdue.currency}",
    ):
        assert part in text.replace("\xa0", " ")


def test_a_call_that_is_no_jobs_has_its_pages(staff_client, overdue, lost):
    Call.objects.filter(pk=overdue.pk).update(work="image:1")
    Call.objects.filter(pk=lost.pk).update(work="image:2")
    assert doors_on(staff_client, overdue) == {"check_now"}
    assert doors_on(staff_client, lost) == set()
    assert "This call belongs to no job." in text_of(staff_client.get(door("give_back", lost)))
    staff_client.post(door("check_now", overdue), {"reason": "to see"})
    assert StaffAction.objects.get().job is None


def test_page_says_what_will_happen(staff_client, lost):
    text = text_of(staff_client.get(door("give_back", lost)))
    for part in (
        "The attempt for slot 1 of 14 Mar ends as failed. This is final."
        " The slot is given back now.",
        (
            "We have not found out whether the picture was made. If it still arrives, it "
            "is yours and uses no slot."
        ),
        "counts as possibly charged: 5.00 RUB",
        "keep checking it until 15 Mar 12:00:01 UTC",
        "deliver it without using a slot",
        "You cannot undo this.",
    ):
        assert part in text


def test_page_says_that_a_call_had_no_price(staff_client, lost):
    Call.objects.filter(pk=lost.pk).update(cost_estimate=None)
    text = text_of(staff_client.get(door("give_back", lost)))
    assert "counts as possibly charged: without a price." in text


def test_a_slot_of_a_day_that_is_over_is_said_to_bring_nothing(staff_client, lost, clock, now):
    clock.move_to(now + 20 * HOUR)
    text = text_of(staff_client.get(door("give_back", lost)))
    assert "That day is over. To give a slot for today, add a grant." in text


@pytest.mark.parametrize("name", ["check_now", "give_back", "attach"])
def test_no_word_of_the_prompt_is_shown(staff_client, account, now, clock, name):
    call = rows.call_of(rows.lost(account, now, prompt="a secret wish"))
    assert "secret" not in text_of(staff_client.get(door(name, call)))


@pytest.mark.parametrize("name", DECISIONS)
def test_looking_decides_nothing(staff_client, overdue, extra, name):
    row = extra if name == "revoke" else overdue
    with CaptureQueriesContext(connection) as caught:
        assert staff_client.get(door(name, row)).status_code == 200
    writes = ("INSERT", "UPDATE", "DELETE")
    assert [sql for sql in map(str, caught.captured_queries) if sql.startswith(writes)] == []
    assert not StaffAction.objects.exists()


@pytest.mark.parametrize("reason", ["", "   "])
@pytest.mark.parametrize("name", DECISIONS)
def test_without_a_reason_nothing_is_decided(staff_client, overdue, extra, name, reason):
    row = extra if name == "revoke" else overdue
    response = staff_client.post(door(name, row), {"reason": reason, "reference": "gen_1"})
    assert response.status_code == 200
    assert not StaffAction.objects.exists()
    if name != "attach":
        assert "This field is required." in text_of(response)


def test_the_slot_is_given_back(staff_client, lost, account, now):
    response = staff_client.post(door("give_back", lost), {"reason": "by phone"}, follow=True)
    text = text_of(response)
    assert "The slot was given back." in text
    # The call's own page tells it with its reason.
    assert response.request["PATH_INFO"] == page_of(lost)
    assert "by phone" in text
    assert Job.objects.get().state == "failed"


def test_an_id_of_another_call_is_refused_and_the_form_kept(staff_client, lost, account, now):
    taken = rows.call_of(rows.generating(account, now))
    fields = {"reference": taken.reference, "reason": "seen in their history"}
    response = staff_client.post(door("attach", lost), fields)
    assert response.status_code == 409
    assert f"This id belongs to another call: number {taken.pk}" in text_of(response)
    assert "seen in their history" in response.content.decode()
    assert 'name="reference"' in response.content.decode()


def test_a_call_is_looked_at_now(staff_client, overdue):
    response = staff_client.post(door("check_now", overdue), {"reason": "by phone"}, follow=True)
    assert "Checking 1 call." in text_of(response)
    assert Call.objects.get().poll_at == timezone.now()


def test_several_chosen_in_the_list_are_looked_at_now(staff_client, account, now, clock):
    calls = [rows.call_of(rows.overdue(account, now)) for _ in range(3)]
    clock.move_to(now + HOUR)
    fields = {"action": "check_now", "_selected_action": [call.pk for call in calls[:2]]}
    asked = staff_client.post(LIST, fields)
    assert text_of(staff_client.get(asked["Location"])).count("accepted, in doubt") == 2
    told = staff_client.post(asked["Location"], {"reason": "by phone"}, follow=True)
    assert "Checking 2 calls." in text_of(told)
    looked_at = Call.objects.filter(poll_at=now + HOUR).order_by("pk")
    assert [call.pk for call in looked_at] == [call.pk for call in calls[:2]]


def test_too_many_at_once_are_refused(staff_client, account, now, monkeypatch):
    monkeypatch.setattr("jobs.staff.admin.MOST_AT_ONCE", 1)
    calls = [rows.call_of(rows.overdue(account, now)) for _ in range(2)]
    fields = {"action": "check_now", "_selected_action": [call.pk for call in calls]}
    assert "At most 1 at once." in text_of(staff_client.post(LIST, fields, follow=True))
    assert MOST_AT_ONCE == 50


@pytest.mark.parametrize("query", ["", "?call=", "?call=x", "?call=99", f"?call={'9' * 40}"])
def test_nothing_chosen_is_said(staff_client, query):
    response = staff_client.get(f"{reverse('admin:check_now')}{query}")
    assert "No call was chosen." in text_of(response)
    assert 'name="reason"' not in response.content.decode()


@pytest.mark.parametrize(
    ("name", "make", "words"),
    [
        ("give_back", rows.ready, "The outcome of this call is known: succeeded."),
        ("attach", rows.overdue, "This call has a provider id"),
        ("check_now", rows.failed, "nothing to ask about"),
    ],
)
def test_what_the_state_forbids_is_said_in_the_place_of_the_form(
    staff_client, account, now, name, make, words
):
    call = rows.call_of(make(account, now))
    response = staff_client.get(door(name, call))
    assert words in text_of(response)
    assert 'name="reason"' not in response.content.decode()
    refused = staff_client.post(door(name, call), {"reason": "r", "reference": "gen_1"})
    assert refused.status_code == 409
    assert not StaffAction.objects.exists()


@pytest.mark.parametrize("name", DECISIONS)
def test_each_needs_its_own_permission(only, overdue, extra, name):
    row = extra if name == "revoke" else overdue
    others = [permission for other, permission in DECISIONS.items() if other != name]
    client = only(*others)
    for ask in (client.get, client.post):
        assert ask(door(name, row), {"reason": "r", "reference": "x"}).status_code == 403
    assert only(DECISIONS[name]).get(door(name, row)).status_code == 200
    assert not StaffAction.objects.exists()


def test_a_grant_needs_its_own_permission(only, account, now):
    client = only(*DECISIONS.values())
    assert client.get(reverse("admin:quotas_grant_add")).status_code == 403


@pytest.mark.parametrize("name", DECISIONS)
def test_its_owner_has_no_way_in(ana_client, overdue, extra, name):
    row = extra if name == "revoke" else overdue
    response = ana_client.post(door(name, row), {"reason": "r"})
    assert response.status_code == 302
    assert "/admin/login/" in response["Location"]


def test_the_action_of_the_list_needs_its_permission(only, overdue):
    fields = {"action": "check_now", "_selected_action": [overdue.pk]}
    shown = only("give_slot_back").post(LIST, fields, follow=True)
    assert reverse("admin:check_now") not in str(shown.redirect_chain)
    assert "Check now" not in text_of(shown)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (rows.sending, set()),
        (rows.generating, {"check_now"}),
        (rows.overdue, {"check_now", "give_back"}),
        (rows.lost, {"give_back", "attach"}),
        (rows.ready, {"check_now"}),
        (rows.failed, {"attach"}),
        (rows.not_confirmed, {"attach"}),
    ],
)
def test_a_calls_page_leads_to_what_its_state_allows(
    staff_client, account, now, clock, make, names
):
    call = rows.call_of(make(account, now))
    if make in (rows.overdue, rows.lost):
        clock.move_to(now + HOUR)
    assert doors_on(staff_client, call) == names


def test_a_calls_page_leads_to_what_its_reader_may(only, overdue):
    assert doors_on(only("give_slot_back"), overdue) == {"give_back"}
    assert doors_on(only(), overdue) == set()


@pytest.mark.parametrize("name", ["give_back", "attach"])
def test_a_call_that_is_not_there_is_404(staff_client, name):
    assert staff_client.get(reverse(f"admin:{name}", args=[99])).status_code == 404


def test_a_grant_leads_to_the_page_that_takes_it_back(staff_client, extra, account, now):
    shown = staff_client.get(reverse("admin:quotas_grant_change", args=[extra.pk]))
    assert door("revoke", extra) in shown.content.decode()
    text = text_of(staff_client.get(door("revoke", extra)))
    assert "Of that day's 15 slots, 0 are used or on hold." in text
    assert "drops to 10 at once" in text
    told = staff_client.post(door("revoke", extra), {"reason": "a mistake"}, follow=True)
    assert "The grant was taken back." in text_of(told)
    assert read_balance(account, "image", now.date()).left == 10


def test_a_grant_is_given_with_its_entry(staff_client, account, now):
    assert staff_client.post(GRANT, grant_form(staff_client, account, now)).status_code == 302
    entry = StaffAction.objects.get()
    assert (entry.action, entry.by_name, entry.reason) == ("grant", "staff", "sorry")
    assert entry.account == account


def test_a_grants_form_that_is_sent_twice_is_one_grant(staff_client, account, now):
    form = grant_form(staff_client, account, now)
    staff_client.post(GRANT, form)
    assert "Its slots are granted" in text_of(staff_client.post(GRANT, form, follow=True))
    assert read_balance(account, "image", now.date()).left == 12
    assert StaffAction.objects.count() == 1
    staff_client.post(GRANT, grant_form(staff_client, account, now))
    assert read_balance(account, "image", now.date()).left == 14


@pytest.mark.parametrize("address", ["x", "99"])
def test_a_grant_that_is_not_there_is_no_fault(staff_client, address):
    page = f"/admin/quotas/grant/{address}/change/"
    assert staff_client.get(page).status_code == 302


def test_entries_are_listed_with_their_jobs_and_filtered(staff_client, lost):
    staff_client.post(door("give_back", lost), {"reason": "by phone"})
    address = reverse("admin:jobs_staffaction_changelist")
    shown = staff_client.get(address, {"action": "give_back"})
    for part in ("slot given back", "staff", "by phone", f"call {lost.pk} sandbox:test-picture"):
        assert part in text_of(shown)
    assert f"/jobs/job/{Job.objects.get().pk}/change/" in shown.content.decode()
    assert "by phone" not in text_of(staff_client.get(address, {"action": "attach"}))


@pytest.mark.parametrize("page", ["change", "delete"])
def test_an_entry_is_not_edited(staff_client, lost, page):
    staff_client.post(door("give_back", lost), {"reason": "by phone"})
    entry = StaffAction.objects.get()
    address = reverse(f"admin:jobs_staffaction_{page}", args=[entry.pk])
    assert staff_client.post(address, {"reason": "another", "post": "yes"}).status_code == 403
    assert StaffAction.objects.get().reason == "by phone"


def queries_of(ask) -> int:
    with CaptureQueriesContext(connection) as caught:
        assert ask().status_code in (200, 302)
    return len(caught)


@pytest.mark.parametrize("count", [1, 20])
def test_pages_cost_the_same_whatever_the_history(staff_client, account, now, clock, count):
    Grant.objects.create(
        account=account, kind="image", day=now.date(), slots=100, reason="r", granted_at=now
    )
    calls = [rows.call_of(rows.overdue(account, now)) for _ in range(count)]
    clock.move_to(now + HOUR)
    chosen = f"{reverse('admin:check_now')}?" + "&".join(f"call={call.pk}" for call in calls)
    # The first visit of a process also reads the content types.
    staff_client.get(page_of(calls[0]))
    assert queries_of(lambda: staff_client.get(chosen)) == 4
    assert queries_of(lambda: staff_client.post(chosen, {"reason": "r"})) == 13
    assert queries_of(lambda: staff_client.get(page_of(calls[0]))) == 7
    assert queries_of(lambda: staff_client.get(door("give_back", calls[0]))) == 4
    listed = reverse("admin:jobs_staffaction_changelist")
    assert queries_of(lambda: staff_client.get(listed)) == 4
