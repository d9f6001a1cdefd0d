"""Makes a visitor with one picture, its file replaced by as many bytes as requested; prints
the visitor's cookie and the picture's addresses.

python -m tests.picture_owner 6000000
"""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parent.parent


def make_picture(environment: dict[str, str], size: int) -> dict[str, str]:
    """In a process of its own, on the database of `environment`."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.picture_owner", str(size)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(made.stdout)


def main() -> None:
    django.setup()
    from django.conf import settings
    from django.core.signing import get_cookie_signer
    from django.utils import timezone

    from jobs.people.visitors import COOKIE, COOKIE_SALT
    from quotas import accounts
    from tests import rows

    visitor, now = f"owner-{secrets.token_hex(8)}", timezone.now()
    account = accounts.ensure_saved(accounts.account_of_visitor(visitor), now=now)
    picture = rows.ready(account, now).pictures.get()
    if size := int(sys.argv[1]):
        Path(settings.MEDIA_ROOT, picture.file).write_bytes(os.urandom(size))
    cookie = get_cookie_signer(salt=COOKIE + COOKIE_SALT).sign(visitor)
    address = f"/images/{picture.pk}"
    print(json.dumps({"cookie": f"{COOKIE}={cookie}", "file": f"{address}/file", "page": address}))


if __name__ == "__main__":
    main()
