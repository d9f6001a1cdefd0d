"""System checks with stable ids: what can be wrong with a set-up that still starts."""

from collections.abc import Collection

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS, connection

from config.db.inspection import find_faults
from providers.adapters import registry
from providers.adapters.accounts import setting_name


@register()
def check_timing(**kwargs: object) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    kept = {"LOST_RETENTION": settings.LOST_RETENTION}
    for name in registry.known_names():
        kept[f"The retention of {name}"] = registry.result_retention(name)
    for name, retention in kept.items():
        if retention < settings.CALL_DEADLINE:
            found.append(
                Error(
                    f"{name} must not be shorter than CALL_DEADLINE.",
                    hint="Calls would be given up before they count as in doubt.",
                    id="counterfoil.E002",
                )
            )
    return found


@register()
def check_database(**kwargs: object) -> list[CheckMessage]:
    if connection.vendor == "sqlite":
        mode = settings.DATABASES["default"].get("OPTIONS", {}).get("transaction_mode")
        if mode != "IMMEDIATE":
            return [
                Error(
                    "SQLite must run with transaction_mode IMMEDIATE.",
                    hint="Deferred transactions fail with 'database is locked' under load.",
                    id="counterfoil.E003",
                )
            ]
    return []


@register(Tags.database)
def check_stored_text(
    databases: Collection[str] | None = None, **kwargs: object
) -> list[CheckMessage]:
    """Runs with `migrate` and `check --database default`; `up` has its own check."""
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    return [Error(f"DATABASE_URL: {fault}", id="counterfoil.E013") for fault in find_faults()]


@register(deploy=True)
def check_public_url(**kwargs: object) -> list[CheckMessage]:
    if not settings.PUBLIC_URL:
        return [
            Warning(
                "PUBLIC_URL is not set.",
                hint="Set it to the address people use, so that forms and cookies work there.",
                id="counterfoil.W001",
            )
        ]
    return []


@register()
def check_proxies(**kwargs: object) -> list[CheckMessage]:
    if settings.PUBLIC_URL and not settings.PROXIES_ARE_SAID:
        return [
            Warning(
                "PUBLIC_URL is set, but TRUSTED_PROXIES is not.",
                hint="Behind a proxy, everyone seems to come from one network and shares its"
                " limits. Set TRUSTED_PROXIES to the number of your own proxies in front of the"
                " site, or 0.",
                id="counterfoil.W002",
            )
        ]
    return []


@register()
def check_providers(**kwargs: object) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    for setting, offers in _offers_by_setting().items():
        found += [error for offer in offers for error in _errors_of(setting, offer)]
    for account in settings.PROVIDER_ACCOUNTS.values():
        if " " in account.key or not (account.key.isascii() and account.key.isprintable()):
            found.append(
                Error(
                    f"{setting_name(account.name, 'API_KEY')} contains characters that are not"
                    " allowed in an HTTP header.",
                    id="counterfoil.E007",
                )
            )
    return found


@register()
def check_caps(**kwargs: object) -> list[CheckMessage]:
    """A cap is kept by the price of what is about to be sent: without one it holds nothing."""
    found: list[CheckMessage] = []
    for offer in dict.fromkeys([*registry.offers(), *registry.fallback_offers()]):
        account = settings.PROVIDER_ACCOUNTS.get(offer.provider)
        if account is None or account.daily_cap is None:
            continue
        limit, currency = account.daily_cap
        price, priced_in = registry.estimate_cost(offer)
        if price is None or (price and priced_in != currency):
            found.append(
                Error(
                    f"{_cap(offer)} has no price in {currency} for {offer}.",
                    hint=f"Add {offer}=... {currency} to IMAGE_PRICES, or remove the cap.",
                    id="counterfoil.E010",
                )
            )
        elif price > limit:
            found.append(
                Error(
                    f"{_cap(offer)} is below the price of one {offer}.",
                    hint="No request could ever be sent there.",
                    id="counterfoil.E011",
                )
            )
    return found


@register()
def check_currencies(**kwargs: object) -> list[CheckMessage]:
    """The cost of a call is the provider's figure, in the currency of the price."""
    found: list[CheckMessage] = []
    for pair, (_, priced_in) in settings.IMAGE_PRICES.items():
        provider = registry.parse_offer(pair).provider
        if not registry.is_known(provider):
            continue
        bills_in = registry.find_provider(provider).caps.currency
        if priced_in and priced_in != bills_in:
            found.append(
                Error(
                    f"IMAGE_PRICES has {pair} in {priced_in}, but {provider} bills in {bills_in}.",
                    hint="Costs would be recorded in the wrong currency.",
                    id="counterfoil.E012",
                )
            )
    return found


def _offers_by_setting() -> dict[str, list[registry.Offer]]:
    return {"IMAGE_MODELS": registry.offers(), "IMAGE_FALLBACK": registry.fallback_offers()}


def _errors_of(setting: str, offer: registry.Offer) -> list[CheckMessage]:
    account = settings.PROVIDER_ACCOUNTS.get(offer.provider)
    if account is None or not offer.model:
        return [
            Error(
                f"{setting} lists {str(offer)!r}, which is not a known provider:model pair.",
                hint=f"Known providers: {', '.join(registry.known_names())}.",
                id="counterfoil.E004",
            )
        ]
    if not account.key:
        key = setting_name(offer.provider, "API_KEY")
        return [
            Error(
                f"{setting} names {offer.provider}, but {key} is not set.",
                hint=f"Set the key, or leave {setting} out to use the sandbox.",
                id="counterfoil.E005",
            )
        ]
    return []


def _cap(offer: registry.Offer) -> str:
    return setting_name(offer.provider, "DAILY_CAP")
