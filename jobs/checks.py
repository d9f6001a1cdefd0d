"""What a check finds, and how a check is written.

A check is a function named after its rule, with a sentence that describes the breach. It returns
findings, each from one statement, so that a site at work raises no false alarm.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Model, QuerySet


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


@dataclass(frozen=True)
class KeptFiles:
    """A folder of files that rows name. The name of a file begins with the id by which `named`
    finds the names that rows have."""

    folder: str
    named: Callable[[set[uuid.UUID]], set[str]]
    rows: Callable[[], QuerySet] | None = None
    """With `file`, `size` and `sha256`; None for files that can be made again."""


CHECKS: list[Check] = []


def check(says: str, checks: list[Check] = CHECKS):
    """Register the function as the check of its name; a kind of job has a list of its own."""

    def register(find: Callable[[datetime], Iterable[Finding]]):
        checks.append(Check(find.__name__, says, find))
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


def name_of(model: type[Model]) -> str:
    return str(model._meta.model_name)
