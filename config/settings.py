"""Every setting, read once from the environment (and `.env`). The README's table lists them."""

from base64 import b64encode
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
from django.core.exceptions import ImproperlyConfigured
from django.utils.crypto import salted_hmac

from config import data_dir, env, logs
from config.accounts import read_more
from config.db import options as db
from providers.adapters.accounts import ProviderAccount

BASE_DIR = Path(__file__).resolve().parent.parent
env.load_dotenv(BASE_DIR / ".env")

# Where it runs
DATA_DIR = data_dir.prepare(Path(env.read_str("DATA_DIR", str(BASE_DIR / "data"))))
ANY_HOST = ("0.0.0.0", "::")
HOST = env.read_host("HOST", "127.0.0.1")
PORT = env.read_int("PORT", 8000, least=1, most=65535)
PUBLIC_URL = env.read_site_url("PUBLIC_URL")
PROXIES_ARE_SAID = bool(env.read_str("TRUSTED_PROXIES"))
TRUSTED_PROXIES = env.read_int("TRUSTED_PROXIES", 0, most=10)
NEW_VISITORS_A_DAY = env.read_int("NEW_VISITORS_A_DAY", 30, most=10**6)
DATABASE_URL = env.read_secret("DATABASE_URL")
REDIS_URL = env.read_redis_url("REDIS_URL")
RATE_LIMITS = env.read_choice(
    "RATE_LIMITS", "REDIS" if REDIS_URL else "MEMORY", ("MEMORY", "REDIS", "OFF")
)
if RATE_LIMITS == "REDIS" and not REDIS_URL:
    raise ImproperlyConfigured("RATE_LIMITS is REDIS, but REDIS_URL is not set")
DEBUG = env.read_bool("DEBUG", False)
SECRET_KEY = data_dir.check_secret_key(
    env.read_secret("SECRET_KEY")
) or data_dir.read_or_make_secret_key(DATA_DIR)

_public = urlsplit(PUBLIC_URL)
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS += [
    env.bracketed(name) for name in (_public.hostname, HOST) if name and name not in ANY_HOST
]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _public.scheme == "https"
# A month: each visit renews it, and a site that gives up TLS is not locked out for long. It holds
# for the name alone, since what else is below it is not ours to decide.
SECURE_HSTS_SECONDS = 30 * 86400 if _public.scheme == "https" else 0
if _public.scheme == "https":
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

# Mail is printed until there is a server for it.
EMAIL_HOST = env.read_host("EMAIL_HOST")
EMAIL_PORT = env.read_int("EMAIL_PORT", 587, least=1, most=65535)
EMAIL_HOST_USER = env.read_str("EMAIL_USER")
EMAIL_HOST_PASSWORD = env.read_secret("EMAIL_PASSWORD")
_email_tls = env.read_choice("EMAIL_TLS", "STARTTLS", ("STARTTLS", "TLS", "NO"))
EMAIL_USE_TLS, EMAIL_USE_SSL = _email_tls == "STARTTLS", _email_tls == "TLS"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.read_sender(
    "DEFAULT_FROM_EMAIL", "" if EMAIL_HOST else "Counterfoil <counterfoil@localhost>"
)
ALERT_EMAILS = env.read_addresses("ALERT_EMAILS")
ALERT_URL = env.read_secret_url("ALERT_URL")
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"

