"""How the quota is used: thirty days of attempts, and who took most of today."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import Count
from django.utils.translation import gettext as _

from jobs.staff.dashboard.bars import Chart, stack
from jobs.words.wording import day_in_words
from quotas.models import Account, Attempt
from quotas.states import AttemptState
from quotas.top_accounts import TopAccount

DAYS = 30
PARTS = (AttemptState.SUCCESS, AttemptState.PENDING, AttemptState.FAILED)


@dataclass(frozen=True)
class DayOfUse:
    day: date
    success: int = 0
    pending: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.success + self.pending + self.failed

    @property
    def in_words(self) -> str:
        said = _("%(day)s: %(used)s used, %(on_hold)s on hold, %(back)s given back")
        return said % {
            "day": day_in_words(self.day),
            "used": self.success,
            "on_hold": self.pending,
            "back": self.failed,
        }


def use_until(today: date) -> list[DayOfUse]:
    """The last DAYS, the oldest first; a day without attempts is there too."""
    first = today - timedelta(days=DAYS - 1)
    rows = Attempt.objects.filter(state__in=PARTS, day__range=(first, today))
    counts: dict[date, dict[str, int]] = defaultdict(dict)
    # Rows, not ids: both databases then read only the index on state and day.
    counted = rows.order_by().values("day", "state").annotate(attempts=Count("*"))
    for day, state, attempts in counted.values_list("day", "state", "attempts"):
        counts[day][state] = attempts
    days = (first + timedelta(days=ago) for ago in range(DAYS))
    return [DayOfUse(day, **counts[day]) for day in days]


def draw_chart(days: list[DayOfUse]) -> Chart:
    return stack(
        titles=[day.in_words for day in days],
        columns=[(day.success, day.pending, day.failed) for day in days],
        parts=[str(part) for part in PARTS],
    )


def names_of(spenders: Iterable[TopAccount]) -> dict[int, str]:
    accounts = Account.objects.filter(pk__in={spender.account_id for spender in spenders})
    return {account.pk: _name(account) for account in accounts.select_related("user")}


def _name(account: Account) -> str:
    return account.user.get_username() if account.user else str(account)
