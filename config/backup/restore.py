"""Putting a backup back. Nothing is touched before all of it was verified."""

import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import Error, connection
from django.utils import timezone

from config import env
from config.backup import Failed, manifest
from config.backup.make import copy_database, copy_file, mark_secret_key
from config.backup.manifest import Manifest
from config.db.migration_history import known_migrations
from config.supervisor.records import Records
from jobs.core import faultpoints, heartbeats
from jobs.database import integrity
from jobs.database.file import (
    SIDE_FILES,
    UnusableFile,
    check_file,
    database_file,
    note_file,
    read_mark,
    read_only_address,
    side_file,
    was_opened,
)
from jobs.database.newest_call import forget_newest_call
from jobs.database.synced_files import sync_folder
from jobs.ops import restores

Report = Callable[[str], object]
DRAFT = ".restoring"


@dataclass(frozen=True)
class Options:
    replaces_database: bool = False
    database_is_restored: bool = False
    """By pg_restore: what is in the database already is taken over."""


def restore_backup(path: Path, options: Options, report: Report) -> None:
    folder = path.resolve()
    try:
        # The claim lasts as long as this process: no site starts meanwhile.
        records = Records(settings.DATA_DIR)
        running = records.running_up()
        if running:
            raise Failed(f"the site is running (process {running}): stop it first")
        if not records.claim():
            raise Failed(f"DATA_DIR {settings.DATA_DIR} is in use: a site is starting there")
        records.sweep()
        found = manifest.read(folder)
        manifest.verify(folder, found)
        report(f"verified: {len(found.files)} files of {found.made_at}")
        if connection.vendor != "sqlite":
            _take_over_database(found, options, report)
            _restore_files(folder, found, report)
            _restore_secret_key(folder, found, report)
        else:
            _restore_database(folder, found, options, report)
    except (sqlite3.Error, Error) as exc:
        raise Failed(f"the database cannot be restored: {first_line(exc)}") from exc
    except OSError as exc:
        raise Failed(f"{exc.filename or settings.DATA_DIR}: {exc.strerror}") from exc


def first_line(exc: Exception) -> str:
    return (str(exc).strip().splitlines() or [type(exc).__name__])[0]


def _restore_database(folder: Path, found: Manifest, options: Options, report: Report) -> None:
    source, target = folder / manifest.DATABASE, database_file()
    assert target
    if options.database_is_restored:
        raise Failed("--database-restored is for PostgreSQL: this puts a SQLite database back")
    if manifest.DATABASE not in found.files:
        raise Failed(f"{folder} holds no SQLite database: it was made on {found.vendor}")
    _refuse_unusable(source, found)
    # What marks the restored database, until the site starts on it.
    digests = "".join(sorted(entry.sha256 for entry in found.files.values()))
    number = 1 + int(manifest.hash_text(found.made_at + digests)[:7], 16)
    draft = None
    if _is_in_place(target, number):
        report("the database of this backup is in place already")
    else:
        if target.exists() and not options.replaces_database:
            raise Failed(f"{target} exists: with --replace it is kept aside under another name")
        draft = _make_draft(source, target, found, number, report)
    with _removed_if_it_fails(draft):
        _restore_files(folder, found, report)
        _restore_secret_key(folder, found, report)
        if draft:
            _put_in_place(draft, target, report)


def _refuse_unusable(source: Path, found: Manifest) -> None:
    faults = integrity.faults_of_file(source, is_alone=True)
    if faults:
        raise Failed(f"{source} is malformed ({faults[0]})")
    address = read_only_address(source, is_alone=True)
    with closing(sqlite3.connect(address, uri=True)) as opened:
        lost = opened.execute("PRAGMA foreign_key_check").fetchone()
    if lost:
        raise Failed(f"{source}: a row of {lost[0]} refers to a row that does not exist")
    _refuse_newer(found)


def _refuse_newer(found: Manifest) -> None:
    known = {".".join(key) for key in known_migrations()}
    unknown = sorted(set(found.migrations) - known)
    if unknown:
        raise Failed(
            f"the backup was made by another version ({found.version}), whose database has"
            f" {unknown[-1]}: install that version to restore it"
        )


def _is_in_place(target: Path, number: int) -> bool:
    """An earlier run came this far, and nothing has used it since."""
    with suppress(OSError, UnusableFile):
        return read_mark(target).number == number and not was_opened(target)
    return False


def _make_draft(source: Path, target: Path, found: Manifest, number: int, report: Report) -> Path:
    """The whole new database, next to the old one: migrated and taken over."""
    draft = target.with_name(target.name + DRAFT)
    _remove_with_side_files(draft)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _removed_if_it_fails(draft):
        copy_database(source, draft, is_alone=True)
        faultpoints.reach("restore_copied")
        with _connected_to(draft):
            call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
            _take_over(found, report)
        with closing(sqlite3.connect(draft, isolation_level=None)) as opened:
            # All of it in one file, so that one rename puts it in place.
            opened.execute("PRAGMA journal_mode=DELETE")
            opened.execute(f"PRAGMA user_version = {number}")
        _sync(draft)
    faultpoints.reach("restore_drafted")
    return draft