# Timing of the engine; the documented defaults, all scaled by tests
POLL_EVERY = timedelta(seconds=env.read_seconds("POLL_EVERY", 3))
SLOW_POLL_EVERY = timedelta(seconds=env.read_seconds("SLOW_POLL_EVERY", 30))
CALL_DEADLINE = timedelta(seconds=env.read_seconds("CALL_DEADLINE", 15 * 60))
SEND_WITHIN = timedelta(seconds=env.read_seconds("SEND_WITHIN", 10))
CONNECT_TIMEOUT = env.read_seconds("CONNECT_TIMEOUT", 5, most=86400)
READ_TIMEOUT = env.read_seconds("READ_TIMEOUT", 30, most=86400)
SUBMIT_TIMEOUT = env.read_seconds("SUBMIT_TIMEOUT", 60, most=86400)
POLL_TIMEOUT = env.read_seconds("POLL_TIMEOUT", 15, most=86400)
FETCH_TIMEOUT = env.read_seconds("FETCH_TIMEOUT", 120, most=86400)
FETCH_MAX_BYTES = env.read_int("FETCH_MAX_BYTES", 40 * 2**20, least=1024)
NO_OUTPUT_WAIT = timedelta(seconds=env.read_seconds("NO_OUTPUT_WAIT", 120))
RESULT_RETENTION = timedelta(seconds=env.read_seconds("RESULT_RETENTION", 7 * 86400))
LOST_RETENTION = timedelta(seconds=env.read_seconds("LOST_RETENTION", 86400))
EVENTS_KEPT = timedelta(seconds=env.read_seconds("EVENTS_KEPT", 90 * 86400, least=86400))
FAILURES_KEPT = timedelta(seconds=env.read_seconds("FAILURES_KEPT", 30 * 86400, least=3600))
# Pages tell of the last thirty days.
CALLS_KEPT = timedelta(seconds=env.read_seconds("CALLS_KEPT", 365 * 86400, least=31 * 86400))
VISITOR_PICTURES_KEPT = env.read_lag("VISITOR_PICTURES_KEPT")
POOL_WAIT = timedelta(seconds=env.read_seconds("POOL_WAIT", 240))
ERROR_PAUSE = timedelta(seconds=env.read_seconds("ERROR_PAUSE", 30))
EXHAUSTED_PAUSE = timedelta(seconds=env.read_seconds("EXHAUSTED_PAUSE", 600, most=26 * 3600))
LEASE_LASTS = timedelta(seconds=env.read_seconds("LEASE_LASTS", 30, most=3600))
TICK_EVERY = env.read_seconds("TICK_EVERY", 0.25, most=10)
TICKER_LEASE_LASTS = timedelta(seconds=env.read_seconds("TICKER_LEASE_LASTS", 5, most=3600))
WAKE_AGAIN_AFTER = timedelta(seconds=env.read_seconds("WAKE_AGAIN_AFTER", 5, most=3600))
POLL_THREADS = env.read_int("POLL_THREADS", 64, least=1, most=512)
LIVE_STREAMS_A_PERSON = env.read_int("LIVE_STREAMS_A_PERSON", 2, least=1)
# A quarter of the connections that the server holds (config/supervisor/children.py), at most.
LIVE_STREAMS = env.read_int("LIVE_STREAMS", 2000, most=4096)
WORKERS = env.read_int("WORKERS", 5, least=1, most=256)
JOB_TIMEOUT = env.read_int("JOB_TIMEOUT", 18 * 60, least=10)
STOP_GRACE = env.read_seconds("STOP_GRACE", 60)
PROBE_EVERY = env.read_seconds("PROBE_EVERY", 2, most=3600)
PROBE_TIMEOUT = env.read_seconds("PROBE_TIMEOUT", 8, most=3600)

