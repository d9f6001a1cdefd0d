"""Filters that put the tables of `jobs.words.wording` into templates."""

from datetime import datetime, timedelta
from decimal import Decimal

from django import template
from django.utils import formats

from jobs.core.models import Job
from jobs.kinds import Kind, kind_of
from jobs.panels import Quotas
from jobs.words import wording
from jobs.words.quota import Quota
from providers.adapters.registry import is_sandbox
from providers.calls.money import format_amount
from providers.sandbox.faults import find_fault

register = template.Library()


@register.filter
def look(state: str) -> wording.Look:
    return wording.LOOKS[state]


@register.filter
def headline(job: Job) -> str:
    return kind_of(job).words.headline(job.state, job.reason)


@register.filter
def title(job: Job) -> str:
    return kind_of(job).words.title(job)


@register.filter
def kind(job: Job) -> Kind:
    return kind_of(job)


@register.filter
def of_kind(quotas: Quotas, kind: str) -> Quota:
    return quotas.of_kind(kind)


@register.filter
def money(amount: Decimal) -> str:
    return format_amount(amount)


@register.filter
def duration(lasted: timedelta | None) -> str:
    return "—" if lasted is None else wording.duration_in_words(lasted)


@register.filter
def utc_moment(at: datetime) -> str:
    return f"{formats.date_format(at, 'j M Y')}, {wording.time_in_words(at)}"


@register.filter
def label(action: str, job: Job) -> str:
    return kind_of(job).words.label(action)


@register.filter
def mark(state: str) -> wording.Mark:
    return wording.MARKS[state]


@register.filter
def draws_tests(provider: str) -> bool:
    return is_sandbox(provider)


@register.filter
def fault_title(name: str) -> str:
    """The form's title of a fault; the name itself if the table no longer has it."""
    try:
        return str(find_fault(name).title)
    except KeyError:
        return name
