"""Check now: poll calls at once, or search the provider's list for those without an id."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs.core import leases, queue
from jobs.core.models import ActionName, Job, StaffAction, Stage
from jobs.staff.actions import guards
from jobs.staff.actions.base import ActionRefused, Decision, entry_about_call
from jobs.staff.actions.page import (
    MOST_AT_ONCE,
    ActionPage,
    Back,
    back_to_call,
    handle,
    requires,
)
from jobs.staff.actions.tables import end_stays, table_of_calls
from providers.calls import ledger
from providers.calls.models import Call
from providers.calls.states import CallState
from providers.recovery import why_not_to_ask
from providers.webhooks import store

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

PERMISSION = "jobs.check_call"
NOT_SEARCHED: dict[str, "StrPromise"] = {
    "no_list": gettext_lazy(
        "This call has no provider id, and this provider has no list of its runs to search."
    ),
    "not_exclusive": gettext_lazy(
        "This call has no provider id. We do not search the provider's list, because the key is"
        " not marked as used by this site alone."
    ),
    "other_key": gettext_lazy(
        "This call has no provider id, and it was sent with a key that the site no longer has."
    ),
    "clock": gettext_lazy(
        "This call has no provider id, and the clock was set back since. We do not know when it"
        " was sent."
    ),
    "restored": gettext_lazy(
        "This call has no provider id, and the database was restored from a backup. The provider's"
        " list may show runs that are not recorded here."
    ),
}


def why_not(call: Call, named: Sequence[str], now: datetime) -> str:
    """`named` are the ids that webhooks have named for the call."""
    if call.state == CallState.SENDING:
        return guards.being_sent(call, now)
    if call.reference or len(named) == 1:
        return ""
    if not call.is_lost:
        return _("This call has no provider id, so there is nothing to ask about.")
    not_searched = why_not_to_ask(call)
    return str(NOT_SEARCHED[not_searched]) if not_searched else ""


def why_not_each(calls: Sequence[Call], now: datetime) -> dict[int, str]:
    named = store.ids_named_for(calls)
    return {call.pk: why_not(call, named.get(call.pk, []), now) for call in calls}


def preview(calls: Sequence[Call], able: Sequence[Call]) -> list[str]:
    lines = [
        _("We ask the provider about it within seconds."),
        _("Its answer is handled like any other. Nothing is sent again."),
    ]
    if any(call.ended_at for call in able):
        lines.append(end_stays())
    if len(able) < len(calls):
        left = len(calls) - len(able)
        lines.append(_("Calls that are not changed: %(count)s.") % {"count": left})
    return lines


@transaction.atomic
def run(call_ids: Sequence[int], decision: Decision) -> int:
    """Returns how many calls are polled. Those that cannot be polled are not changed; raises
    ActionRefused where that leaves none."""
    # The same order of locks as for recording an outcome: another order would deadlock.
    jobs = _lock_jobs(call_ids)
    calls = list(Call.objects.filter(pk__in=call_ids).order_by("pk"))
    refusals = why_not_each(calls, decision.now)
    asked = [call for call in calls if not refusals[call.pk]]
    if not asked:
        raise ActionRefused(next(iter(refusals.values()), _("No call was chosen.")))
    ledger.poll_now([call.pk for call in asked], decision.now)
    made = [call.pk for call in asked if call.was_made]
    for stage_id in leases.save_now(made, decision.now) if made else ():
        queue.enqueue_after_commit(stage_id)
    entries = [
        entry_about_call(ActionName.CHECK, decision, call, jobs.get(call.work)) for call in asked
    ]
    StaffAction.objects.bulk_create(entries)
    return len(asked)


@requires("providers.view_call", PERMISSION)
def page(request: HttpRequest) -> HttpResponse:
    """One call or several, by their numbers in the address."""
    now = timezone.now()
    numbers = request.GET.getlist("call")
    chosen = {int(number) for number in numbers if number.isdecimal() and len(number) < 19}
    calls = list(Call.objects.filter(pk__in=sorted(chosen)[:MOST_AT_ONCE]).order_by("pk"))
    refusals = why_not_each(calls, now)
    able = [call for call in calls if not refusals[call.pk]]
    action = ActionPage(
        title=_("Check now"),
        yes=_("Check now"),
        known=table_of_calls(calls, now).with_remarks([refusals[call.pk] for call in calls]),
        will=preview(calls, able),
        refused="" if able else next(iter(refusals.values()), _("No call was chosen.")),
        back=_back_to(calls),
    )

    def check(decision: Decision, data: dict[str, str]) -> str:
        count = run([call.pk for call in calls], decision)
        text = ngettext("Checking %(count)s call.", "Checking %(count)s calls.", count)
        return text % {"count": count}

    return handle(request, action, check)


def _lock_jobs(call_ids: Sequence[int]) -> dict[str, Job]:
    """By work, without the works that no stage has."""
    works = Call.objects.filter(pk__in=call_ids).values("work")
    stages = Stage.objects.filter(work__in=works).values_list("work", "job_id")
    ids = {work: job_id for work, job_id in stages if work}
    jobs = Job.objects.filter(pk__in=ids.values()).select_for_update().order_by("pk")
    found = {job.pk: job for job in jobs}
    return {work: found[job_id] for work, job_id in ids.items()}


def _back_to(calls: Sequence[Call]) -> Back:
    if len(calls) == 1:
        return back_to_call(calls[0])
    return Back(_("Calls"), reverse("admin:providers_call_changelist"))
