"""A balance of slots as the pages show it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from jobs.words.sentences import refusal_in_words
from quotas import ledger
from quotas.ledger import Balance
from quotas.models import Account, Kind


@dataclass(frozen=True)
class Quota:
    """A balance as it is drawn: three numbers, a bar in per cent, the time to the renewal."""

    balance: Balance
    now: datetime

    @property
    def used_percent(self) -> int:
        return self._percent(self.balance.used)

    @property
    def on_hold_percent(self) -> int:
        return self._percent(self.balance.on_hold)

    @property
    def renews_in(self) -> timedelta:
        return self.balance.renews_at - self.now

    @property
    def refuses_tries(self) -> bool:
        """Slots are left, but too many tries of the day may have cost money."""
        return self.balance.left > 0 and self.balance.tries >= self.balance.most_tries

    @property
    def refusal(self) -> str:
        return "" if self.is_open else refusal_in_words(self.balance, self.now)

    @property
    def is_open(self) -> bool:
        return self.balance.left > 0 and not self.refuses_tries

    def _percent(self, slots: int) -> int:
        whole = max(self.balance.allowed, self.balance.used + self.balance.on_hold)
        return round(100 * slots / whole) if whole else 0


def quota_of(account: Account, kind: Kind = Kind.IMAGE) -> Quota:
    now = timezone.now()
    return Quota(ledger.balance_of(account, kind, ledger.utc_day(now)), now)
