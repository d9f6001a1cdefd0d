"""Migrations that were squashed: a database that has only some of the replaced ones.

Django applies the squashed migration only to a database that has none of the replaced migrations,
and records it where all of them are applied. A database that has some of them cannot be migrated:
for the last app of the dependency graph Django even reports that nothing is left to do.
"""

from collections.abc import Collection

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Key = tuple[str, str]


def known_migrations() -> set[Key]:
    """Migrations of this version and the ones they replace."""
    on_disk = MigrationLoader(None, ignore_no_migrations=True).disk_migrations or {}
    replaced = {key for migration in on_disk.values() for key in migration.replaces}
    return on_disk.keys() | replaced


def find_partial_history(alias: str = "default") -> str | None:
    """One sentence for the operator, or None where the database can be migrated."""
    recorder = MigrationRecorder(connections[alias])
    return describe_partial_history(recorder.applied_migrations().keys())


def describe_partial_history(applied: Collection[Key]) -> str | None:
    on_disk = MigrationLoader(None, ignore_no_migrations=True).disk_migrations or {}
    for migration in on_disk.values():
        missing = [key for key in migration.replaces if key not in applied]
        if missing and len(missing) < len(migration.replaces):
            return (
                f"the database was written by an older commit and has no {'.'.join(missing[-1])}:"
                " run manage.py migrate with the last commit that has this migration, then start"
                " this one"
            )
    return None


@register(Tags.database)
def check_history(databases: Collection[str] | None = None, **kwargs: object) -> list[CheckMessage]:
    """`manage.py migrate` runs the checks of a database before it reads the history itself."""
    found = (find_partial_history(alias) for alias in databases or ())
    return [Error(f"{fault}.", id="counterfoil.E020") for fault in found if fault]
