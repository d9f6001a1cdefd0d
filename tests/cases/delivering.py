"""From an order to its picture without processes: the real adapter, the wire, a ticker's rounds."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as live
from django.utils import timezone
from PIL import Image

from jobs.core.models import Job
from jobs.pictures.orders import PictureOrder, order_picture
from jobs.processes.ticker import Ticker
from providers.adapters.accounts import ProviderAccount
from providers.adapters.registry import Offer
from tests import working
from tests.adapter_limits import limit_polza
from tests.cases.odd_provider import Colour, OddProvider
from tests.site_process import wait_until

OFFER = Offer("polza", "brush")


@pytest.fixture
def deliver(account, enqueued, media, settings, monkeypatch):
    """deliver(provider) orders one picture of it and returns the job once it is neither queued nor
    running."""
    settings.IMAGE_MODELS = [str(OFFER)]
    settings.POLL_EVERY = timedelta(milliseconds=10)
    limit_polza(monkeypatch, silence_timeout=0.9)
    ticker = Ticker()

    def run(provider: OddProvider, *, seconds: float = 20) -> Job:
        polza = ProviderAccount(name="polza", adapter="polza", base_url=provider.url, key="the-key")
        settings.PROVIDER_ACCOUNTS = {"polza": polza}
        order = PictureOrder(prompt="a fox, p7", aspect_ratio="1:1", offer=OFFER)
        job = order_picture(account=account, order=order, form_key="form", now=timezone.now())
        working.advance(job.pk)

        def has_ended() -> bool:
            ticker.tick()
            working.advance(job.pk)
            return Job.objects.get(pk=job.pk).state not in ("queued", "running")

        wait_until(has_ended, seconds=seconds)
        return Job.objects.get(pk=job.pk)

    yield run
    ticker.close()


def colours_of(job: Job) -> list[Colour]:
    files = [Path(live.MEDIA_ROOT) / picture.file for picture in job.pictures.all()]
    return [Image.open(file).convert("RGB").getpixel((0, 0)) for file in files]
