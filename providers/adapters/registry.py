"""The configured accounts by name, each with its adapter, and the models that are offered."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import cache

from django.conf import settings
from django.core.signals import setting_changed

from providers.adapters.accounts import COMPANIES, setting_name
from providers.adapters.base import Provider
from providers.adapters.polza.adapter import Polza
from providers.adapters.sandbox import SandboxPolza


@dataclass(frozen=True)
class Offer:
    """A provider:model pair that requests may be sent to."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def offers() -> list[Offer]:
    """What `IMAGE_MODELS` offers; the first is the default."""
    return [parse_offer(pair) for pair in settings.IMAGE_MODELS]


def fallback_offers() -> list[Offer]:
    """What `IMAGE_FALLBACK` lets be tried after, in order; empty means none."""
    return [parse_offer(pair) for pair in settings.IMAGE_FALLBACK]


def parse_offer(pair: str) -> Offer:
    provider, _, model = pair.partition(":")
    return Offer(provider, model)


def estimate_cost(offer: Offer) -> tuple[Decimal | None, str]:
    """The price table's word at this moment: amount and currency, or (None, "")."""
    return settings.IMAGE_PRICES.get(str(offer), (None, ""))


def uses_sandbox() -> bool:
    return any(is_sandbox(offer.provider) for offer in [*offers(), *fallback_offers()])


def is_sandbox(provider: str) -> bool:
    account = settings.PROVIDER_ACCOUNTS.get(provider)
    return account is not None and account.adapter == "sandbox"


def has_key() -> bool:
    """Whether any company's account has a key, so that pictures are real."""
    return any(a.key and a.adapter != "sandbox" for a in settings.PROVIDER_ACCOUNTS.values())


def list_key_settings() -> list[str]:
    """The settings that take the key of a company."""
    return [setting_name(name, "API_KEY") for name in COMPANIES]


ADAPTERS: dict[str, Callable[..., Provider]] = {
    "polza": Polza,
    "sandbox": SandboxPolza,
}


def known_names() -> tuple[str, ...]:
    return tuple(sorted(settings.PROVIDER_ACCOUNTS))


def is_known(provider: str) -> bool:
    """False for one that has left the settings; calls of it may still be on their way."""
    return provider in settings.PROVIDER_ACCOUNTS


def list_result_origins(provider: str) -> frozenset[str]:
    return find_provider(provider).result_origins() if is_known(provider) else frozenset()


@cache
def find_provider(name: str) -> Provider:
    """Raises KeyError for a name that no account has."""
    account = settings.PROVIDER_ACCOUNTS[name]
    return ADAPTERS[account.adapter](name=account.name, base_url=account.base_url, key=account.key)


def time_to_answer(provider: str) -> timedelta:
    """How long a submit may take from its row to its answer; of a provider that has left the
    settings, the longest of all."""
    if not is_known(provider):
        return longest_answer()
    return settings.SEND_WITHIN + timedelta(seconds=find_provider(provider).caps.answer_timeout)


def longest_answer() -> timedelta:
    return max(map(time_to_answer, settings.PROVIDER_ACCOUNTS), default=settings.SEND_WITHIN)


def result_retention(provider: str) -> timedelta:
    """How long the provider keeps a result; of one that has left the settings, the longest."""
    if not is_known(provider):
        return longest_retention()
    return find_provider(provider).caps.result_ttl


def longest_retention() -> timedelta:
    """Over the accounts and over all adapters, since calls may be older than the settings."""
    known = [getattr(adapter, "caps", None) for adapter in ADAPTERS.values()]
    kept = [caps.result_ttl for caps in known if caps]
    return max([*kept, *map(result_retention, settings.PROVIDER_ACCOUNTS)])


def _forget(**kwargs: object) -> None:
    find_provider.cache_clear()


setting_changed.connect(_forget)
