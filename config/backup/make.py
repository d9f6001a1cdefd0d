"""Making a backup while the site runs."""

import hashlib
import os
import sqlite3
import tomllib
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone
from django.utils.crypto import salted_hmac

from config import env
from config.backup import Failed, manifest
from config.backup.manifest import Entry, Manifest
from jobs.database import integrity
from jobs.database.file import COPIED, database_file, read_mark, read_only_address

LEFT_OUT = "thumbnails"
"""They are drawn again when they are next viewed."""


def make_backup(path: Path, report: Callable[[str], object]) -> Manifest:
    """The folder must be new or empty."""
    # A command without the site's settings finds a database of its own, which is empty.
    database = database_file()
    # Looked at first: a connection makes the file.
    if database and not database.exists():
        raise Failed(f"there is no database at {database}: DATA_DIR or DATABASE_URL is another")
    if not _applied_migrations():
        where = database or "DATABASE_URL"
        raise Failed(f"the database of {where} is empty: DATA_DIR or DATABASE_URL is another")
    folder = _open_folder(path)
    try:
        return _fill(folder, report)
    except sqlite3.Error as exc:
        raise Failed(f"the database cannot be copied to {folder}: {exc}") from exc
    except OSError as exc:
        raise Failed(f"{exc.filename or folder}: {exc.strerror}") from exc


def _open_folder(path: Path) -> Path:
    folder = path.resolve()
    for kept in (settings.DATA_DIR, settings.MEDIA_ROOT):
        if folder.is_relative_to(Path(kept).resolve()):
            raise Failed(f"{folder} is inside DATA_DIR; choose a folder outside it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Failed(f"{folder} is not empty")
        folder.chmod(0o700)
    except FileExistsError:
        raise Failed(f"{folder} is not a folder") from None
    except OSError as exc:
        raise Failed(f"{folder} cannot be made: {exc.strerror}") from None
    return folder


def _fill(folder: Path, report: Callable[[str], object]) -> Manifest:
    # The database first: files are only ever added, so the later copy has every file that the
    # earlier rows name, but for those that were deleted in between.
    found = Manifest(
        made_at=timezone.now().isoformat(),
        version=_version(),
        vendor=connection.vendor,
        migrations=sorted(".".join(key) for key in _applied_migrations()),
        secret_key="file",
        secret_key_mark=mark_secret_key(),
    )
    database = database_file()
    if database:
        copy_database(database, folder / manifest.DATABASE)
        _refuse_malformed(folder / manifest.DATABASE, database)
        found.files[manifest.DATABASE] = _entry(folder / manifest.DATABASE)
        report(f"database: {found.files[manifest.DATABASE].size} bytes")
    _copy_media(folder, found)
    report(
        f"files: {sum(1 for _ in found.media_files())}, deleted meanwhile: {len(found.vanished)}"
    )
    _copy_secret_key(folder, found)
    # One sync of all file systems takes less time than one of each of many files.
    os.sync()
    manifest.write(folder, found)
    return found


def copy_database(source: Path, target: Path, *, is_alone: bool = False) -> None:
    """By SQLite's backup API, in one step: in several, each commit of the site would restart it.
    The copy is one file, readable only by its owner."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    address = read_only_address(source, is_alone=is_alone)
    with (
        closing(sqlite3.connect(address, uri=True, timeout=60)) as original,
        closing(sqlite3.connect(target, isolation_level=None)) as copy,
    ):
        original.backup(copy)
        # Without a `-wal` of its own, and recognised as a copy if it is put back by hand.
        copy.execute("PRAGMA journal_mode=DELETE")
        copy.execute(f"PRAGMA user_version = {COPIED}")
    assert read_mark(target).number == COPIED


def mark_secret_key() -> str:
    """Tells keys apart and reveals nothing about them."""
    return salted_hmac("backup", "secret key", algorithm="sha256").hexdigest()[:16]


def _refuse_malformed(copy: Path, original: Path) -> None:
    faults = integrity.faults_of_file(copy)
    if faults:
        raise Failed(f"{original} is malformed ({faults[0]}): this is not a usable backup")


def _copy_media(folder: Path, found: Manifest) -> None:
    root = Path(settings.MEDIA_ROOT)
    (folder / manifest.MEDIA).mkdir(mode=0o700)
    for path in _files(root):
        name = f"{manifest.MEDIA}/{path.relative_to(root).as_posix()}"
        try:
            found.files[name] = copy_file(path, folder / name)
        except FileNotFoundError:
            found.vanished.append(name)


def _files(root: Path) -> Iterator[Path]:
    """Whole files: a name that begins with a dot is a draft."""
    for parent, folders, names in os.walk(root):
        if Path(parent) == root and LEFT_OUT in folders:
            folders.remove(LEFT_OUT)
        folders.sort()
        for name in sorted(names):
            path = Path(parent) / name
            if not name.startswith(".") and not path.is_symlink():
                yield path


def copy_file(source: Path, target: Path) -> Entry:
    """Hashed as it is copied. Its time stays: housekeeping judges a file by that."""
    digest, size = hashlib.sha256(), 0
    with open(source, "rb") as original:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as copy:
            while part := original.read(manifest.READ_AT_ONCE):
                digest.update(part)
                size += copy.write(part)
        status = os.fstat(original.fileno())
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    return Entry(size, digest.hexdigest())


def _copy_secret_key(folder: Path, found: Manifest) -> None:
    if env.read_secret("SECRET_KEY"):
        found.secret_key = manifest.FROM_ENVIRONMENT
        return
    name = manifest.SECRET_KEY
    found.files[name] = copy_file(settings.DATA_DIR / name, folder / name)


def _entry(path: Path) -> Entry:
    return Entry(path.stat().st_size, manifest.hash_file(path))


def _applied_migrations() -> Collection[tuple[str, str]]:
    return MigrationRecorder(connection).applied_migrations()


def _version() -> str:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))
    return project["project"]["version"]
