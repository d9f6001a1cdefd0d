"""Reading provider accounts from the environment. Each account is set by the same five settings."""

import re
from dataclasses import replace

from django.core.exceptions import ImproperlyConfigured

from config import env
from providers.adapters.accounts import COMPANIES, SANDBOX, Company, ProviderAccount, setting_name

# ALLOWANCES has entries of these names, next to those of accounts.
RESERVED = ("mail", "storage", "database")
NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


def read_accounts(sandbox_url: str) -> dict[str, ProviderAccount]:
    """One account for each company, and the sandbox."""
    found = {name: _read(name, name, company) for name, company in COMPANIES.items()}
    sandbox = ProviderAccount("sandbox", "sandbox", base_url=sandbox_url, key="sandbox")
    return {**found, "sandbox": _read_terms(sandbox)}


def read_more(
    entries: list[str], defaults: dict[str, ProviderAccount]
) -> dict[str, ProviderAccount]:
    """`second=polza, ...`: further accounts of an adapter that `defaults` has."""
    found: dict[str, ProviderAccount] = {}
    for entry in entries:
        account, _, adapter = (part.strip() for part in entry.partition("="))
        is_new = account not in (*defaults, *found, *RESERVED)
        if not NAME.fullmatch(account) or adapter not in defaults or not is_new:
            known = " or ".join(sorted(defaults))
            raise ImproperlyConfigured(f"MORE_PROVIDERS: {entry[:80]!r} is not new-name={known}")
        found[account] = _read_further(account, defaults[adapter])
    return found


def find_default_models(accounts: dict[str, ProviderAccount]) -> str:
    """Those of the companies that have a key, or the sandbox's."""
    models = [
        f"{name}:{company.model}" for name, company in COMPANIES.items() if accounts[name].key
    ]
    return ",".join(models) or f"sandbox:{SANDBOX.model}"


def list_default_prices() -> str:
    return ",".join(
        f"{name}:{company.model}={company.price}"
        for name, company in [*COMPANIES.items(), ("sandbox", SANDBOX)]
    )


def _read(name: str, adapter: str, company: Company) -> ProviderAccount:
    """The account of a company, with its settings in docs/configuration.md."""
    account = ProviderAccount(
        name,
        adapter,
        key=env.read_secret(
            setting_name(name, "API_KEY"),
            f"API key of {company.title}. With it, {company.title} makes the pictures.",
        ),
        base_url=env.read_base_url(
            setting_name(name, "BASE_URL"), company.base_url, f"URL of {company.title}'s API."
        ),
    )
    return _read_terms(
        account,
        exclusive="Only this site uses the key, so a lost request can be found in its history.",
        lag="After how long a run is certain to be in that history. Empty: not known.",
        cap="Most that may be spent there in one day. Empty: no limit.",
    )


def _read_further(name: str, like: ProviderAccount) -> ProviderAccount:
    # The sandbox accepts any key; elsewhere a key is never shared by accident.
    default_key = name if like.adapter == "sandbox" else ""
    account = ProviderAccount(
        name,
        like.adapter,
        base_url=env.read_base_url(setting_name(name, "BASE_URL"), like.base_url),
        key=env.read_secret(setting_name(name, "API_KEY")) or default_key,
    )
    return _read_terms(account)


def _read_terms(
    account: ProviderAccount, *, exclusive: str = "", lag: str = "", cap: str = ""
) -> ProviderAccount:
    """With its help texts, a setting is listed in docs/configuration.md."""
    return replace(
        account,
        key_exclusive=env.read_bool(setting_name(account.name, "KEY_EXCLUSIVE"), False, exclusive),
        list_lag=env.read_lag(setting_name(account.name, "LIST_LAG"), lag),
        daily_cap=env.read_money(setting_name(account.name, "DAILY_CAP"), cap),
    )
