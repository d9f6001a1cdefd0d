"""A database with a long history behind it: a million attempts and calls, 200,000 jobs.

`make fill` writes them into the site's own database, which must hold no attempt yet; ROWS=n makes
another number of them. The history is of a hundred days and ends now. Rows are numbered from the
oldest; job, attempt and call of one number belong together.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import django
from django.core.management.color import no_style
from django.db import connection, transaction

from tests.bench._history import JOBS_OF, History

ROWS = 1_000_000
# How each is dropped and made again: indexes, and on PostgreSQL what is looked up for each row.
DEARLY_KEPT = {
    "sqlite": """
        SELECT 'DROP INDEX ' || name, sql FROM sqlite_master
         WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN ({tables})""",
    "postgresql": """
        SELECT 'DROP INDEX ' || indexname, indexdef FROM pg_indexes
         WHERE schemaname = 'public' AND tablename IN ({tables})
           AND NOT EXISTS (SELECT FROM pg_constraint WHERE conname = indexname)
         UNION ALL
        SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', relname, conname),
               format('ALTER TABLE %s ADD CONSTRAINT %I %s',
                      relname, conname, pg_get_constraintdef(pg_constraint.oid))
          FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
         WHERE contype IN ('f', 'u') AND relname IN ({tables})""",
}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from quotas.models import Attempt

    if Attempt.objects.exists():
        sys.exit("The database holds attempts already: fill a new one")
    rows = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1] else ROWS
    fill(rows, datetime.now(UTC))
    print(f"{rows} attempts and calls, {rows // JOBS_OF} jobs")


def fill(rows: int, now: datetime) -> None:
    from jobs.core.models import Job, Stage
    from providers.calls.models import Call
    from quotas.models import Account, Attempt

    if connection.vendor == "sqlite":
        _execute("PRAGMA cache_size=-1000000", "PRAGMA synchronous=OFF")
    with transaction.atomic():
        with _kept_afterwards(Attempt, Call, Job, Stage):
            History(rows, now).write()
        _execute(*connection.ops.sequence_reset_sql(no_style(), [Account, Attempt, Call]))
    if connection.vendor == "postgresql":
        # As its autovacuum does by and by; nobody does it for a site on SQLite.
        _execute("VACUUM ANALYZE")


@contextmanager
def _kept_afterwards(*models) -> Iterator[None]:
    """Sorted once, instead of searched for each of a million rows."""
    tables = ", ".join(f"'{model._meta.db_table}'" for model in models)
    with connection.cursor() as cursor:
        cursor.execute(DEARLY_KEPT[connection.vendor].format(tables=tables))
        found = cursor.fetchall()
    _execute(*(drop for drop, _ in found))
    yield
    if connection.vendor == "postgresql":
        # Nothing of a table is changed while its foreign keys are still to be looked at.
        _execute("SET CONSTRAINTS ALL IMMEDIATE", "SET LOCAL maintenance_work_mem = '256MB'")
    _execute(*(make for _, make in found))


def _execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


if __name__ == "__main__":
    main()
