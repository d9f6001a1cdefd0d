"""The SQLite file as seen from outside: its header, and whether the `-wal` belongs to it.

A `-wal` file does not name the database it belongs to: SQLite replays it into any file of that
name, an older copy included, and the result is the newer state or a malformed mixture. So each
start writes a number into the header of the database and into a note next to it. An older copy has
another number. A copy of the same run has the same one, but SQLite restarts one of its counters in
a copy: the backup API the schema version, VACUUM INTO the change counter.
"""

import json
import secrets
import sqlite3
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.db import connection

from jobs.database.synced_files import sync_folder, write_synced

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
SIDE_FILES = ("-wal", "-shm", "-journal")
COPIED = 0
"""The number in a copy that `manage.py backup` made, and in a file that no site has started on."""
LONGEST_NUMBER = 2**31


class UnusableFile(Exception):
    """The site cannot run on this file; the text is for the operator."""


@dataclass(frozen=True)
class Mark:
    """From the header. `number` is SQLite's user_version, which nothing else here uses; the others
    are the schema version and the change counter, which never fall."""

    number: int
    schema: int
    changes: int


def database_file() -> Path | None:
    """None on PostgreSQL, and for a database in memory."""
    name = str(connection.settings_dict["NAME"])
    is_file = connection.vendor == "sqlite" and ":memory:" not in name and "mode=memory" not in name
    return Path(name) if is_file else None


def side_file(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)


def read_only_address(file: Path, *, is_alone: bool = False) -> str:
    """`is_alone`: side files are neither read nor written."""
    return f"{file.absolute().as_uri()}?{'immutable=1' if is_alone else 'mode=ro'}"


def note_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.last_start")


def has_commits_beside(file: Path) -> bool:
    """The last process that used it did not close it: its newest commits may be in the `-wal`."""
    return any(_size(side_file(file, suffix)) for suffix in ("-wal", "-journal"))


def check_file(file: Path) -> bool:
    """Without opening the database, which would replay the `-wal`. True when the file is not the
    one that the site ran on last: an older copy was put in its place."""
    wal = side_file(file, "-wal")
    if not file.exists():
        if _size(wal):
            raise UnusableFile(
                f"{file} is missing, but {wal.name} holds its newest commits: put the file back,"
                " or move that one away to begin with an empty database"
            )
        return False
    mark = read_mark(file)
    was_replaced = _was_replaced(mark, _read_note(file))
    if was_replaced and has_commits_beside(file):
        raise UnusableFile(
            f"{file} was replaced since the site last ran on it, so {wal} belongs to another"
            " database and would damage this one: move the files that end in -wal, -shm and"
            " -journal away, or use manage.py restore"
        )
    return was_replaced


def read_mark(file: Path) -> Mark:
    with open(file, "rb") as opened:
        header = opened.read(HEADER_BYTES)
    if not header:
        raise UnusableFile(f"{file} is empty: restore a backup, or remove it to start afresh")
    if len(header) < HEADER_BYTES or not header.startswith(MAGIC):
        raise UnusableFile(f"{file} is not a SQLite database: restore a backup")
    return Mark(
        number=int.from_bytes(header[60:64], "big"),
        schema=int.from_bytes(header[40:44], "big"),
        changes=int.from_bytes(header[24:28], "big"),
    )


def was_opened(file: Path) -> bool:
    """By the site or one of its commands: only they turn on the `-wal`."""
    with open(file, "rb") as opened:
        return opened.read(HEADER_BYTES)[18:20] != b"\1\1"


def mark_start(file: Path) -> None:
    """Call when nothing else has the database open. A failure leaves no note, and then the next
    start compares nothing."""
    with suppress(OSError, sqlite3.Error):
        # Gone for certain before the number changes: an old note would accuse the right file.
        note_file(file).unlink(missing_ok=True)
        sync_folder(file.parent)
        number = 1 + secrets.randbelow(LONGEST_NUMBER - 1)
        with closing(sqlite3.connect(file, isolation_level=None)) as database:
            database.execute(f"PRAGMA user_version = {number}")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        mark = read_mark(file)
        if mark.number == number:
            write_synced(note_file(file), json.dumps(asdict(mark)).encode())


def _was_replaced(mark: Mark, note: Mark | None) -> bool:
    """A migration by hand raises the schema version, and is no replacement."""
    if note is None:
        return False
    has_begun_anew = mark.schema < note.schema or mark.changes < note.changes
    return mark.number != note.number or has_begun_anew


def _read_note(file: Path) -> Mark | None:
    try:
        return Mark(**json.loads(note_file(file).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
