"""What every staff action needs: who decides, the refusal, the entry, and the lock of the job."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from jobs.core.models import ActionName, Job, StaffAction
from providers.calls.models import Call


class ActionRefused(Exception):
    """The state forbids the action. The text is for staff."""


@dataclass(frozen=True)
class Decision:
    by: User
    reason: str
    now: datetime


def refuse_if(why: str) -> None:
    if why:
        raise ActionRefused(why)


def overtaken() -> str:
    return _("Something changed while you were deciding, so nothing was done. Check again.")


def find_job(call: Call) -> Job | None:
    """None for a call that is no job's."""
    return Job.objects.of_work(call.work).select_related("attempt", "account").first()


def lock_call(call_id: int) -> tuple[Call, Job | None]:
    """The call as it is once its job is locked. Recording an outcome takes the same lock."""
    call = Call.objects.get(pk=call_id)
    job = Job.objects.of_work(call.work).select_for_update().first()
    call.refresh_from_db()
    return call, job


def entry_about_call(
    action: ActionName,
    decision: Decision,
    call: Call,
    job: Job | None,
    facts: Mapping[str, Any] | None = None,
) -> StaffAction:
    return entry_about(
        f"call {call.pk} {call.provider}:{call.model} {call.work}",
        action,
        decision,
        call=call,
        job=job,
        account_id=job.account_id if job else None,
        facts=facts or {},
    )


def entry_about(
    subject: str, action: ActionName, decision: Decision, **columns: Any
) -> StaffAction:
    """Not saved yet."""
    return StaffAction(
        action=action,
        subject=subject[:200],
        reason=decision.reason,
        by=decision.by,
        by_name=decision.by.get_username(),
        at=decision.now,
        **columns,
    )
