"""The product's own settings on a database and a data folder of the tests.

`TEST_DATABASE=postgres://... pytest` runs the whole suite on PostgreSQL instead of SQLite.
"""

import os
import tempfile

os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="counterfoil-tests-"))
os.environ.setdefault("SECRET_KEY", "only-for-the-tests-" + "x" * 40)
# What a developer has set for a site of their own must not reach the tests, least of all a key.
os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE", "")
for name in (
    "DATABASE_URL_FILE",
    "REDIS_URL",
    "POLZA_API_KEY",
    "POLZA_API_KEY_FILE",
    "PUBLIC_URL",
    "EMAIL_HOST",
    "ALERT_EMAILS",
    "ALERT_URL",
    "ALERT_URL_FILE",
    "ALLOWANCES",
):
    os.environ[name] = ""

from config.settings import *  # noqa: E402,F403
from config.settings import DATABASES, STATIC_ROOT, STORAGES  # noqa: E402

DATABASES["default"]["CONN_MAX_AGE"] = 0
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# WhiteNoise warns of a folder that is not there.
STATIC_ROOT.mkdir(exist_ok=True)