@contextmanager
def _connected_to(draft: Path) -> Iterator[None]:
    usual = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = str(draft)
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = usual


@contextmanager
def _removed_if_it_fails(draft: Path | None) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if draft:
            _remove_with_side_files(draft)
        raise


def _take_over(found: Manifest, report: Report) -> None:
    cancelled = restores.take_over(backup_made_at=found.made_at_instant, now=timezone.now())
    report(f"cancelled: {cancelled} queued jobs; everyone is signed out")


def _take_over_database(found: Manifest, options: Options, report: Report) -> None:
    if not options.database_is_restored:
        raise Failed(
            "restore the dump with pg_restore first, then run this again with --database-restored"
        )
    if found.vendor != connection.vendor:
        raise Failed(f"the backup is of a site on {found.vendor}, and DATABASE_URL is not")
    _refuse_newer(found)
    if heartbeats.ticker_is_beating():
        raise Failed("a site is running on this database: stop it first")
    call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
    _take_over(found, report)
    forget_newest_call()


def _put_in_place(draft: Path, target: Path, report: Report) -> None:
    if target.exists():
        report(f"kept aside: {_keep_aside(target)}")
    note_file(target).unlink(missing_ok=True)
    for suffix in SIDE_FILES:
        side_file(target, suffix).unlink(missing_ok=True)
    faultpoints.reach("restore_set_aside")
    os.replace(draft, target)
    sync_folder(target.parent)
    faultpoints.reach("restore_in_place")
    report(f"database: {target}")


def _keep_aside(target: Path) -> Path:
    """Under another name, and complete without a `-wal`: a kill between here and the rename leaves
    the old database as it was. If that fails, its side files are kept with it."""
    aside = _free_name(target)
    if not _is_settled(target):
        for suffix in SIDE_FILES:
            if side_file(target, suffix).exists():
                os.link(side_file(target, suffix), side_file(aside, suffix))
    os.link(target, aside)
    sync_folder(target.parent)
    return aside


def _free_name(target: Path) -> Path:
    """A run that was killed may have taken the name of this second."""
    name = f"{target.name}.before-{timezone.now():%Y%m%dT%H%M%SZ}"
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    paths = map(target.with_name, itertools.chain([name], numbered))
    return next(path for path in paths if not any(map(os.path.lexists, _with_side_files(path))))


def _is_settled(target: Path) -> bool:
    """True once the file holds every commit. SQLite changes the journal mode only if it can write
    the `-wal` into the file and no other process has the database open."""
    try:
        if check_file(target):
            return False
        with closing(sqlite3.connect(target, timeout=1, isolation_level=None)) as opened:
            opened.execute("PRAGMA journal_mode=DELETE")
    except UnusableFile:
        return False
    except sqlite3.OperationalError as exc:
        if "locked" in str(exc):
            raise Failed(f"{target} is in use by another process: stop it first") from exc
        raise
    except sqlite3.DatabaseError:
        return False
    return True


def _restore_files(folder: Path, found: Manifest, report: Report) -> None:
    """What is there already stays, whether a row names it or not."""
    root, written = Path(settings.MEDIA_ROOT), 0
    for name, entry in found.media_files():
        target = root / name
        if target.is_file() and manifest.has_content(target, entry):
            continue
        draft = target.with_name(f".{target.name}{DRAFT}")
        draft.unlink(missing_ok=True)
        try:
            copy_file(folder / manifest.MEDIA / name, draft)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
        written += 1
    os.sync()
    faultpoints.reach("restore_files_written")
    report(f"files: {written} restored, {len(list(found.media_files())) - written} were there")


def _restore_secret_key(folder: Path, found: Manifest, report: Report) -> None:
    target = settings.DATA_DIR / manifest.SECRET_KEY
    if env.read_secret("SECRET_KEY") or manifest.SECRET_KEY not in found.files:
        if found.secret_key_mark != mark_secret_key():
            report(
                "warning: SECRET_KEY is not the one of the backup: set that one again, or visitors"
                " do not find their pictures"
            )
        return
    source = folder / manifest.SECRET_KEY
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return
    draft = target.with_name(f".{target.name}{DRAFT}")
    draft.unlink(missing_ok=True)
    copy_file(source, draft)
    if target.exists():
        os.link(target, _free_name(target))
    os.replace(draft, target)
    sync_folder(target.parent)
    report(f"secret key: {target}")


def _remove_with_side_files(file: Path) -> None:
    for path in _with_side_files(file):
        path.unlink(missing_ok=True)


def _with_side_files(file: Path) -> list[Path]:
    return [file, *(side_file(file, suffix) for suffix in SIDE_FILES)]


def _sync(file: Path) -> None:
    with open(file, "rb") as opened:
        os.fsync(opened.fileno())
