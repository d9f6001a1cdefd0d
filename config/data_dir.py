"""The data folder: database, media, collected static files and the secret key. Only the system
account of the site may read it, because its content allows signing in as any user."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

SHORTEST_KEY = 32
OWN_FILES = ("*.sqlite3", "*.sqlite3-wal", "*.sqlite3-shm", "up.json", "secret_key", "media")


def prepare(folder: Path) -> Path:
    try:
        folder = folder.expanduser().absolute()
    except RuntimeError:
        raise ImproperlyConfigured(f"DATA_DIR {folder} names a home that does not exist") from None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise ImproperlyConfigured(
            f"DATA_DIR {str(folder)[:200]} cannot be made: {exc.strerror}"
        ) from exc
    return folder


def close_to_others(folder: Path) -> None:
    """Restricts the site's own files, including older ones from before the umask. The mode of the
    folder is up to the operator, since it may hold other files; a system check warns about it."""
    for pattern in OWN_FILES:
        for path in folder.glob(pattern):
            with suppress(OSError):
                path.chmod(path.stat().st_mode & ~0o077)


def check_secret_key(key: str) -> str:
    if 0 < len(key) < SHORTEST_KEY:
        raise ImproperlyConfigured(f"SECRET_KEY must have at least {SHORTEST_KEY} characters")
    return key


def read_or_make_secret_key(folder: Path) -> str:
    """Created once. If two first starts race, link() lets one win and both use its key."""
    path = folder / "secret_key"
    try:
        if not path.exists():
            draft = folder / f".secret_key.{os.getpid()}.{secrets.token_hex(4)}"
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(50))
            try:
                os.link(draft, path)
            except FileExistsError:
                pass
            finally:
                draft.unlink()
        key = path.read_text(encoding="utf-8").strip()
    except OSError as exc:
        reason = f"DATA_DIR {folder} is not writable: {exc.strerror}"
        raise ImproperlyConfigured(reason) from exc
    if len(key) < SHORTEST_KEY:
        raise ImproperlyConfigured(
            f"{path} contains no usable secret key; delete the file to get a new one"
        )
    return key
