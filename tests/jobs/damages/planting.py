"""Damage to a healthy site, planted by hand: one for each check of the audit.

`@damage(check, of, despite)`: the function takes a job made by `rows.<of>`, harms a row with the
constraints of `despite` dropped, and returns the id of the row to be named.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import connection
from django.db.models import BaseConstraint, Field, Model, QuerySet

from jobs.core.models import Job, Stage
from jobs.core.works import work_of
from jobs.ops.audit import rules
from providers.calls.models import Call
from quotas.models import Attempt

YEAR = timedelta(days=365)


@dataclass(frozen=True)
class Damage:
    check: str
    of: str
    despite: tuple[str, ...]
    plant: Callable[[Job], object]


DAMAGES: list[Damage] = []


def damage(check: str, of: str = "ready", despite: tuple[str, ...] = ()):
    def register(plant: Callable[[Job], object]):
        DAMAGES.append(Damage(check, of, despite, plant))
        return plant

    return register


def forget(*names: str) -> None:
    """Drop constraints inside of the test's own transaction, on either database."""
    for model in rules.audited_models():
        for constraint in model._meta.constraints:
            if constraint.name in names:
                _drop(model, constraint)


def _drop(model: type[Model], constraint: BaseConstraint) -> None:
    connection.check_constraints()  # PostgreSQL alters no table with references still to check
    editor = connection.schema_editor()
    editor.deferred_sql = []
    told = model._meta.constraints
    try:
        # SQLite makes the table anew, by what the model says
        model._meta.constraints = [other for other in told if other is not constraint]
        editor.remove_constraint(model, constraint)
    finally:
        model._meta.constraints = told


def replace_field(model: type[Model], name: str, loose: Field) -> None:
    """Alter the column to one that enforces less."""
    connection.check_constraints()
    loose.set_attributes_from_name(name)
    loose.model = model
    editor = connection.schema_editor()
    editor.deferred_sql = []
    editor.alter_field(model, model._meta.get_field(name), loose)


def calls(job: Job) -> QuerySet[Call]:
    return Call.objects.of_work(work_of(job.pk))


def attempt(job: Job) -> QuerySet[Attempt]:
    return Attempt.objects.filter(pk=job.attempt_id)


def stages(job: Job) -> QuerySet[Stage]:
    return Stage.objects.filter(job=job)


def harm(rows: QuerySet, **columns: object) -> object:
    pk = rows.first().pk
    assert rows.model._default_manager.filter(pk=pk).update(**columns) == 1
    return pk


def lose(rows: QuerySet) -> None:
    """Without what Django does for a row that is referred to."""
    rows._raw_delete(rows.db)


def double(row: Model, **columns: object) -> object:
    row.pk = uuid.uuid4() if isinstance(row.pk, uuid.UUID) else None
    row._state.adding = True
    for name, value in columns.items():
        setattr(row, name, value)
    row.save(force_insert=True)
    return row.pk


def row_of(job: Job) -> QuerySet[Job]:
    return Job.objects.filter(pk=job.pk)
