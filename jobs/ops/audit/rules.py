"""The rules that the database itself is told, looked at anew: constraints, references, choices.

They are read from the models, so that a new one is audited without being named here. What it takes
to break one is a database that was edited by hand, restored in parts, or lost a constraint.
"""

from collections.abc import Iterator

from django.apps import apps
from django.db import connection
from django.db.models import (
    CheckConstraint,
    Count,
    Exists,
    Field,
    Model,
    OuterRef,
    Q,
    UniqueConstraint,
)

from jobs.ops.audit.findings import Finding, Violation, each, name_of, together

APPS = ("quotas", "providers", "jobs")

SAYS = {
    "account_closed_has_no_user": "A closed account has a user, or is for nobody.",
    "account_identity_not_blank": "An account has a blank visitor or name.",
    "account_removal_is_of_a_former_person": "Removal is due, but the account is still open.",
    "alert_mailed_once": "An alert that was mailed is due another mail.",
    "alert_open_once": "One trouble has more than one open alert.",
    "alert_posted_once": "An alert that was posted is due to be posted again.",
    "allowance_one_a_kind": "A plan has two allowances for one kind of job.",
    "allowance_slots_within_reason": "An allowance is beyond all reason.",
    "attempt_cost_nothing_only_if_failed": "An attempt is said to have cost nothing, but is held.",
    "attempt_seat_taken_once": "A seat is held by more than one attempt.",
    "attempt_settled_once_ended": "An attempt's state and the time of its end disagree.",
    "attempt_slot_within_allowed": "A slot lies outside of what was allowed.",
    "call_accepted_has_reference": "An accepted call has no id of the provider to ask about.",
    "call_cost_not_negative": "A call has a negative cost.",
    "call_ended_once_ended": "A call's state and the time of its end disagree.",
    "call_fallback_names_its_rule": "A fallback does not name the rule that allowed it.",
    "call_late_only_after_end": "A call has late news, but no end before it.",
    "call_hook_token_once": "Calls share the address that their webhooks come to.",
    "call_live_is_looked_at": "A live call is never looked at again.",
    "call_reference_once": "Calls share one id of the provider, so a result may be another's.",
    "call_wall": "A work has more than one live or paid call.",
    "gate_exhausted_is_the_whole_provider": "A single model is said to be exhausted.",
    "gate_one_a_model": "A provider or model has two gates.",
    "gate_paused_says_why": "A paused gate does not say why or since when.",
    "grant_form_once": "A form gave slots twice.",
    "grant_slots_within_reason": "A grant is beyond all reason.",
    "hook_message_once": "One webhook is kept twice.",
    "job_ended_once_ended": "A job's state and the time of its end disagree.",
    "job_failed_says_why": "A failed job has no reason.",
    "job_notified_once": "A job whose mail went out is due another.",
    "job_form_once": "One form has made more than one job.",
    "newcomer_number_within_allowed": "A newcomer's number lies outside of what was allowed.",
    "newcomer_seat_taken_once": "A newcomer's seat is held by more than one visitor.",
    "picture_once_a_position": "Two pictures have the same place in a job.",
    "site_one_row": "The database has more than one identity.",
    "smoke_test_ended_with_a_verdict": "A smoke test's end and its verdict disagree.",
    "smoke_test_one_at_a_time": "Two smoke tests of one provider run at a time.",
    "stage_goes_on": "An unfinished stage has neither a lease nor a due time.",
    "stage_lease_whole": "A stage has half a lease.",
    "stage_once_a_job": "A job has the same stage twice.",
    "stage_once_a_work": "Two stages have one work, so one payment would be for both.",
    "stage_work_is_named": "A stage has a work without a name.",
    "stage_saves_a_call": "A save stage does not say whose result it saves.",
    "staff_action_says_who_and_why": "A decision of staff has no name or no reason.",
    "unread_result_once": "One result that could not be read is kept twice.",
    "unmeasured_one_a_day": "Unmeasured requests of a day are counted in two rows.",
}


def violations() -> Iterator[Violation]:
    for model in audited_models():
        yield from _missing_constraints(model)
        for constraint in model._meta.constraints:
            yield from _named(constraint.name, _breaches(model, constraint))
        for field in model._meta.concrete_fields:
            yield from _violations_of_field(model, field)


def audited_models() -> list[type[Model]]:
    return [model for app in APPS for model in apps.get_app_config(app).get_models()]


def _named(name: str, found: Iterator[Finding], says: str = "") -> Iterator[Violation]:
    for finding in found:
        yield Violation(name, finding.table, finding.rows, says or SAYS.get(name, f"Not {name}."))


def _breaches(model: type[Model], constraint) -> Iterator[Finding]:
    rows = model._default_manager.all()
    if isinstance(constraint, CheckConstraint):
        return each(rows.exclude(constraint.condition))
    if isinstance(constraint, UniqueConstraint):
        return _repeated(rows.filter(constraint.condition or Q()), *constraint.fields)
    raise TypeError(f"no way to look at {constraint!r}")


def _repeated(rows, *fields: str) -> Iterator[Finding]:
    whole = rows.filter(**{f"{field}__isnull": False for field in fields})
    counted = whole.order_by().values(*fields).annotate(group_size=Count("pk"))
    return together(rows, counted.filter(group_size__gt=1))


def _violations_of_field(model: type[Model], field: Field) -> Iterator[Violation]:
    rows = model._default_manager.all()
    name = f"{name_of(model)}_{field.name}"
    if field.unique and not field.primary_key:
        says = f"Rows share one {field.name}."
        yield from _named(f"{name}_once", _repeated(rows, field.attname), says)
    if field.choices:
        known = [value for value, _ in field.flatchoices]
        says = f"The {field.name} is no known word."
        yield from _named(f"{name}_known", each(rows.exclude(**{f"{field.name}__in": known})), says)
    if field.related_model:
        parent = field.related_model._default_manager.filter(pk=OuterRef(field.attname))
        lost = rows.filter(**{f"{field.name}__isnull": False}).filter(~Exists(parent))
        says = f"The {field.name} that it belongs to does not exist."
        yield from _named(f"{name}_exists", each(lost), says)


def _missing_constraints(model: type[Model]) -> Iterator[Violation]:
    table = model._meta.db_table
    told = _rules_told(table)
    for constraint in model._meta.constraints:
        if f'"{constraint.name}"' not in told:
            says = "The database was told this rule no more, so nothing enforces it."
            yield Violation("database_enforces_rules", table, [constraint.name], says)


def _rules_told(table: str) -> str:
    """The quoted names of what the database enforces on the table, perhaps among other words.

    Django's own look at SQLite's constraints parses them for a second.
    """
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT sql FROM sqlite_master WHERE tbl_name = %s", [table])
            return " ".join(sql or "" for (sql,) in cursor.fetchall())
        names = connection.introspection.get_constraints(cursor, table)
    return " ".join(f'"{name}"' for name in names)
