"""Adapters with other limits than their providers have."""

from dataclasses import replace

from providers.adapters.polza.adapter import Polza
from tests.fakes import FakeProvider

RETENTION = FakeProvider.caps.result_ttl
ANSWER_TIMEOUT = FakeProvider.caps.answer_timeout


def limit_polza(monkeypatch, **limits: float) -> None:
    """Adapters that are made from now on have these, the sandbox's too."""
    monkeypatch.setattr(Polza, "caps", replace(Polza.caps, **limits))
