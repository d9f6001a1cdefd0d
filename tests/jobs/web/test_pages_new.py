"""Ordering a picture: one form, one job, and what was typed is never lost."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from jobs import outcomes
from jobs.core import queue
from jobs.core.models import Job
from jobs.web.views import pictures
from providers.sandbox.faults import FAULTS
from quotas import ledger
from quotas.ledger import Refused
from quotas.models import Account, Allowance, Attempt
from tests import rows
from tests.jobs.conftest import HTMX, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

NEW = "/images/new"
FIELDS = {"prompt": "A lighthouse at dusk", "aspect_ratio": "3:2", "form_key": "k" * 32}


def key_in(response) -> str:
    found = re.search(r'name="form_key" value="([^"]+)"', response.content.decode())
    assert found
    return found[1]


def fill_day(account: Account) -> None:
    Allowance.objects.filter(plan=account.plan, kind="image").update(slots=1)
    rows.queued(account, timezone.now())


def test_form_carries_a_key_of_its_own_each_time(client):
    assert key_in(client.get(NEW, follow=True)) != key_in(client.get(NEW, follow=True))


def test_the_key_stands_in_the_address_so_that_back_finds_the_same_form(client):
    address = client.get(NEW)["Location"]
    assert address.startswith("/images/new?form=")
    assert key_in(client.get(address)) == key_in(client.get(address)) == address.partition("=")[2]


def test_the_address_of_a_form_keeps_what_it_is_filled_from(ana_client, account, now):
    job = rows.failed(account, now)
    asked = {"from": job.pk, "form": "too short", "junk": "x" * 20_000}
    address = ana_client.get(NEW, asked)["Location"]
    assert re.fullmatch(rf"/images/new\?from={job.pk}&form=[\w-]{{32}}", address)


def test_order_becomes_a_job(ana_client, account):
    response = ana_client.post(NEW, FIELDS)
    job = Job.objects.get()
    assert (response.status_code, response["Location"]) == (303, f"/jobs/{job.pk}")
    assert (job.account, job.prompt, job.params) == (
        account,
        "A lighthouse at dusk",
        {"aspect_ratio": "3:2", "provider": "sandbox", "model": "test-picture", "fault": ""},
    )


def test_htmx_is_sent_to_the_job(ana_client):
    response = ana_client.post(NEW, FIELDS, headers=HTMX)
    assert response["HX-Redirect"] == f"/jobs/{Job.objects.get().pk}"


def test_first_order_of_a_visitor_makes_the_account(client):
    client.get(NEW, follow=True)
    response = client.post(NEW, FIELDS)
    assert Account.objects.get().visitor
    assert client.get(response["Location"]).status_code == 200


def test_same_form_sent_twice_is_one_job_and_one_slot(ana_client):
    first, second = (ana_client.post(NEW, FIELDS) for _ in range(2))
    assert first["Location"] == second["Location"]
    assert (Job.objects.count(), Attempt.objects.count()) == (1, 1)


def test_same_form_sent_twice_lands_on_its_job_even_when_the_day_is_full(ana_client, account):
    Allowance.objects.filter(plan=account.plan, kind="image").update(slots=1)
    first, second = (ana_client.post(NEW, FIELDS) for _ in range(2))
    assert (second.status_code, second["Location"]) == (303, first["Location"])


def test_changed_form_under_the_same_key_is_another_job(ana_client):
    ana_client.post(NEW, FIELDS)
    ana_client.post(NEW, {**FIELDS, "prompt": "A harbour"})
    assert Job.objects.count() == 2


def test_queue_that_fails_does_not_matter(
    ana_client, monkeypatch, django_capture_on_commit_callbacks
):
    def fail(*args):
        raise ConnectionError("no broker")

    monkeypatch.setattr(queue, "async_task", fail)
    with django_capture_on_commit_callbacks(execute=True):
        response = ana_client.post(NEW, FIELDS)
    assert response.status_code == 303
    assert Job.objects.get().stages.get().due_at


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prompt": "  "}, "Enter a prompt that says what should be in the picture."),
        ({"prompt": "x" * 2001}, "Use 2000 characters or fewer. Your prompt has 2001."),
        ({"aspect_ratio": "7:1"}, "Select a valid choice."),
        ({"fault": "no-such-fault"}, "Select a valid choice."),
    ],
)
def test_wrong_field_is_named_and_nothing_is_ordered(ana_client, change, says):
    response = ana_client.post(NEW, {**FIELDS, **change})
    assert response.status_code == 422
    assert says in text_of(response)
    assert not Job.objects.exists()


def test_errors_are_summed_up_with_links_and_focus(ana_client):
    shown = ana_client.post(NEW, {**FIELDS, "prompt": ""}).content.decode()
    assert 'role="alert" tabindex="-1" autofocus' in shown
    assert '<a href="#id_prompt">' in shown
    assert 'aria-describedby="id_prompt_error"' in shown
    assert 'id="id_prompt_error"' in shown


def test_wrong_form_is_kept_as_typed_with_its_key(ana_client):
    response = ana_client.post(NEW, {**FIELDS, "aspect_ratio": "7:1"})
    assert "A lighthouse at dusk</textarea>" in response.content.decode()
    assert key_in(response) == FIELDS["form_key"]


def test_line_breaks_count_as_one_character(ana_client):
    response = ana_client.post(NEW, {**FIELDS, "prompt": "a\r\n" * 999 + "b"})
    assert response.status_code == 303
    assert Job.objects.get().prompt == "a\n" * 999 + "b"


def test_full_day_refuses_keeps_the_form_and_says_when_it_renews(ana_client, account, clock):
    fill_day(account)
    response = ana_client.post(NEW, {**FIELDS, "fault": "drop_after"})
    assert response.status_code == 429
    says = (
        "All 1 of today's slots are used or on hold. Your slots renew at 00:00 UTC, in 12 h 0 min."
    )
    assert says in text_of(response)
    shown = response.content.decode()
    assert "A lighthouse at dusk</textarea>" in shown
    assert '<option value="drop_after" selected>' in shown
    assert Job.objects.count() == 1


def test_refused_form_can_be_sent_again_as_it_is(ana_client, account):
    fill_day(account)
    key = key_in(ana_client.post(NEW, FIELDS))
    Allowance.objects.filter(plan=account.plan, kind="image").update(slots=2)
    assert ana_client.post(NEW, {**FIELDS, "form_key": key}).status_code == 303


def test_refusal_says_why_though_a_slot_became_free_meanwhile(ana_client, account, monkeypatch):
    fill_day(account)
    balance = ledger.read_balance(account, "image", timezone.now().date())
    outcomes.cancel(Job.objects.get().pk, timezone.now())
    monkeypatch.setattr(pictures, "order_picture", lambda **order: Refused("full", balance))
    response = ana_client.post(NEW, FIELDS)
    assert "All 1 of today's slots are used or on hold." in text_of(response)
    assert "1 of 1 slots left today" in text_of(response)


def test_order_that_lost_every_race_may_be_sent_again(ana_client, account, monkeypatch):
    balance = ledger.read_balance(account, "image", timezone.now().date())
    monkeypatch.setattr(pictures, "order_picture", lambda **order: Refused("full", balance))
    response = ana_client.post(NEW, FIELDS)
    assert response.status_code == 429
    assert "We could not reserve a slot just now. Send your request again." in text_of(response)


def test_site_without_a_model_takes_no_order_and_says_so(ana_client, settings):
    settings.IMAGE_MODELS = []
    response = ana_client.post(NEW, FIELDS)
    assert response.status_code == 422
    assert (
        "Your request was not sent No model is available on this site. Only staff can"
        in text_of(response)
    )
    assert "test pictures" not in text_of(response)
    assert not Job.objects.exists()


def test_htmx_loser_gets_the_form_and_a_fresh_header(ana_client, account):
    fill_day(account)
    response = ana_client.post(NEW, FIELDS, headers=HTMX)
    shown = response.content.decode()
    assert response.status_code == 429
    assert "<html" not in shown
    assert 'id="quota" hx-swap-oob="true"' in shown
    assert "0 of 1 slots left today · 1 on hold" in text_of(response)


def test_full_day_keeps_the_button_in_reach_with_its_reason(ana_client, account):
    fill_day(account)
    shown = ana_client.get(NEW, follow=True).content.decode()
    assert 'aria-disabled="true" aria-describedby="refusal"' in shown
    assert 'id="refusal"' in shown


def test_used_up_day_is_called_used(ana_client, account, clock, now):
    Allowance.objects.filter(plan=account.plan, kind="image").update(slots=1)
    rows.ready(account, now)
    assert "You have used all 1 of today's slots." in text_of(ana_client.get(NEW, follow=True))


def test_too_many_tries_are_refused_with_their_reason(ana_client, account, clock, now):
    Allowance.objects.filter(plan=account.plan, kind="image").update(slots=1)
    for _ in range(ledger.read_balance(account, "image", now.date()).most_tries):
        rows.failed_billed(account, now)
    response = ana_client.post(NEW, FIELDS)
    assert response.status_code == 429
    assert "Too many of today's tries failed and may have cost" in text_of(response)


def test_plan_without_pictures_says_so(ana_client, account):
    Allowance.objects.filter(plan=account.plan, kind="image").update(slots=0)
    assert "Your plan includes no pictures." in text_of(ana_client.get(NEW, follow=True))


def test_price_is_said_before(ana_client, account, clock, now):
    rows.queued(account, now)
    assert "Uses 1 slot. You have 9 left today." in text_of(ana_client.get(NEW, follow=True))


def test_sandbox_offers_every_fault(client):
    shown = client.get(NEW, follow=True).content.decode()
    assert all(f'<option value="{fault.name}"' in shown for fault in FAULTS)


def test_chosen_fault_goes_with_the_order(ana_client):
    ana_client.post(NEW, {**FIELDS, "fault": "drop_after"})
    assert Job.objects.get().params["fault"] == "drop_after"


def test_real_provider_offers_no_fault_and_takes_none(ana_client, settings):
    settings.IMAGE_MODELS = ["polza:some/model"]
    assert 'name="fault"' not in ana_client.get(NEW, follow=True).content.decode()
    ana_client.post(NEW, {**FIELDS, "fault": "drop_after"})
    assert Job.objects.get().params == {
        "aspect_ratio": "3:2",
        "provider": "polza",
        "model": "some/model",
        "fault": "",
    }


def test_fault_is_dropped_when_a_real_model_is_chosen(ana_client, settings):
    settings.IMAGE_MODELS = ["sandbox:test-picture", "polza:some/model"]
    ana_client.post(NEW, {**FIELDS, "model": "polza:some/model", "fault": "drop_after"})
    assert Job.objects.get().params["fault"] == ""


def test_only_one_model_is_no_choice(client):
    assert 'name="model"' not in client.get(NEW, follow=True).content.decode()


def test_model_that_is_not_offered_is_refused(ana_client, settings):
    settings.IMAGE_MODELS = ["sandbox:test-picture", "polza:some/model"]
    response = ana_client.post(NEW, {**FIELDS, "model": "polza:other"})
    assert response.status_code == 422


def test_form_is_filled_from_an_earlier_job(ana_client, account, now):
    job = rows.failed(account, now, prompt="A <harbour>")
    shown = ana_client.get(NEW, {"from": job.pk}, follow=True).content.decode()
    assert "A &lt;harbour&gt;</textarea>" in shown


@pytest.mark.parametrize("source", ["not-a-uuid", "7d0e26b5-5c57-4c33-92ad-16b2cf6a6d64", ""])
def test_unknown_source_leaves_the_form_empty(ana_client, source):
    shown = ana_client.get(NEW, {"from": source}, follow=True).content.decode()
    assert re.search(r"<textarea[^>]*>\s*</textarea>", shown)
    assert 'name="retry_of" id="id_retry_of"' in shown


def test_job_of_another_fills_no_form(ben_client, account, now):
    job = rows.failed(account, now, prompt="A secret harbour")
    assert "secret" not in ben_client.get(NEW, {"from": job.pk}, follow=True).content.decode()


def test_form_without_its_token_is_refused_in_plain_words(ana):
    client = Client(enforce_csrf_checks=True)
    response = client.post(NEW, FIELDS)
    assert response.status_code == 403
    assert "This can happen if the page was open for a long time" in text_of(response)
    assert "CSRF" not in text_of(response)


def test_forms_first_words_are_kept_for_the_title(ana_client):
    response = ana_client.post(NEW, FIELDS, follow=True)
    assert "A lighthouse at dusk" in text_of(response)


def test_yesterdays_hold_takes_nothing_today(ana_client, account, clock, now):
    rows.lost(account, now - timedelta(days=1))
    assert "Uses 1 slot. You have 10 left today." in text_of(ana_client.get(NEW, follow=True))
