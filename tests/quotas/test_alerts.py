"""Alerts: one open for a kind and a subject, whoever meets it how often and whenever at once."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from quotas.alerts import close_alert, close_all_but, open_alert
from quotas.models import Alert, AlertKind
from tests.quotas.test_contention import contend, errors_in, read_rows

PAUSED, CONTRADICTION = AlertKind.PROVIDER_PAUSED, AlertKind.CONTRADICTION
MINUTE = timedelta(minutes=1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def meet(now):
    """Meets what the alert tells of, some minutes after now."""

    def meet(minutes: int = 0, kind: AlertKind = PAUSED, subject: str = "polza", **told) -> bool:
        return open_alert(kind=kind, subject=subject, now=now + minutes * MINUTE, **told)

    return meet


@pytest.fixture
def over(now):
    def over(minutes: int, subject: str = "polza") -> bool:
        return close_alert(kind=PAUSED, subject=subject, now=now + minutes * MINUTE)

    return over


def test_first_time_it_is_new(meet, now):
    assert meet(words="no money left") is True
    alert = Alert.objects.get()
    assert (alert.kind, alert.subject, alert.words) == ("provider_paused", "polza", "no money left")
    assert (alert.opened_at, alert.seen_at, alert.closed_at) == (now, now, None)


def test_while_it_is_open_it_is_only_seen_again(meet, now):
    meet(words="first words")
    assert meet(5, words="other words") is False
    alert = Alert.objects.get()
    assert (alert.opened_at, alert.seen_at) == (now, now + 5 * MINUTE)


def test_its_words_are_those_that_are_true_now(meet):
    meet(words="1 call")
    meet(5, words="40 calls")
    assert Alert.objects.get().words == "40 calls"
    meet(6)
    assert Alert.objects.get().words == "40 calls"


def test_a_long_subject_is_cut_and_found_again(meet, now):
    long = "polza:" + "m" * 300
    assert [meet(subject=long), meet(subject=long)] == [True, False]
    assert Alert.objects.get().subject == long[:200]
    assert close_all_but(PAUSED, [long], seen_by=now) == 0
    assert close_alert(kind=PAUSED, subject=long, now=now)


def test_what_was_seen_before_the_clock_was_set_back_closes(meet, now):
    meet(60)
    assert close_all_but(PAUSED, [], seen_by=now) == 1


def test_kind_and_subject_tell_alerts_apart(meet):
    assert [meet(), meet(subject="sandbox"), meet(kind=CONTRADICTION)] == [True, True, True]


def test_closing_is_done_once(meet, over, now):
    meet()
    assert [over(5), over(6)] == [True, False]
    assert Alert.objects.get().closed_at == now + 5 * MINUTE


def test_closing_leaves_other_subjects_open(meet, over):
    meet()
    assert over(5, subject="sandbox") is False
    assert Alert.objects.open().count() == 1


def test_after_its_end_it_is_new_again(meet, over):
    meet()
    over(5)
    assert meet(6) is True
    assert [alert.closed_at is None for alert in Alert.objects.order_by("pk")] == [False, True]


def test_what_a_look_did_not_find_is_closed(meet, now):
    for subject in ("polza", "second", "sandbox"):
        meet(subject=subject)
    meet(kind=CONTRADICTION)
    meet(3, subject="sandbox")
    assert close_all_but(PAUSED, ["polza"], seen_by=now + 2 * MINUTE) == 1
    assert [alert.subject for alert in Alert.objects.filter(closed_at__isnull=False)] == ["second"]


def test_long_words_are_cut(meet):
    meet(words="x" * 2000)
    assert len(Alert.objects.get().words) == 500


def test_second_open_one_is_refused_by_the_database(meet, now):
    meet()
    twin = Alert(kind=PAUSED, subject="polza", opened_at=now, seen_at=now)
    with pytest.raises(IntegrityError), transaction.atomic():
        twin.save()


def test_callers_transaction_stays_usable_after_a_lost_race(meet, monkeypatch):
    """The look finds nothing, the insert is refused: as when another commits in between."""
    meet()
    looks = []
    look = type(Alert.objects.open()).update

    def look_too_early(rows, **columns):
        looks.append(columns)
        return 0 if len(looks) == 1 else look(rows, **columns)

    monkeypatch.setattr("quotas.models.AlertQuerySet.update", look_too_early)
    with transaction.atomic():
        assert meet(5) is False
        assert meet(6, subject="sandbox") is True
    assert Alert.objects.count() == 2


def test_eight_processes_open_and_close_each_alert_once(each_database, tmp_path):
    answers = contend(each_database, "alerts", tmp_path)
    assert errors_in(answers) == []
    opened = sum(answer["opened"] for answer in answers)
    closed = sum(answer["closed"] for answer in answers)
    rows = read_rows(each_database, "SELECT COUNT(*), COUNT(closed_at) FROM quotas_alert")
    assert rows == [(opened, closed)]
    still_open = "SELECT subject FROM quotas_alert WHERE closed_at IS NULL"
    assert len(read_rows(each_database, still_open)) == opened - closed <= 1
    # Each round of a process saw it open, and closed, by itself or by another.
    assert closed >= 20
