"""The configured providers by name. A provider is a named account: adapter, base URL, key."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from django.conf import settings
from django.core.signals import setting_changed

from providers.base import Provider
from providers.polza import Polza, SandboxPolza


@dataclass(frozen=True)
class Offer:
    """A provider:model pair that may be asked for."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


def offers() -> list[Offer]:
    """What `IMAGE_MODELS` offers; the first is the default."""
    return [offer_of(pair) for pair in settings.IMAGE_MODELS]


def offer_of(pair: str) -> Offer:
    provider, _, model = pair.partition(":")
    return Offer(provider, model)


def estimate_of(offer: Offer) -> tuple[Decimal | None, str]:
    """The price table's word at this moment: amount and currency, or (None, "")."""
    return settings.IMAGE_PRICES.get(str(offer), (None, ""))


def uses_sandbox() -> bool:
    return any(offer.provider == "sandbox" for offer in offers())


def _polza() -> Provider:
    return Polza(name="polza", base_url=settings.POLZA_BASE_URL, key=settings.POLZA_API_KEY)


def _sandbox() -> Provider:
    return SandboxPolza(name="sandbox", base_url=settings.SANDBOX_URL, key="sandbox")


ADAPTERS: dict[str, Callable[[], Provider]] = {"polza": _polza, "sandbox": _sandbox}


def known_names() -> tuple[str, ...]:
    return tuple(sorted(ADAPTERS))


@cache
def provider_named(name: str) -> Provider:
    """Raises KeyError for a name that no adapter has."""
    return ADAPTERS[name]()


def _forget(**kwargs: object) -> None:
    provider_named.cache_clear()


setting_changed.connect(_forget)
