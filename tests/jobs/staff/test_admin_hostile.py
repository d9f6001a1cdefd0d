"""Whatever stands in an address of the admin, or is chosen by hand, is no fault of ours: no list
answers 500."""

import pytest
from django.contrib import admin
from django.urls import reverse

from jobs.core.models import Job
from providers.calls.models import Call
from quotas.ratelimit.limiter import limiter
from tests import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued", "media")]

ODD = ["%ED%A0%80", "9" * 40, "x" * 10_000, "%3Cscript%3E", "%F0%9F%98%80", "-1", "1e9", "%27%22"]
KEYS = ["", "\0", "x", "<script>", "9" * 50, "x" * 10_000]
SPECIAL = ("q", "p", "o", "all", "id")
DOORS = {
    "check_now": "call",
    "resume": "job",
    "quotas_grant_add": "account",
    "dashboard": "refresh",
}


def lists() -> list[str]:
    return [
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in admin.site._registry
    ]


def questions(page: str, client) -> set[str]:
    """The names that its filters have in the address, as the page itself links them."""
    shown = client.get(page).context["cl"].filter_specs
    return {name for spec in shown for name in spec.expected_parameters()} | set(SPECIAL)


def answer(client, address: str) -> int:
    """Each as the first that its reader asks for: so many at once would be too many."""
    limiter.cache_clear()
    return client.get(address).status_code


@pytest.fixture
def ask(staff_client, account, now):
    rows.lost(account, now)

    def ask(value: str) -> dict[str, int]:
        pages = [f"{page}?{name}=" for page in lists() for name in questions(page, staff_client)]
        pages += [f"{reverse(f'admin:{name}')}?{param}=" for name, param in DOORS.items()]
        return {page: answer(staff_client, page + value) for page in pages}

    return ask


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_no_list_breaks_on_what_its_address_says(ask, odd):
    assert {page: code for page, code in ask(odd).items() if code >= 500} == {}


def test_a_nul_is_refused_before_a_database_sees_it(ask):
    """PostgreSQL takes none in any text; SQLite would."""
    assert set(ask("%00").values()) == {400}


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
@pytest.mark.parametrize(("table", "action"), [(Call, "check_now"), (Job, "resume")])
def test_what_cannot_be_the_key_of_a_row_is_chosen_in_vain(staff_client, table, action, key):
    page = reverse(f"admin:{table._meta.app_label}_{table._meta.model_name}_changelist")
    answer = staff_client.post(page, {"action": action, "_selected_action": [key]})
    assert answer.status_code in (302, 400)
