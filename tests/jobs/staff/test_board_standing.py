"""Where each provider stands, as the board tells it."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from jobs.staff.dashboard import provider_health, smoke_tests
from providers.calls.models import Gate, SmokeTest
from providers.outcomes import Accepted
from tests import rows
from tests.jobs.conftest import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

BOARD = "/admin/dashboard/"
MINUTE = timedelta(minutes=1)


def standing_of(name: str, now) -> provider_health.ProviderHealth:
    found = provider_health.Rows(
        gates=provider_health.gates_by_provider(),
        recent=provider_health.recent_by_offer(),
        answers=provider_health.answers_by_provider(now),
        tests=smoke_tests.newest_tests(),
    )
    return {each.name: each for each in provider_health.standings(found, now)}[name]


def test_a_provider_that_works(account, now):
    rows.saving(account, now)
    found = standing_of("sandbox", now)
    assert (found.state.tone, found.may_be_paused, found.may_be_resumed) == ("up", True, False)
    assert found.last_success_at == now + 5 * rows.SECOND
    assert found.answers == provider_health.Answers(sent=1)


def test_a_provider_that_nobody_may_ask_for_says_so(now):
    assert standing_of("polza", now).state.tone == "unused"


def test_errors_are_counted_by_kind_within_a_day(account, now):
    for ago in (0, 1, 23, 25):
        rows.failed(account, now - timedelta(hours=ago), why="provider")
    rows.failed(account, now, why="content")
    rows.ready(account, now)
    answers = standing_of("sandbox", now).answers
    assert answers.sent == 5
    assert answers.errors == (("provider error", 3), ("prompt refused", 1))
    assert answers.error_percent == 80


def test_a_request_that_was_lost_and_found_is_no_error(account, now):
    job = rows.lost(account, now)
    assert standing_of("sandbox", now).answers.errors == (("connection lost or not made", 1),)
    rows.news(job, Accepted("gen_1"), now + MINUTE)
    assert standing_of("sandbox", now).answers == provider_health.Answers(sent=1)


@pytest.mark.parametrize(
    ("columns", "tone", "word"),
    [
        ({"paused_until": MINUTE}, "paused", "Paused until 14 Mar 12:01:00 UTC"),
        ({"exhausted_until": MINUTE}, "paused", "Paused until 14 Mar 12:01:00 UTC"),
        ({"paused_until": -MINUTE}, "paused", "Next request is a trial"),
    ],
)
def test_a_shut_gate_says_until_when_and_why(now, columns, tone, word):
    moments = {name: now + later for name, later in columns.items()}
    Gate.objects.create(provider="sandbox", why="rate", since=now - MINUTE, **moments)
    state = standing_of("sandbox", now).state
    assert (state.tone, state.word, state.why) == (tone, word, "too many requests")
    assert state.since == now - MINUTE


def test_a_provider_is_failing_while_one_of_its_models_is_shut(now):
    Gate.objects.create(
        provider="sandbox", model="m", why="provider", since=now, paused_until=now + MINUTE
    )
    found = standing_of("sandbox", now)
    assert (found.state.tone, found.may_be_resumed) == ("failing", True)
    assert [model for model, _ in found.blocked_models] == ["m"]


def test_spend_stands_against_the_cap(staff_client, account, now, settings):
    capped = replace(settings.PROVIDER_ACCOUNTS["sandbox"], daily_cap=(Decimal(10), "RUB"))
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"sandbox": capped}
    rows.saving(account, now)
    page = staff_client.get(BOARD).content.decode()
    assert 'max="10.0000" value="5.0000"' in page
    assert "5.00 / 10.00 RUB" in page
    assert "cap reached" not in page
    rows.saving(account, now)
    assert "cap reached" in staff_client.get(BOARD).content.decode()


def smoke_tested(began_at, **verdict) -> None:
    ended = {"ended_at": began_at + MINUTE} if verdict else {}
    columns = {"provider": "sandbox", "model": "m", "began_at": began_at}
    SmokeTest.objects.create(**columns, **ended, **verdict)


def test_a_provider_that_was_never_tested_says_so(now):
    assert standing_of("sandbox", now).tested == smoke_tests.Tested("", "not tested yet")


def test_the_newest_smoke_test_is_told_and_what_was_wrong(staff_client, now):
    smoke_tested(now - 9 * MINUTE, is_good=False, words="Its key was refused.")
    smoke_tested(now - 5 * MINUTE, is_good=True)
    assert standing_of("sandbox", now).tested == smoke_tests.Tested(
        "up", "good", "", now - 5 * MINUTE
    )
    smoke_tested(now - 2 * MINUTE, is_good=False, words="No result after 10 minutes.")
    smoke_tested(now)
    found = standing_of("sandbox", now).tested
    assert (found.word, found.at) == ("failed", now - 2 * MINUTE)
    said = "failed 14 Mar 2026, 11:58 UTC No result after 10 minutes."
    assert said in text_of(staff_client.get(BOARD))


def test_an_old_smoke_test_is_told_as_too_old_where_it_is_daily(settings, now):
    smoke_tested(now - timedelta(hours=27), is_good=True)
    assert standing_of("sandbox", now).tested.word == "good"
    settings.SMOKE_DAILY = True
    assert standing_of("sandbox", now).tested.word == "too old"


def test_each_provider_has_its_own_smoke_test_in_one_query(now, django_assert_num_queries):
    smoke_tested(now, is_good=True)
    smoke_tested(now, is_good=False)
    SmokeTest.objects.filter(is_good=False).update(provider="polza")
    with django_assert_num_queries(1):
        found = smoke_tests.newest_tests()
    assert {name: test.is_good for name, test in found.items()} == {"sandbox": True, "polza": False}
