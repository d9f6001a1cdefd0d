"""The settings of a site as its environment makes them, read in this process."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import config

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "config" / "settings.py"
CODE = compile(SETTINGS.read_text(encoding="utf-8"), str(SETTINGS), "exec")
KEPT = ("PATH", "HOME", "LANG", "TMPDIR")
FOLLOWING_PUBLIC_URL = (
    "PUBLIC_URL",
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "SESSION_COOKIE_SECURE",
    "CSRF_COOKIE_SECURE",
    "SECURE_HSTS_SECONDS",
)


def read_settings(folder: Path, **environment: str) -> dict:
    """Raises what a start would stop with. Nothing of the tests' own environment counts."""
    found: dict = {"__name__": "configured", "__file__": str(SETTINGS)}
    with _environment({"DATA_DIR": str(folder / "data")} | environment), _read_anew():
        exec(CODE, found)
    return found


def use_public_url(settings, folder: Path, public_url: str) -> None:
    """Set all that follows from PUBLIC_URL, as a start would."""
    configured = read_settings(folder, PUBLIC_URL=public_url)
    for name in FOLLOWING_PUBLIC_URL:
        setattr(settings, name, configured[name])


def set_provider_key(settings, key: str) -> None:
    polza = replace(settings.PROVIDER_ACCOUNTS["polza"], key=key)
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"polza": polza}


@contextmanager
def _read_anew() -> Iterator[None]:
    """The module that reads the environment runs again, and is then as it was."""
    before = sys.modules.pop("config.configuration", None)
    try:
        yield
    finally:
        sys.modules.pop("config.configuration", None)
        if before:
            sys.modules["config.configuration"] = config.configuration = before


@contextmanager
def _environment(environment: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update({name: before[name] for name in KEPT if name in before} | environment)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
