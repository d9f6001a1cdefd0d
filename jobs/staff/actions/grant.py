"""Grant extra slots for one day, and take a grant back."""

from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from jobs.core.models import ActionName, StaffAction
from jobs.staff.actions.base import ActionRefused, Decision, entry_about
from jobs.staff.actions.page import ActionPage, Back, handle, requires
from jobs.staff.actions.tables import Table, moment
from quotas.ledger import read_balance
from quotas.models import Grant

REVOKE_PERMISSION = "quotas.delete_grant"


@transaction.atomic
def run_grant(grant: Grant, decision: Decision) -> None:
    """Save a new grant, once per form. Its form sets neither who granted it nor when."""
    grant.granted_by, grant.granted_at = decision.by, decision.now
    try:
        with transaction.atomic():
            grant.save()
    except IntegrityError:
        raise ActionRefused(_("This form has already been sent. Its slots are granted.")) from None
    _entry(ActionName.GRANT, grant, decision).save()


@transaction.atomic
def run_revoke(grant_id: int, decision: Decision) -> None:
    """Attempts that hold a seat keep it. Only the allowance of the day shrinks."""
    grant = Grant.objects.select_related("account").filter(pk=grant_id).first()
    if grant is None or not Grant.objects.filter(pk=grant_id).delete()[0]:
        raise ActionRefused(_("This grant has already been taken back."))
    _entry(ActionName.REVOKE, grant, decision).save()


def preview_revoke(grant: Grant) -> list[str]:
    balance = read_balance(grant.account, grant.kind, grant.day)
    held = {"held": balance.used + balance.on_hold, "allowed": balance.allowed}
    rest = {"rest": max(0, balance.allowed - grant.slots)}
    return [
        _("Of that day's %(allowed)s slots, %(held)s are used or on hold.") % held,
        _("That day's allowance drops to %(rest)s at once.") % rest,
        _("Slots that are used or on hold stay so."),
    ]


@requires("quotas.view_grant", REVOKE_PERMISSION)
def revoke_page(request: HttpRequest, pk: int) -> HttpResponse:
    grant = get_object_or_404(Grant.objects.select_related("account"), pk=pk)
    action = ActionPage(
        title=_("Take the grant back"),
        yes=_("Take it back"),
        known=_table(grant),
        will=preview_revoke(grant),
        refused="",
        back=Back(_("Grants"), reverse("admin:quotas_grant_changelist")),
    )

    def revoke(decision: Decision, data: dict[str, str]) -> str:
        run_revoke(pk, decision)
        return _("The grant was taken back.")

    return handle(request, action, revoke)


def _entry(action: ActionName, grant: Grant, decision: Decision) -> StaffAction:
    facts = {"slots": grant.slots, "kind": grant.kind, "day": str(grant.day)}
    subject = f"{grant}, {grant.account}"
    return entry_about(subject, action, decision, account=grant.account, facts=facts)


def _table(grant: Grant) -> Table:
    heads = [_("Account"), _("Kind"), _("UTC day"), _("Extra slots"), _("Reason"), _("Granted")]
    row = [
        str(grant.account),
        grant.get_kind_display(),
        str(grant.day),
        str(grant.slots),
        grant.reason,
        moment(grant.granted_at),
    ]
    return Table(heads, [row])
