"""The product's own settings on a database and a data folder of the tests."""

import os
import tempfile

os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="counterfoil-tests-"))
os.environ.setdefault("SECRET_KEY", "only-for-the-tests-" + "x" * 40)
os.environ.setdefault("DATABASE_URL", os.environ.get("TEST_DATABASE", ""))

from config.settings import *  # noqa: E402,F403
from config.settings import DATABASES, STORAGES  # noqa: E402

DATABASES["default"]["CONN_MAX_AGE"] = 0
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
