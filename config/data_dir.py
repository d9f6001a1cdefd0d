"""The data folder: database, media, collected static files and the secret key."""

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def prepare(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ImproperlyConfigured(f"DATA_DIR {folder} cannot be made: {exc.strerror}") from exc
    return folder


def read_or_make_secret_key(folder: Path) -> str:
    """Made once: of two first starts at the same time, link() lets one win and both use its key."""
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
    if len(key) < 32:
        raise ImproperlyConfigured(f"{path} holds no usable secret key; delete it to get a new one")
    return key
