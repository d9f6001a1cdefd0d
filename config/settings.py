"""Settings of the site. An operator's are in config/configuration.py, the engine's constants in
config/constants.py."""

from base64 import b64encode
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from django.utils.crypto import salted_hmac

from config import env, logs
from config.configuration import *
from config.constants import *
from config.db import options as db

ANY_HOST = ("0.0.0.0", "::")
_public = urlsplit(PUBLIC_URL)
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS += [
    env.bracketed(name) for name in (_public.hostname, HOST) if name and name not in ANY_HOST
]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _public.scheme == "https"
# A month: each visit renews it, and a site that gives up TLS is not locked out for long. It holds
# for the name itself, because what lies below it is not ours to decide.
SECURE_HSTS_SECONDS = 30 * 86400 if _public.scheme == "https" else 0
if _public.scheme == "https":
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

EMAIL_USE_TLS, EMAIL_USE_SSL = EMAIL_TLS == "STARTTLS", EMAIL_TLS == "TLS"
EMAIL_TIMEOUT = 10
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"

# The site and its sandbox derive the same secret, in any processes they run in.
_secret = salted_hmac("sandbox", "webhooks", secret=SECRET_KEY, algorithm="sha256").digest()
SANDBOX_HOOK_SECRET = f"whsec_{b64encode(_secret).decode()}"

INSTALLED_APPS = [
    "config.staff.StaffConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_q",
    "config",
    "quotas",
    "providers",
    "jobs",
]

MIDDLEWARE = [
    "config.http.csp.content_security_policy",
    "config.http.caching.keep_no_page",
    "config.http.transport.TransportSecurity",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.http.cookies.usable_cookies",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "jobs.people.session_cache.session_cache",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.http.charset.utf8_alone",
    "jobs.web.middleware.visitor",
    "jobs.web.middleware.RateLimits",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "jobs.web.context.site",
            ],
        },
    },
]

# synchronous FULL: a call row that was committed survives a power cut, or it would be paid twice.
SQLITE = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": DATA_DIR / "counterfoil.sqlite3",
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
    },
}


def _database() -> dict:
    if not DATABASE_URL:
        return {**SQLITE, "CONN_MAX_AGE": CONN_MAX_AGE}
    try:
        database = dj_database_url.parse(DATABASE_URL)
    except ValueError as exc:
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {type(exc).__name__}") from None
    if database["NAME"] in ("", ":memory:"):
        raise ImproperlyConfigured(
            "DATABASE_URL must name a database that several processes can share"
        )
    database["HOST"] = env.to_ascii_host("DATABASE_URL", database["HOST"])
    if database["ENGINE"].endswith("sqlite3"):
        # A command may be run in any folder.
        name = BASE_DIR / database["NAME"]
        return {**SQLITE, "NAME": name, "CONN_MAX_AGE": CONN_MAX_AGE}
    if not database["ENGINE"].endswith("postgresql"):
        raise ImproperlyConfigured("DATABASE_URL must be postgres://... or sqlite:///...")
    return db.postgresql(dict(database), pool_size=DATABASE_POOL, max_age=CONN_MAX_AGE)


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

# docs/adr/0005-queue.md has the measurements and the reason for each value.
# Messages are signed: a cluster would throw away those of a site with another key on this Redis.
# The broker adds the identity of the database to the name (quotas/identity.py).
Q_CLUSTER = {
    "name": f"counterfoil-{salted_hmac('queue', 'name', secret=SECRET_KEY).hexdigest()[:12]}",
    "label": "Queue",
    "workers": WORKERS,
    "timeout": JOB_TIMEOUT,
    "retry": JOB_TIMEOUT + 1320,
    "bulk": 1,
    "queue_limit": 1,
    "poll": 0.05,
    "ack_failures": True,
    "max_attempts": 1,
    "save_limit": -1,
    "catch_up": False,
    **(
        {"redis": REDIS_URL, "broker_class": "jobs.core.broker.SiteQueue"}
        if REDIS_URL
        else {"orm": "default", "broker_class": "jobs.core.broker.DatabaseQueue"}
    ),
}

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
MEDIA_ROOT = DATA_DIR / "media"
STORAGES = {
    "default": {"BACKEND": "jobs.files.storage.SyncedStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
FORMAT_MODULE_PATH = "config.formats"
USE_TZ = True
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = LOGOUT_REDIRECT_URL = "/"
CSRF_FAILURE_VIEW = "jobs.web.views.stale.not_sent"
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2**20

# Django's own that need no package besides; the first makes new hashes.
PASSWORD_HASHERS = [f"jobs.people.passwords.{name}" for name in ("PBKDF2", "PBKDF2SHA1", "Scrypt")]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LOGGING = logs.configure(LOG_LEVEL)
DEFAULT_EXCEPTION_REPORTER = "config.debug_pages.Reporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "config.debug_pages.Filter"
