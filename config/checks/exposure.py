"""System checks of what a site shows to others: debug pages, a key that can be guessed, a data
folder that others can read, and money without a limit."""

import stat
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from config import env
from providers.adapters import registry
from providers.adapters.accounts import setting_name

OTHERS = stat.S_IRWXG | stat.S_IRWXO
MAY_ENTER = stat.S_IXGRP | stat.S_IXOTH
FEWEST_CHARACTERS = 10


@register()
def check_debug(**kwargs: object) -> list[CheckMessage]:
    if not settings.DEBUG:
        return []
    public = urlsplit(settings.PUBLIC_URL).hostname
    hint = "Its error pages show the inside of the site to everybody: set DEBUG=no."
    if public and not _is_local(public):
        return [Error("DEBUG is on, but PUBLIC_URL is a public address.", hint, id=_id("E019"))]
    if not _is_local(settings.HOST):
        return [Warning("DEBUG is on, and HOST lets others reach the site.", hint, id=_id("W003"))]
    return []


@register()
def check_secret_key(**kwargs: object) -> list[CheckMessage]:
    key = settings.SECRET_KEY
    if len(set(key)) >= FEWEST_CHARACTERS and not key.startswith("django-insecure-"):
        return []
    hint = "Who guesses it can sign in as anybody. Leave it out to have one made in DATA_DIR."
    return [Warning("SECRET_KEY can be guessed.", hint, id=_id("W004"))]


@register()
def check_data_dir(**kwargs: object) -> list[CheckMessage]:
    folder = Path(settings.DATA_DIR)
    if not is_open_to_others(folder):
        return []
    hint = f"It holds sessions, prompts and pictures: chmod 700 {folder}"
    return [Warning(f"DATA_DIR {folder} is open to other accounts.", hint, id=_id("W005"))]


def is_open_to_others(folder: Path) -> bool:
    """Also if they may only enter it, since the names of its files are known. A folder whose
    parents are closed to others is closed, regardless of its own mode."""
    try:
        parents = folder.resolve().parents
        can_be_reached = all(parent.stat().st_mode & MAY_ENTER for parent in parents)
        return can_be_reached and bool(folder.stat().st_mode & OTHERS)
    except OSError:
        return False


@register()
def check_spending(**kwargs: object) -> list[CheckMessage]:
    """Test pictures cost nothing, even if they have a price."""
    uncapped: dict[str, str] = {}
    for offer in [*registry.offers(), *registry.fallback_offers()]:
        account = settings.PROVIDER_ACCOUNTS.get(offer.provider)
        if account is None or account.adapter == "sandbox" or account.daily_cap:
            continue
        price, currency = registry.estimate_cost(offer)
        if price:
            uncapped.setdefault(offer.provider, f"{offer} costs {price} {currency}")
    return [
        Warning(
            f"{costs} a picture, but {setting_name(provider, 'DAILY_CAP')} is not set.",
            hint="Without a cap, there is no limit on what a day may cost.",
            id=_id("W006"),
        )
        for provider, costs in uncapped.items()
    ]


@register()
def check_host(**kwargs: object) -> list[CheckMessage]:
    if settings.PUBLIC_URL or settings.HOST not in settings.ANY_HOST:
        return []
    return [
        Warning(
            "HOST is every address of this machine, but PUBLIC_URL is not set.",
            hint="The site answers only to localhost. Set PUBLIC_URL to the address people use.",
            id=_id("W007"),
        )
    ]


@register()
def check_dotenv(**kwargs: object) -> list[CheckMessage]:
    """A cap that is mistyped caps nothing."""
    return [
        Warning(f".env sets {name}, which is no setting.", f"Is it {close}?", id=_id("W008"))
        for name, close in env.mistyped_names()
    ]


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _id(number: str) -> str:
    return f"counterfoil.{number}"
