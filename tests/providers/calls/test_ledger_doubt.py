"""A call in doubt: when it is, and what may still be learnt of it."""

from datetime import timedelta

import pytest

from providers.calls.ledger import record
from providers.calls.models import Call
from providers.calls.states import ENDS
from providers.outcomes import Cause, Rejected, Unknown
from tests.providers.call_rows import NEWS, call_in, open_call

pytestmark = pytest.mark.django_db

ACCEPTED = NEWS["accepted"]


def test_call_is_in_doubt_as_its_row_says(now):
    sending, accepted = open_call(now), call_in("accepted", now, work="image:2")
    unknown = call_in("unknown", now, work="image:3")
    moments = {sending: sending.answer_by, accepted: accepted.deadline_at, unknown: now}
    for call, moment in moments.items():
        assert call.is_in_doubt(moment)
        assert call in Call.objects.in_doubt(moment)
    for call in (sending, accepted):
        just_before = moments[call] - timedelta(microseconds=1)
        assert not call.is_in_doubt(just_before)
        assert call not in Call.objects.in_doubt(just_before)


@pytest.mark.parametrize("state", sorted(ENDS))
def test_ended_call_is_never_in_doubt(now, state):
    call = call_in(state, now)
    later = now + timedelta(days=400)
    assert not call.is_in_doubt(later)
    assert call not in Call.objects.in_doubt(later)


# Unknown and rejected, in the order in which they may come


def test_sender_that_was_taken_for_lost_still_brings_its_id(now):
    call = open_call(now)
    record(call_id=call.pk, news=Unknown(Cause("transport", rule="sender_lost")), now=now)
    assert record(call_id=call.pk, news=ACCEPTED, now=now).changed


def test_sender_that_was_taken_for_lost_still_says_that_it_never_sent(now):
    call = open_call(now)
    record(call_id=call.pk, news=Unknown(Cause("transport", rule="sender_lost")), now=now)
    news = Rejected(Cause("transport", rule="send_window_missed"))
    assert record(call_id=call.pk, news=news, now=now).call.state == "rejected"
