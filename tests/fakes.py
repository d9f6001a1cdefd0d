"""A provider that answers from a script, and notes how it was asked."""

import base64
import io
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from PIL import Image

from jobs.core.models import Job
from jobs.pictures.orders import PictureOrder, order_picture
from providers.adapters import registry
from providers.adapters.accounts import ProviderAccount
from providers.adapters.base import Caps, PictureRequest, ignore_id
from providers.adapters.registry import Offer
from providers.outcomes import (
    Accepted,
    Artifact,
    Done,
    Listing,
    NoAnswer,
    PollResult,
    Report,
    Reported,
    Run,
    RunList,
    Running,
    Submitted,
)
from providers.wire.verifiers import Unsigned, WebhookNotice

OFFER = Offer("fake", "brush-1")
SPARE = Offer("spare", "brush-2")
ACCOUNT = ProviderAccount(name="fake", adapter="fake", base_url="https://fake.test")


def png(size: tuple[int, int] = (8, 6)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, "teal").save(buffer, "PNG")
    return buffer.getvalue()


def made(cost: str = "5.00") -> Done:
    """A finished run whose picture comes inline."""
    return Done((Artifact(b64=base64.b64encode(png()).decode()),), Decimal(cost))


class FakeProvider:
    name = "fake"
    caps = Caps(
        kinds=frozenset({"image"}),
        cloud=True,
        enqueue_only=True,
        result_ttl=timedelta(days=7),
        currency="RUB",
    )

    def __init__(self) -> None:
        self.submits: list[Submitted | Exception] = []
        self.polls: dict[str, PollResult] = {}
        self.named: dict[str, str] = {}
        self.sent: list[PictureRequest] = []
        self.early_ids: list[str] = []
        self.tests_own_transactions = 1
        self.asked: list[str] = []
        self.polled_models: set[str] = set()
        self.listing: RunList | None = None
        self.runs: list[Run] = []
        self.listed: list[tuple[datetime, datetime]] = []

    def submit(
        self,
        request: PictureRequest,
        *,
        send_by: datetime,
        note_id: Callable[[str], None] = ignore_id,
    ) -> Submitted:
        depth = len(connection.atomic_blocks)
        assert depth <= self.tests_own_transactions, "a provider was called inside a transaction"
        self.sent.append(request)
        if self.early_ids:
            note_id(self.early_ids.pop(0))
        answer = self.submits.pop(0) if self.submits else Accepted(f"run-{len(self.sent)}")
        if isinstance(answer, Exception):
            raise answer
        return answer

    def poll(self, reference: str, model: str) -> Reported:
        self.polled_models.add(model)
        self.asked.append(reference)
        answer = self.polls.get(reference, Running("processing"))
        named = self.named.get(reference, reference)
        return answer if isinstance(answer, NoAnswer) else Report(named, answer)

    def read_webhook(self, headers, body: bytes, now: datetime) -> WebhookNotice | None:
        return Unsigned().verify(headers, body, now)

    def runs_between(self, since: datetime, until: datetime) -> RunList:
        """What a test laid down as the answer, or a whole list of its runs."""
        self.listed.append((since, until))
        return self.listing or Listing(tuple(self.runs), datetime.now(UTC))

    def result_origins(self) -> frozenset[str]:
        return frozenset()


@pytest.fixture
def fake(monkeypatch, settings, tmp_path):
    provider = FakeProvider()
    monkeypatch.setitem(registry.ADAPTERS, "fake", lambda **account: provider)
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"fake": ACCOUNT}
    registry.find_provider.cache_clear()
    settings.IMAGE_MODELS = [str(OFFER)]
    settings.IMAGE_PRICES = {str(OFFER): (Decimal("5.00"), "RUB")}
    settings.MEDIA_ROOT = tmp_path / "media"
    yield provider
    registry.find_provider.cache_clear()


@pytest.fixture
def spare(fake, monkeypatch, settings):
    """A second provider, which may be asked after the first."""
    provider = FakeProvider()
    monkeypatch.setitem(registry.ADAPTERS, "spare", lambda **account: provider)
    account = replace(ACCOUNT, name="spare", adapter="spare")
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"spare": account}
    settings.IMAGE_FALLBACK = [str(SPARE)]
    settings.IMAGE_PRICES = settings.IMAGE_PRICES | {str(SPARE): (Decimal("7.00"), "RUB")}
    return provider


@pytest.fixture
def enqueued(monkeypatch):
    """What was handed to the queue, as (task, arguments)."""
    sent: list[tuple] = []
    monkeypatch.setattr("jobs.core.queue.async_task", lambda task, *args: sent.append((task, args)))
    monkeypatch.setattr("jobs.core.queue.waiting", lambda: 0)
    return sent


@pytest.fixture
def order(account, fake, enqueued, now):
    """Order a picture on ana's account; each call is another form."""
    keys = iter(range(1000))

    def place(prompt: str = "a fox in fog", *, key: str = "", at: datetime = now) -> Job:
        order = PictureOrder(prompt=prompt, aspect_ratio="1:1", offer=OFFER)
        return order_picture(
            account=account, order=order, form_key=key or f"form-{next(keys)}", now=at
        )

    return place
