"""What every page's frame needs. The balance is read when a template first asks for it: a page
without the quota pays no query."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from jobs.words.sentences import refusal_in_words
from providers.adapters.registry import has_key, is_sandbox, offers
from quotas import ledger
from quotas.ledger import Balance
from quotas.models import Account, Kind

THEME_COOKIE = "theme"
THEMES = ("light", "dark")


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


def site(request: HttpRequest) -> dict[str, object]:
    return {
        "quota": SimpleLazyObject(lambda: quota_of(request.account)),  # type: ignore[attr-defined]
        "makes_test_pictures": makes_test_pictures(),
        "theme": theme_of(request),
        "has_provider_key": has_key(),
    }


def theme_of(request: HttpRequest) -> str:
    """The empty string where the device decides."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def quota_of(account: Account, kind: Kind = Kind.IMAGE) -> Quota:
    now = timezone.now()
    return Quota(ledger.balance_of(account, kind, ledger.utc_day(now)), now)


def makes_test_pictures() -> bool:
    """True when nothing but the sandbox draws here."""
    return bool(offers()) and all(is_sandbox(offer.provider) for offer in offers())
