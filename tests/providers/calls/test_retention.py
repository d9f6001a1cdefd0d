"""Timeouts and retention belong to the provider."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from providers.adapters import registry
from providers.calls import ledger
from providers.outcomes import Accepted
from tests.fakes import OFFER

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def limited(fake):
    fake.caps = replace(fake.caps, answer_timeout=300, result_ttl=HOUR)


def test_the_answer_is_due_when_the_provider_must_have_given_it(fake, limited, settings):
    now = timezone.now()
    call = ledger.open_call(work="image:1", offer=OFFER, now=now)
    assert call.answer_by == now + settings.SEND_WITHIN + timedelta(seconds=300)


def test_a_run_is_polled_for_as_long_as_its_provider_keeps_results(fake, limited, settings):
    now = timezone.now()
    call = ledger.open_call(work="image:1", offer=OFFER, now=now)
    # Without an id the question is whether it ran, which a list answers when the result is gone.
    assert call.give_up_at == now + settings.LOST_RETENTION > now + HOUR
    recorded = ledger.record(call_id=call.pk, news=Accepted("run-1"), now=now)
    assert recorded.call.give_up_at == now + HOUR


def test_a_provider_that_has_left_the_settings_counts_as_the_slowest(fake, limited, settings):
    assert registry.time_to_answer("gone") == settings.SEND_WITHIN + timedelta(seconds=300)
    assert registry.result_retention("gone") == timedelta(days=7)
