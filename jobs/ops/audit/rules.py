"""The rules that the database enforces are all there, and no column has an unknown word.

Constraints, unique columns and references are read from the models, so a new one is audited
without being named here. Whether the rows obey them is the database's own work: it refuses the
rest, and `database` asks whether what it enforces is valid and its content intact.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.apps import apps
from django.db import connection
from django.db.models import Field, Model

from jobs.checks import Violation, each, name_of

APPS = ("quotas", "providers", "jobs")


@dataclass
class Enforced:
    """What the database enforces on one table."""

    names: str = ""
    """The quoted names of its constraints, perhaps among other words."""
    unique: set[str] = field(default_factory=set)
    references: set[str] = field(default_factory=set)


def violations() -> Iterator[Violation]:
    for model in audited_models():
        table = model._meta.db_table
        for rule in _missing_rules(model, _read_enforced(table)):
            says = "The database has lost this rule, so nothing enforces it."
            yield Violation("database_enforces_rules", table, [rule], says)
        for column in model._meta.concrete_fields:
            yield from _unknown_words(model, column)


def audited_models() -> list[type[Model]]:
    return [model for app in APPS for model in apps.get_app_config(app).get_models()]


def _missing_rules(model: type[Model], enforced: Enforced) -> Iterator[str]:
    for constraint in model._meta.constraints:
        if f'"{constraint.name}"' not in enforced.names:
            yield constraint.name
    for column in model._meta.concrete_fields:
        if column.unique and not column.primary_key and column.column not in enforced.unique:
            yield f"{name_of(model)}_{column.name}_once"
        is_reference = getattr(column, "db_constraint", False)
        if is_reference and column.column not in enforced.references:
            yield f"{name_of(model)}_{column.name}_exists"


def _unknown_words(model: type[Model], column: Field) -> Iterator[Violation]:
    if not column.choices:
        return
    known = [value for value, _ in column.flatchoices] + [""] * column.blank
    rows = model._default_manager.exclude(**{f"{column.name}__in": known})
    for found in each(rows):
        name = f"{name_of(model)}_{column.name}_known"
        yield Violation(name, found.table, found.rows, f"The {column.name} is not a known word.")


def _read_enforced(table: str) -> Enforced:
    return _read_sqlite(table) if connection.vendor == "sqlite" else _read_postgres(table)


def _read_sqlite(table: str) -> Enforced:
    """Django's introspection of SQLite takes a second to parse the constraints."""
    found = Enforced()
    with connection.cursor() as cursor:
        cursor.execute("SELECT sql FROM sqlite_master WHERE tbl_name = %s", [table])
        found.names = " ".join(sql or "" for (sql,) in cursor.fetchall())
        cursor.execute(f'PRAGMA foreign_key_list("{table}")')
        found.references = {row[3] for row in cursor.fetchall()}
        cursor.execute(f'PRAGMA index_list("{table}")')
        for _, index, is_unique, _, is_partial in cursor.fetchall():
            cursor.execute(f'PRAGMA index_info("{index}")')
            columns = [row[2] for row in cursor.fetchall()]
            if is_unique and not is_partial and len(columns) == 1:
                found.unique.update(columns)
    return found


def _read_postgres(table: str) -> Enforced:
    with connection.cursor() as cursor:
        constraints = connection.introspection.get_constraints(cursor, table)
    found = Enforced(" ".join(f'"{name}"' for name in constraints))
    for constraint in constraints.values():
        if len(constraint["columns"]) == 1:
            if constraint["unique"]:
                found.unique.update(constraint["columns"])
            if constraint["foreign_key"]:
                found.references.update(constraint["columns"])
    return found
