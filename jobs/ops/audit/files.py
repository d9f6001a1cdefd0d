"""The files of pictures: there, whole, inside of the media folder; and files that no row names."""

import hashlib
import os
import time
import uuid
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet

from jobs.checks import KeptFiles, Violation
from jobs.core.models import Job
from jobs.kinds import KINDS
from providers.calls import result_files
from providers.calls.models import CallResult

# A file is written before its row, and a download may take long.
YOUNG = 3600
BATCH = 500


def violations(*, deep: bool) -> Iterator[Violation]:
    """By size only, or with `deep` by what each file contains."""
    root = Path(settings.MEDIA_ROOT).resolve()
    for rows in (*(files.rows() for files in _kept_files() if files.rows), _kept_results()):
        model = rows.model
        for pk, file, size, sha256 in _rows(rows):
            name, says = _breach(root, file, size, sha256 if deep else "")
            if name:
                yield Violation(name, model._meta.db_table, [str(pk)], says)


def _kept_files() -> Iterator[KeptFiles]:
    for kind in KINDS.values():
        yield from kind.files


def _kept_results() -> QuerySet:
    return CallResult.objects.with_file()


def _rows(rows: QuerySet) -> Iterator[tuple[object, str, int, str]]:
    """A batch a query: no cursor of the server's, which a pooler would lose on the way."""
    columns = rows.order_by("pk").values_list("pk", "file", "size", "sha256")
    batch = list(columns[:BATCH])
    while batch:
        yield from batch
        batch = list(columns.filter(pk__gt=batch[-1][0])[:BATCH])


def orphans(before: float | None = None) -> Iterator[str]:
    """Files that no picture names: the rest of a run or of a deletion that died at its commit.
    Written before that moment, or an hour ago."""
    before = time.time() - YOUNG if before is None else before
    for files in _kept_files():
        yield from _unnamed(files.folder, files.named, before)
    yield from _unnamed_results(before)


def may_be_lost_picture(file: str, restored_at: float) -> bool:
    """The file may be of a picture whose row a restore has lost: it was there before, or it is of a
    job that has no row. A draft is whole nowhere."""
    path = Path(settings.MEDIA_ROOT) / file
    originals = [f"{files.folder}/" for files in _kept_files() if files.rows]
    kept = (*originals, f"{result_files.FOLDER}/")
    if path.name.startswith(".") or not file.startswith(kept):
        return False
    job_id = _id_in(path)
    if file.startswith(f"{result_files.FOLDER}/"):
        pass  # named by its call, and a restore may give the number of a lost call to another
    elif not job_id or not Job.objects.filter(pk=job_id).exists():
        return True
    try:
        return path.stat().st_mtime <= restored_at
    except OSError:
        return True


def _unnamed(
    folder: str, named: Callable[[set[uuid.UUID]], set[str]], before: float
) -> Iterator[str]:
    root = Path(settings.MEDIA_ROOT).resolve()
    files_left = _old_files(root / folder, before)
    while files := list(islice(files_left, BATCH)):
        known = named({found for file in files if (found := _id_in(file))})
        yield from (name for file in files if (name := str(file.relative_to(root))) not in known)


def _unnamed_results(before: float) -> Iterator[str]:
    root = Path(settings.MEDIA_ROOT).resolve()
    files_left = _old_files(root / result_files.FOLDER, before)
    while files := list(islice(files_left, BATCH)):
        numbers = {file.stem.partition("-")[0] for file in files}
        calls = [int(number) for number in numbers if number.isdecimal()]
        rows = CallResult.objects.with_file().filter(call__in=calls)
        known = set(rows.values_list("file", flat=True))
        yield from (name for file in files if (name := str(file.relative_to(root))) not in known)


def _breach(root: Path, file: str, size: int, sha256: str) -> tuple[str, str]:
    path = (root / file).resolve()
    if not path.is_relative_to(root):
        return "picture_file_inside", "A picture's file is outside the media folder."
    try:
        found = path.stat().st_size
        if found == size and sha256 and _sha256(path) != sha256:
            return "picture_file_unchanged", "A picture's file has another content."
    except OSError:
        return "picture_file_there", "A picture's file cannot be read."
    if found != size:
        return "picture_file_whole", "A picture's file has another size."
    return "", ""


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _old_files(folder: Path, before: float) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            try:
                if path.stat().st_mtime < before:
                    yield path
            except FileNotFoundError:
                continue


def _id_in(file: Path) -> uuid.UUID | None:
    """Of the job in an original's name, of the picture in that of a small one."""
    try:
        return uuid.UUID(file.stem.partition("-")[0])
    except ValueError:
        return None