# Providers: a named account each. The sandbox is a provider like any other.
POLZA_API_KEY = env.read_secret("POLZA_API_KEY")
POLZA_BASE_URL = env.read_base_url("POLZA_BASE_URL", "https://polza.ai/api")
SANDBOX_HOST = "127.0.0.1"
SANDBOX_PORT = env.read_int(
    "SANDBOX_PORT", PORT + 1 if PORT < 65535 else PORT - 1, least=1, most=65535
)
SANDBOX_CERTFILE = env.read_file("SANDBOX_CERTFILE")
SANDBOX_KEYFILE = env.read_file("SANDBOX_KEYFILE")
_scheme = "https" if SANDBOX_CERTFILE else "http"
SANDBOX_URL = env.read_base_url("SANDBOX_URL", f"{_scheme}://{SANDBOX_HOST}:{SANDBOX_PORT}")
SANDBOX_SECONDS = env.read_seconds("SANDBOX_SECONDS", 4)
SANDBOX_MINUTE = env.read_seconds("SANDBOX_MINUTE", 60)
SANDBOX_HOOKS = env.read_choice("SANDBOX_HOOKS", "HINT", ("HINT", "STANDARD", "ED25519"))
# Known to the site and to its sandbox, in whatever processes they run.
_secret = salted_hmac("sandbox", "webhooks", secret=SECRET_KEY, algorithm="sha256").digest()
SANDBOX_HOOK_SECRET = f"whsec_{b64encode(_secret).decode()}"
PROVIDER_CA_BUNDLE = env.read_file("PROVIDER_CA_BUNDLE")
RESULT_ORIGINS = env.read_origins("RESULT_ORIGINS")
SMOKE_DAILY = env.read_bool("SMOKE_DAILY", False)
HTTP_ERRORS_REJECT = env.read_bool("HTTP_ERRORS_REJECT", False)
IMAGE_MODELS = env.read_models(
    "IMAGE_MODELS",
    "polza:google/gemini-2.5-flash-image" if POLZA_API_KEY else "sandbox:test-picture",
)
IMAGE_FALLBACK = env.read_models("IMAGE_FALLBACK")
FALLBACK_AFTER_BILLED = env.read_bool("FALLBACK_AFTER_BILLED", False)
IMAGE_PRICES = env.read_prices(
    "IMAGE_PRICES", "polza:google/gemini-2.5-flash-image=5.00 RUB,sandbox:test-picture=5.00 RUB"
)
PROVIDER_ACCOUNTS = {
    "polza": ProviderAccount(
        name="polza",
        adapter="polza",
        base_url=POLZA_BASE_URL,
        key=POLZA_API_KEY,
        key_exclusive=env.read_bool("POLZA_KEY_EXCLUSIVE", False),
        list_lag=env.read_lag("POLZA_LIST_LAG"),
        daily_cap=env.read_money("POLZA_DAILY_CAP"),
    ),
    "sandbox": ProviderAccount(
        name="sandbox",
        adapter="sandbox",
        base_url=SANDBOX_URL,
        key="sandbox",
        key_exclusive=env.read_bool("SANDBOX_KEY_EXCLUSIVE", False),
        list_lag=env.read_lag("SANDBOX_LIST_LAG"),
        daily_cap=env.read_money("SANDBOX_DAILY_CAP"),
    ),
}
MORE_PROVIDERS = env.read_words("MORE_PROVIDERS")
PROVIDER_ACCOUNTS |= read_more(MORE_PROVIDERS, PROVIDER_ACCOUNTS)
ALLOWANCES = env.read_allowances(
    "ALLOWANCES", counted=("mail", *PROVIDER_ACCOUNTS), stored=("storage", "database")
)

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
    "jobs.people.session_cache.recognition",
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


# 60 s in workers (0 makes the queue reconnect at every poll); the web process sets 0, since a
# thread of its own serves each request there.
CONN_MAX_AGE = env.read_int("CONN_MAX_AGE", 60)
# The web process alone has a pool: a thousand people who come at once, after a restart say, share
# these connections instead of asking the server for a thousand.
DATABASE_POOL = env.read_int("DATABASE_POOL", 0, most=1000)


def _database() -> dict:
    if not DATABASE_URL:
        return {**SQLITE, "CONN_MAX_AGE": CONN_MAX_AGE}
    try:
        database = dj_database_url.parse(DATABASE_URL)
    except ValueError as exc:
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {type(exc).__name__}") from None
    if database["NAME"] in ("", ":memory:"):
        raise ImproperlyConfigured("DATABASE_URL names no database that several processes share")
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

# What was measured to work, and why each stands so, is in docs/adr/0005-queue.md.
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
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
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

LOG_LEVEL = env.read_choice(
    "LOG_LEVEL", "WARNING", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
)
LOGGING = logs.configure(LOG_LEVEL)
DEFAULT_EXCEPTION_REPORTER = "config.debug_pages.Reporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "config.debug_pages.Filter"
