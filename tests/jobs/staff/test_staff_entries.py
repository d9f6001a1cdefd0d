"""Slots that staff grant, and the entry that each decision leaves."""

from dataclasses import replace

import pytest
from django.db import IntegrityError

from jobs.core.models import ActionName, StaffAction
from jobs.ops import audit
from jobs.staff.actions.attach import run as attach
from jobs.staff.actions.base import ActionRefused
from jobs.staff.actions.check import run as check_now
from jobs.staff.actions.give_back import run as give_back
from jobs.staff.actions.grant import run_grant as grant
from jobs.staff.actions.grant import run_revoke as revoke
from quotas.models import Grant
from tests import rows
from tests.jobs.staff.conftest import HOUR, REASON
from tests.jobs.staff.test_staff import given_back, left

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued", "media")]


class TestGrant:
    def test_slots_are_there_at_once_and_gone_when_they_are_taken_back(
        self, account, decision, now
    ):
        extra = Grant(account=account, kind="image", day=now.date(), slots=5, reason=REASON)
        grant(extra, decision)
        assert left(account, now) == 15
        assert (extra.granted_by, extra.granted_at) == (decision.by, decision.now)
        revoke(extra.pk, decision)
        assert left(account, now) == 10

    def test_it_is_taken_back_once(self, account, decision, now):
        extra = Grant(account=account, kind="image", day=now.date(), slots=5, reason=REASON)
        grant(extra, decision)
        revoke(extra.pk, decision)
        with pytest.raises(ActionRefused, match="already been taken back"):
            revoke(extra.pk, decision)
        assert StaffAction.objects.count() == 2


class TestEntry:
    def test_every_decision_leaves_who_when_why_and_about_what(self, account, decision, now):
        job = rows.lost(account, now, prompt="a secret wish")
        call = rows.call_of(job)
        attach(call.pk, "gen_found", decision)
        check_now([call.pk], decision)
        late = replace(decision, now=call.deadline_at + HOUR)
        give_back(call.pk, late)
        extra = Grant(account=account, kind="image", day=now.date(), slots=5, reason=REASON)
        grant(extra, decision)
        revoke(extra.pk, decision)
        entries = list(StaffAction.objects.order_by("pk"))
        assert [entry.action for entry in entries] == [
            ActionName.ATTACH, ActionName.CHECK, ActionName.GIVE_BACK, ActionName.GRANT,
            ActionName.REVOKE,
        ]  # fmt: skip
        assert {(entry.by_name, entry.reason) for entry in entries} == {("staff", REASON)}
        assert {(entry.call_id, entry.job_id) for entry in entries[:3]} == {(call.pk, job.pk)}
        assert entries[2].at == late.now
        assert entries[0].facts == {"reference": "gen_found"}
        assert entries[3].facts == {"slots": 5, "kind": "image", "day": "2026-03-14"}
        assert "secret" not in repr([vars(entry) for entry in entries])

    def test_it_outlives_its_author(self, account, decision, now, staff):
        given_back(account, decision, now)
        staff.delete()
        entry = StaffAction.objects.get()
        assert (entry.by, entry.by_name) == (None, "staff")

    @pytest.mark.parametrize("missing", ["reason", "by_name"])
    def test_without_a_name_or_a_reason_there_is_none(self, account, decision, now, missing):
        given_back(account, decision, now)
        entry = StaffAction.objects.get()
        setattr(entry, missing, "")
        with pytest.raises(IntegrityError):
            entry.save()

    def test_a_job_that_was_decided_about_is_no_violation(self, account, decision, now):
        given_back(account, decision, now)
        attach(rows.call_of(rows.lost(account, now)).pk, "gen_found", decision)
        assert [violation.check for violation in audit.violations(decision.now)] == []
