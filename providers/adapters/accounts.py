"""A provider is a named account: the adapter that speaks to it, an address and a key of its own.

Two accounts at one company are two providers here: caps, pauses and the history of a key are per
account.
"""

import hashlib
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal


@dataclass(frozen=True)
class Company:
    """Defaults of the account at one company. Settings read them before any model is loaded."""

    title: str
    base_url: str
    model: str
    price: str


# By the name of the adapter, which is also that of the account.
COMPANIES = {
    "polza": Company(
        title="Polza",
        base_url="https://polza.ai/api",
        model="google/gemini-2.5-flash-image",
        price="5.00 RUB",
    ),
}
SANDBOX = Company(title="the sandbox", base_url="", model="test-picture", price="5.00 RUB")


def setting_name(account: str, setting: str) -> str:
    """Such as POLZA_API_KEY."""
    return f"{account.upper().replace('-', '_')}_{setting}"


@dataclass(frozen=True)
class ProviderAccount:
    name: str
    adapter: str
    base_url: str
    key: str = field(default="", repr=False)
    key_exclusive: bool = False
    """The operator's word that nothing but this site uses the key."""
    list_lag: timedelta | None = None
    """After how long a run is certain to be in the provider's list; None if that is not known."""
    daily_cap: tuple[Decimal, str] | None = None
    """The most that may be spent in a day of the provider's calendar: amount and currency."""

    @property
    def key_mark(self) -> str:
        """Identifies the key, and so the list that shows a call's run, without revealing it."""
        return hashlib.sha256(f"{self.base_url}\n{self.key}".encode()).hexdigest()[:16]
