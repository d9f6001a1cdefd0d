"""`manifest.json`: what a backup holds, each file with its size and hash. Written last, so that a
folder without one is the rest of a backup that did not end."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from config.backup import Failed
from jobs.database.synced_files import write_synced

NAME = "manifest.json"
FORMAT = 1
MEDIA = "media"
SECRET_KEY = "secret_key"
DATABASE = "counterfoil.sqlite3"
FROM_ENVIRONMENT = "environment"
READ_AT_ONCE = 2**20


@dataclass(frozen=True)
class Entry:
    size: int
    sha256: str


@dataclass
class Manifest:
    made_at: str
    version: str
    vendor: str
    migrations: list[str]
    secret_key: str
    """`file`, or `environment` where the setting SECRET_KEY holds it."""
    secret_key_mark: str
    files: dict[str, Entry] = field(default_factory=dict)
    """By their path within the backup."""
    vanished: list[str] = field(default_factory=list)
    """Files that were deleted while they were to be copied."""
    format: int = FORMAT

    @property
    def made_at_instant(self) -> datetime:
        return datetime.fromisoformat(self.made_at)

    def media_files(self) -> Iterator[tuple[str, Entry]]:
        """By their path within the media folder."""
        for name, entry in self.files.items():
            if name.startswith(f"{MEDIA}/"):
                yield name.removeprefix(f"{MEDIA}/"), entry


def write(folder: Path, manifest: Manifest) -> None:
    content = asdict(manifest)
    content["checksum"] = _checksum(content)
    text = json.dumps(content, indent=1, sort_keys=True)
    write_synced(folder / NAME, text.encode())


def read(folder: Path) -> Manifest:
    """Raises Failed if the folder is not a backup, or if its manifest was changed."""
    path = folder / NAME
    try:
        content = json.loads(path.read_bytes())
        if content.get("format") != FORMAT:
            raise Failed(f"{path} has a format that this version does not know")
        if content.pop("checksum", "") != _checksum(content):
            raise Failed(f"{path} was changed after it was written")
        files = {name: Entry(**entry) for name, entry in content.pop("files").items()}
        manifest = Manifest(**content, files=files)
        manifest.made_at_instant  # noqa: B018  raises ValueError
    except FileNotFoundError:
        raise Failed(f"{folder} is not a whole backup: {NAME} is missing") from None
    except OSError as exc:
        raise Failed(f"{path} cannot be read: {exc.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Failed(f"{path} cannot be understood: it was damaged") from None
    _refuse_paths_that_lead_outside(manifest, path)
    return manifest


def verify(folder: Path, manifest: Manifest) -> None:
    """Raises Failed naming the first file that is missing, changed, or not in the manifest."""
    for name, entry in manifest.files.items():
        _verify_file(folder / name, entry)
    named = {name for name, _ in manifest.media_files()}
    for path in (folder / MEDIA).rglob("*"):
        if path.is_file() and path.relative_to(folder / MEDIA).as_posix() not in named:
            raise Failed(f"{path} is not in the manifest: remove it, or use another backup")


def hash_file(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def has_content(path: Path, entry: Entry) -> bool:
    return path.stat().st_size == entry.size and hash_file(path) == entry.sha256


def _verify_file(path: Path, entry: Entry) -> None:
    try:
        is_same = has_content(path, entry)
    except FileNotFoundError:
        raise Failed(f"{path} is missing from the backup") from None
    except OSError as exc:
        raise Failed(f"{path} cannot be read: {exc.strerror}") from None
    if not is_same:
        raise Failed(f"{path} is damaged: its content is not what the manifest says")


def _refuse_paths_that_lead_outside(manifest: Manifest, path: Path) -> None:
    for name in manifest.files:
        parts = PurePosixPath(name).parts
        is_known = name in (DATABASE, SECRET_KEY) or (parts[:1] == (MEDIA,) and len(parts) > 1)
        if not is_known or ".." in parts:
            raise Failed(f"{path} names {name!r}, which cannot be part of a backup")


def _checksum(content: dict) -> str:
    return hash_text(json.dumps(content, sort_keys=True))
