"""Every table that grows has a chore, or a sentence that names the bound on its rows."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session

from jobs.ops import housekeeping
from jobs.ops.housekeeping import all_chores
from jobs.ops.old_rows import BOUND_OF, CHORE_OF, EMPTY_OF, OLD
from jobs.people.sign_in import bring_along
from providers.calls.models import Call, Hook, SmokeTest
from quotas.models import Account, Alert, Grant, Unmeasured
from tests import rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("enqueued", "clock")]
DAY, YEARS = timedelta(days=1), timedelta(days=800)


def tables() -> set[str]:
    return {model._meta.label for model in apps.get_models(include_auto_created=True)}


def test_every_table_has_a_chore_or_a_bound():
    assert tables() - CHORE_OF.keys() - BOUND_OF.keys() - EMPTY_OF.keys() == set()
    assert (CHORE_OF.keys() | BOUND_OF.keys() | EMPTY_OF.keys()) - tables() == set()
    assert CHORE_OF.keys() & BOUND_OF.keys() == set()


def test_every_chore_that_is_named_is_done():
    assert set(CHORE_OF.values()) <= {chore.name for chore in all_chores()}


def test_the_operations_page_names_every_bound():
    page = Path("docs/operations.md").read_text()
    for table, chore in CHORE_OF.items():
        assert f"| `{table}` | chore *{chore}* |" in page
    for table, bound in (BOUND_OF | EMPTY_OF).items():
        assert f"| `{table}` | {bound} |" in page


@pytest.fixture
def old(account, ana, staff, now):
    """Two rows of each kind that goes, and one that stays."""
    rows.failed(account, now)
    rows.ready(account, now)
    for number, age in enumerate((timedelta(), timedelta(), YEARS)):
        at, name = now + age, f"n{number}"
        Session.objects.create(session_key=name, session_data="", expire_date=at)
        shut = at if number < 2 else None
        Alert.objects.create(kind="silent", subject=name, opened_at=at, seen_at=at, closed_at=shut)
        test = {"provider": "sandbox", "model": "test-picture", "began_at": at, "ended_at": at}
        SmokeTest.objects.create(**test, is_good=True)
        Unmeasured.objects.create(day=at.date() + number * DAY, why="hangs", requests=1, last_at=at)
        Grant.objects.create(account=account, kind="image", day=at.date(), slots=1, reason="x",
                             granted_at=at)  # fmt: skip
        entry = LogEntry.objects.create(user=staff, object_id="1", object_repr="x",
                                        content_type=ContentType.objects.first(),
                                        action_flag=CHANGE)  # fmt: skip
        LogEntry.objects.filter(pk=entry.pk).update(action_time=at)
        made = Call.objects.get(state="succeeded")
        Hook.objects.create(provider="sandbox", message_id=name, call=made, received_at=at,
                            is_signed=True)  # fmt: skip
        bring_along(visitor=name, user=ana, now=now if number < 2 else now + YEARS)
    Alert.objects.create(kind="silent", subject="open", opened_at=now, seen_at=now)


@pytest.mark.parametrize("name", OLD)
def test_what_is_old_goes_as_it_was_counted_and_the_rest_stays(old, now, name):
    (chore,) = [chore for chore in all_chores() if chore.name == name]
    assert chore.count(now) == 0
    assert chore.count(now + YEARS) == 2
    assert chore.step(now + YEARS) == 2
    assert (chore.count(now + YEARS), chore.step(now + YEARS)) == (0, 0)
    assert OLD[name](now + YEARS).model.objects.exists()


def test_a_spent_visitor_stays_for_a_day_and_with_anything_of_theirs(visitor, ana, now):
    rows.ready(visitor, now)
    bring_along(visitor=visitor.visitor, user=ana, now=now)
    bring_along(visitor="nothing", user=ana, now=now)
    assert housekeeping.tidy(now + DAY / 2, seconds=9)["spent visitors"] == 0
    housekeeping.tidy(now + 2 * DAY, seconds=9)
    assert not Account.objects.filter(visitor="nothing").exists()


def test_the_newest_smoke_test_of_each_provider_stays(now):
    for provider in ("sandbox", "polza"):
        for _ in range(2):
            SmokeTest.objects.create(provider=provider, model="m", began_at=now, ended_at=now,
                                     is_good=True)  # fmt: skip
    housekeeping.tidy(now + YEARS, seconds=9)
    assert sorted(SmokeTest.objects.values_list("provider", flat=True)) == ["polza", "sandbox"]
