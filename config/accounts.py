"""Reading further provider accounts from the environment."""

import re

from django.core.exceptions import ImproperlyConfigured

from config import env
from providers.adapters.accounts import ProviderAccount

# ALLOWANCES has entries of these names, next to those of accounts.
RESERVED = ("mail", "storage", "database")
NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


def read_more(
    entries: list[str], defaults: dict[str, ProviderAccount]
) -> dict[str, ProviderAccount]:
    """`second=polza, ...`: further accounts of an adapter that `defaults` has, each set by
    SECOND_API_KEY, SECOND_BASE_URL, SECOND_KEY_EXCLUSIVE, SECOND_LIST_LAG and SECOND_DAILY_CAP."""
    found: dict[str, ProviderAccount] = {}
    for entry in entries:
        account, _, adapter = (part.strip() for part in entry.partition("="))
        is_new = account not in (*defaults, *found, *RESERVED)
        if not NAME.fullmatch(account) or adapter not in defaults or not is_new:
            known = " or ".join(sorted(defaults))
            raise ImproperlyConfigured(f"MORE_PROVIDERS: {entry[:80]!r} is not new-name={known}")
        found[account] = _read(account, defaults[adapter])
    return found


def prefix_of(account: str) -> str:
    """How the settings of an account begin."""
    return account.upper().replace("-", "_")


def _read(name: str, like: ProviderAccount) -> ProviderAccount:
    prefix = prefix_of(name)
    return ProviderAccount(
        name=name,
        adapter=like.adapter,
        base_url=env.read_base_url(f"{prefix}_BASE_URL", like.base_url),
        # Of the sandbox any name is a key; elsewhere a key is never shared by accident.
        key=env.read_secret(f"{prefix}_API_KEY") or (name if like.adapter == "sandbox" else ""),
        key_exclusive=env.read_bool(f"{prefix}_KEY_EXCLUSIVE", False),
        list_lag=env.read_lag(f"{prefix}_LIST_LAG"),
        daily_cap=env.read_money(f"{prefix}_DAILY_CAP"),
    )
