"""What a check finds, and how a check is written.

A check is a function whose name is the rule and whose sentence says the breach. It returns
findings, each from one statement, so that a site at work raises no false alarm.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import CharField, Func, Model, QuerySet, UUIDField


@dataclass(frozen=True)
class Finding:
    table: str
    rows: list[str]


@dataclass(frozen=True)
class Violation:
    check: str
    table: str
    rows: list[str]
    says: str

    def __str__(self) -> str:
        return f"{self.check}: {self.table} {', '.join(self.rows)}: {self.says}"


@dataclass(frozen=True)
class Check:
    name: str
    says: str
    find: Callable[[datetime], Iterable[Finding]]

    def violations(self, now: datetime) -> Iterator[Violation]:
        for found in self.find(now):
            yield Violation(self.name, found.table, found.rows, self.says)


CHECKS: list[Check] = []


def check(says: str):
    """Register the function as the check of its name."""

    def register(find: Callable[[datetime], Iterable[Finding]]):
        CHECKS.append(Check(find.__name__, says, find))
        return find

    return register


def each(rows: QuerySet) -> Iterator[Finding]:
    """A finding a row."""
    table = rows.model._meta.db_table
    for pk in rows.order_by().values_list("pk", flat=True):
        yield Finding(table, [str(pk)])


def together(rows: QuerySet, groups: QuerySet) -> Iterator[Finding]:
    """A finding a group, with all its rows. `groups` are values() of what the rows share."""
    for group in list(groups):
        shared = {name: group[name] for name in group if not name.startswith("group_")}
        pks = rows.filter(**shared).order_by("pk").values_list("pk", flat=True)
        yield Finding(rows.model._meta.db_table, [str(pk) for pk in pks])


class WorkOf(Func):
    """The work of a picture, by the id of its job: `image:<job>`."""

    arity = 1
    output_field = CharField()
    template = "'image:' || CAST(%(expressions)s AS text)"

    def as_sqlite(self, compiler, connection, **extra):
        # SQLite keeps an id as 32 digits.
        parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)]
        cut = [f"substr(%(expressions)s, {start}, {length})" for start, length in parts]
        template = "'image:' || " + " || '-' || ".join(cut)
        return self.as_sql(compiler, connection, template=template, **extra)


class JobIdOf(Func):
    """The job's id in the work of a picture; NULL where the work has none."""

    arity = 1
    output_field = UUIDField()
    template = (
        "CASE WHEN %(expressions)s ~ '^image:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$'"
        " THEN CAST(substr(%(expressions)s, 7) AS uuid) END"
    )

    def as_sqlite(self, compiler, connection, **extra):
        template = (
            "CASE WHEN substr(%(expressions)s, 1, 6) = 'image:' AND length(%(expressions)s) = 42"
            " THEN replace(substr(%(expressions)s, 7), '-', '') END"
        )
        return self.as_sql(compiler, connection, template=template, **extra)


def name_of(model: type[Model]) -> str:
    return str(model._meta.model_name)
