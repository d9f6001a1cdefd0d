"""The database itself refuses what the ledger never writes: every constraint by its name."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection

from providers.calls.models import Call, Hook, new_token
from tests.providers.call_rows import call_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("constraint", "state", "changes"),
    [
        ("call_live_is_looked_at", "sending", {"poll_at": None}),
        ("call_live_is_looked_at", "accepted", {"poll_at": None}),
        ("call_live_is_looked_at", "unknown", {"poll_at": None}),
        ("call_ended_once_ended", "accepted", {"ended_at": "now"}),
        ("call_ended_once_ended", "succeeded", {"ended_at": None}),
        ("call_ended_once_ended", "given_up", {"ended_at": None}),
        ("call_ended_once_ended", "succeeded", {"state": "unknown", "poll_at": "now"}),
        ("call_ended_once_ended", "failed", {"state": "sleeping"}),
        ("call_accepted_has_reference", "accepted", {"reference": None}),
        ("call_accepted_has_reference", "accepted", {"accepted_at": None}),
        ("call_cost_not_negative", "succeeded", {"cost": -1}),
        ("call_late_only_after_end", "accepted", {"late_outcome": "failed", "late_at": "now"}),
        ("call_late_only_after_end", "succeeded", {"late_outcome": "failed"}),
        ("call_fallback_names_its_rule", "sending", {"after": "call"}),
    ],
)
def test_check_refuses_what_it_names(now, constraint, state, changes):
    call = call_in(state, now)
    known = {"now": now, "call": call}
    changes = {name: known.get(value, value) for name, value in changes.items()}
    with pytest.raises(IntegrityError, match=constraint):
        Call.objects.filter(pk=call.pk).update(**changes)


def copy_of(call, **changes):
    call.pk, call.hook_token = None, new_token()
    for name, value in changes.items():
        setattr(call, name, value)
    call.save(force_insert=True)


def refused(constraint, columns):
    """SQLite names a unique index by its columns."""
    text = columns if connection.vendor == "sqlite" else constraint
    return pytest.raises(IntegrityError, match=text)


@pytest.mark.parametrize("state", ["sending", "unknown", "succeeded"])
def test_wall_is_in_the_database(now, state):
    call = call_in(state, now)
    with refused("call_wall", "providers_call.work"):
        copy_of(call, reference=None)


def test_reference_is_unique_for_a_provider(now):
    call = call_in("failed", now)
    with refused("call_reference_once", "providers_call.provider, providers_call.reference"):
        copy_of(call)


def test_calls_without_a_reference_do_not_clash(now):
    call = call_in("rejected", now)
    copy_of(call, sent_at=now + timedelta(minutes=1))
    assert Call.objects.count() == 2


def test_token_of_a_call_is_its_own(now):
    call = call_in("rejected", now)
    other = call_in("rejected", now, work="image:2")
    with refused("call_hook_token_once", "providers_call.hook_token"):
        Call.objects.filter(pk=other.pk).update(hook_token=call.hook_token)


def test_webhook_is_kept_once(now):
    columns = {"provider": "polza", "message_id": "msg_1", "received_at": now, "is_signed": True}
    Hook.objects.create(**columns, call=call_in("unknown", now))
    other = call_in("unknown", now, work="image:2")
    with refused("hook_message_once", "providers_hook.provider, providers_hook.message_id"):
        Hook.objects.create(**columns, call=other)


def test_every_constraint_has_a_test():
    named = {constraint.name for constraint in Call._meta.constraints}
    assert named == {
        "call_wall", "call_reference_once", "call_live_is_looked_at", "call_ended_once_ended",
        "call_accepted_has_reference", "call_cost_not_negative", "call_late_only_after_end",
        "call_fallback_names_its_rule", "call_hook_token_once",
    }  # fmt: skip


def test_due_calls_are_found_by_their_index(now):
    plan = Call.objects.due(now).explain()
    assert connection.vendor != "sqlite" or "call_due" in plan
