"""Orders from the command line, through the same form and path as those of a page."""

from datetime import datetime
from typing import Any

from django.db import DatabaseError, connection

from jobs.core.models import Job
from jobs.core.outages import describe
from jobs.pictures.forms import PictureForm
from jobs.pictures.orders import PictureOrder, new_form_key, order_picture
from jobs.words import wording
from providers.adapters.registry import is_sandbox, offers, parse_offer
from quotas import accounts
from quotas.ledger import Refused
from quotas.models import Account, Plan

LONGEST_NAME = 150


class NotOrdered(Exception):
    """Your request was not sent. `error` is a word for programs, the text one line for people."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


class OrderInDoubt(Exception):
    """The database became unreachable during the order, so the result is not known."""


def order_from(options: dict[str, Any], now: datetime) -> Job:
    """Raises NotOrdered or OrderInDoubt."""
    form_key = new_form_key()
    order = _checked(options, form_key)
    try:
        account = _account(options["account"], options["plan"], now)
    except DatabaseError as exc:
        raise _away(exc) from exc
    try:
        answer = order_picture(account=account, order=order, form_key=form_key, now=now)
    except DatabaseError as exc:
        answer = _taken_after_all(account, form_key, exc)
    if isinstance(answer, Refused):
        raise NotOrdered(answer.why, _in_words(answer, now))
    return answer


def _checked(options: dict[str, Any], form_key: str) -> PictureOrder:
    """What the form would refuse, and choices that it would not offer."""
    known = [str(offer) for offer in offers()]
    if not known:
        raise NotOrdered("config", "IMAGE_MODELS names no model")
    model, fault = options["model"] or known[0], options["fault"]
    if not _is_text(options["prompt"]):
        raise NotOrdered("input", "the prompt is not valid UTF-8")
    if model not in known:
        raise NotOrdered("input", f"--model is one of {', '.join(known)}")
    if fault and not is_sandbox(parse_offer(model).provider):
        raise NotOrdered("input", f"--fault works only with the sandbox, not with {model}")
    fields = {name: options[name] for name in ("prompt", "aspect_ratio", "fault")}
    form = PictureForm({**fields, "model": model, "form_key": form_key})
    if not form.is_valid():
        name, says = next(iter(form.errors.items()))
        option = "the prompt" if name == "prompt" else f"--{name.replace('_', '-')}"
        raise NotOrdered("input", f"{option}: {says[0]}")
    return form.order()


def _account(name: str, plan: str, now: datetime) -> Account:
    """Made on first use; a plan that is named becomes the account's."""
    if not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
        raise NotOrdered("input", f"--account is a name of 1 to {LONGEST_NAME} characters")
    account = accounts.account_named(name)
    if not plan:
        return account
    account.plan = _plan(plan)
    saved = accounts.ensure_saved(account, now=now)
    Account.objects.filter(pk=saved.pk).update(plan=account.plan)
    return saved


def _plan(name: str) -> Plan:
    found = Plan.objects.filter(name=name).first()
    if found is None:
        known = ", ".join(Plan.objects.order_by("pk").values_list("name", flat=True))
        raise NotOrdered("input", f"--plan is one of {known}")
    return found


def _taken_after_all(account: Account, form_key: str, exc: DatabaseError) -> Job:
    """The answer to a commit was lost: the form's key shows whether it was made."""
    connection.close_if_unusable_or_obsolete()
    try:
        job = Job.objects.filter(form_key=form_key, account__in=accounts.rows_of(account)).first()
    except DatabaseError:
        raise OrderInDoubt from exc
    if job is None:
        raise _away(exc) from exc
    return job


def _away(exc: DatabaseError) -> NotOrdered:
    return NotOrdered("database", f"no order can be taken: the database {describe(exc)}")


def _in_words(refused: Refused, now: datetime) -> str:
    balance = refused.balance
    renews = wording.duration_in_words(balance.renews_at - now)
    if refused.why == "too_many_tries":
        return f"too many failed tries today; the day renews in {renews} (00:00 UTC)"
    return (
        f"no slot left today: {balance.used} used and {balance.on_hold} on hold "
        f"of {balance.allowed}; the day renews in {renews} (00:00 UTC)"
    )


def _is_text(prompt: str) -> bool:
    try:
        prompt.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
