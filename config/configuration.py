"""Settings that an operator changes, read from the environment and `.env`.

Each call defines one setting: name, type, default and description. `make docs` writes
docs/configuration.md and .env.example from these definitions.
"""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config import data_dir, env
from config.env import Help, accounts

BASE_DIR = Path(__file__).resolve().parent.parent
env.load_dotenv(BASE_DIR / ".env")

with env.group("Site"):
    PUBLIC_URL = env.read_site_url(
        "PUBLIC_URL",
        Help(
            "Address that people and providers use: allowed host, origin of forms, target of"
            " webhooks and, with https, secure cookies.",
            example="https://pictures.example.org",
        ),
    )
    PROXIES_ARE_SAID = bool(env.read_str("TRUSTED_PROXIES"))
    TRUSTED_PROXIES = env.read_int(
        "TRUSTED_PROXIES",
        0,
        "Number of your own proxies in front of the site. The client is that entry of"
        " `X-Forwarded-For`, counted from the right.",
        most=10,
    )
    HOST = env.read_host(
        "HOST",
        "127.0.0.1",
        "Address that the web process listens on. `0.0.0.0` is every address of the machine.",
    )
    PORT = env.read_int("PORT", 8000, "Port of the web process.", least=1, most=65535)
    DATA_DIR = data_dir.prepare(
        Path(
            env.read_str(
                "DATA_DIR",
                str(BASE_DIR / "data"),
                Help(
                    "Folder of the database, pictures, static files and the secret key. Created"
                    " with mode 0700.",
                    default="data",
                ),
            )
        )
    )
    SECRET_KEY = data_dir.check_secret_key(
        env.read_secret(
            "SECRET_KEY",
            "Signs cookies; at least 32 characters. Empty: a key is created on the first start and"
            " kept in `DATA_DIR`.",
        )
    ) or data_dir.read_or_make_secret_key(DATA_DIR)
    LOG_LEVEL = env.read_choice(
        "LOG_LEVEL",
        "WARNING",
        ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
        "Lowest level that the site's own loggers print. Libraries stay at `WARNING`.",
    )
    DEBUG = env.read_bool(
        "DEBUG", False, "Show Django's error pages. Refused with a public `PUBLIC_URL`."
    )

with env.group("Database, queue and processes"):
    DATABASE_URL = env.read_secret(
        "DATABASE_URL",
        "`postgres://user:password@host/name` or `sqlite:////path`. Empty: a SQLite file in"
        " `DATA_DIR`.",
        type="URL",
    )
    CONN_MAX_AGE = env.read_int(
        "CONN_MAX_AGE",
        60,
        "How long workers keep a database connection, in seconds. The web process keeps none.",
    )
    # Only the web process has a pool: a thousand people who come at once, after a restart for
    # example, share these connections instead of opening a thousand.
    DATABASE_POOL = env.read_int(
        "DATABASE_POOL",
        0,
        "PostgreSQL connections that a process shares among its threads. The web process uses 20"
        " if this is 0. Workers need none.",
        most=1000,
    )
    REDIS_URL = env.read_redis_url(
        "REDIS_URL",
        "`redis://host:6379/0` for queue and cache. Empty: the queue is in the database.",
    )
    WORKERS = env.read_int(
        "WORKERS", 5, "Worker processes of this machine's cluster.", least=1, most=256
    )
    STOP_GRACE = env.read_seconds(
        "STOP_GRACE", 60, "How long a stop waits for paid requests to finish."
    )
    # A quarter of the connections that the server holds (config/supervisor/children.py), at most.
    LIVE_STREAMS = env.read_int(
        "LIVE_STREAMS",
        2000,
        "Live pages that one web process keeps open. Further pages poll.",
        most=4096,
    )
    LIVE_STREAMS_A_PERSON = env.read_int(
        "LIVE_STREAMS_A_PERSON",
        2,
        "Live pages that one person may have open. The newest win, the others poll.",
        least=1,
    )

with env.group("Visitors and rate limits"):
    NEW_VISITORS_A_DAY = env.read_int(
        "NEW_VISITORS_A_DAY",
        30,
        "New visitors without an account per network (an IPv4 address or an IPv6 /64) and UTC day."
        " 0 admits none.",
        most=10**6,
    )
    RATE_LIMITS = env.read_choice(
        "RATE_LIMITS",
        "REDIS" if REDIS_URL else "MEMORY",
        ("MEMORY", "REDIS", "OFF"),
        Help(
            "Where requests are counted: in each web process, or in Redis (the default with"
            " `REDIS_URL`). See [limits](limits.md).",
            default="MEMORY",
        ),
    )
    if RATE_LIMITS == "REDIS" and not REDIS_URL:
        raise ImproperlyConfigured("RATE_LIMITS is REDIS, but REDIS_URL is not set")
    VISITOR_PICTURES_KEPT = env.read_lag(
        "VISITOR_PICTURES_KEPT",
        "How long pictures of visitors without an account are kept. Empty: forever.",
    )

with env.group("Email and alerts"):
    EMAIL_HOST = env.read_host("EMAIL_HOST", help="Mail server. Empty: mail is printed.")
    EMAIL_PORT = env.read_int("EMAIL_PORT", 587, "Port of the mail server.", least=1, most=65535)
    EMAIL_HOST_USER = env.read_str("EMAIL_USER", help="Account on the mail server.")
    EMAIL_HOST_PASSWORD = env.read_secret("EMAIL_PASSWORD", "Password of that account.")
    EMAIL_TLS = env.read_choice(
        "EMAIL_TLS",
        "STARTTLS",
        ("STARTTLS", "TLS", "NO"),
        "`TLS` encrypts from the first byte (port 465).",
    )
    DEFAULT_FROM_EMAIL = env.read_sender(
        "DEFAULT_FROM_EMAIL",
        "" if EMAIL_HOST else "Counterfoil <counterfoil@localhost>",
        Help(
            "Sender of mail. Required with `EMAIL_HOST`.",
            default="Counterfoil <counterfoil@localhost>",
        ),
    )
    ALERT_EMAILS = env.read_addresses("ALERT_EMAILS", "Recipients of alerts, one mail per alert.")
    ALERT_URL = env.read_secret_url("ALERT_URL", "URL that each alert is sent to, as JSON by POST.")

with env.group("Providers"):
    SANDBOX_HOST = "127.0.0.1"
    SANDBOX_PORT = env.read_int(
        "SANDBOX_PORT",
        PORT + 1 if PORT < 65535 else PORT - 1,
        Help("Port of the sandbox, the local test provider.", default="PORT + 1", example="8001"),
        least=1,
        most=65535,
    )
    SANDBOX_URL = env.read_base_url(
        "SANDBOX_URL",
        f"http://{SANDBOX_HOST}:{SANDBOX_PORT}",
        Help("URL of the sandbox.", default="http://127.0.0.1:8001"),
    )
    PROVIDER_ACCOUNTS = accounts.read_accounts(SANDBOX_URL)
    MORE_PROVIDERS = env.read_words(
        "MORE_PROVIDERS",
        help="Further accounts as `name=polza` or `name=sandbox`. Each has the settings"
        " `NAME_API_KEY`, `NAME_BASE_URL`, `NAME_KEY_EXCLUSIVE`, `NAME_LIST_LAG` and"
        " `NAME_DAILY_CAP`.",
    )
    PROVIDER_ACCOUNTS |= accounts.read_more(MORE_PROVIDERS, PROVIDER_ACCOUNTS)
    IMAGE_MODELS = env.read_models(
        "IMAGE_MODELS",
        accounts.find_default_models(PROVIDER_ACCOUNTS),
        Help(
            "Models that are offered; the first is the default. With the key of a provider, the"
            " default is that provider's model.",
            default="sandbox:test-picture",
        ),
    )
    IMAGE_FALLBACK = env.read_models(
        "IMAGE_FALLBACK",
        help="Models to try next, in this order, after one that did not execute the request."
        " Empty: none.",
    )
    FALLBACK_AFTER_BILLED = env.read_bool(
        "FALLBACK_AFTER_BILLED",
        False,
        "Try the next model also after a failure that was, or may have been, billed.",
    )
    IMAGE_PRICES = env.read_prices(
        "IMAGE_PRICES",
        accounts.list_default_prices(),
        "Expected price of one picture per model, with up to eight decimal places. `free` or `0`:"
        " the model costs nothing.",
    )
    ALLOWANCES = env.read_allowances(
        "ALLOWANCES",
        "Limits that other services meter, such as"
        " `polza=1000/day,mail=9000/month,storage=5 GB,database=1 GB`. Staff get an alert at 50, 80"
        " and 100 %.",
        counted=("mail", *PROVIDER_ACCOUNTS),
        stored=("storage", "database"),
    )
    SMOKE_DAILY = env.read_bool(
        "SMOKE_DAILY", False, "Request one real picture from each provider every day, as a test."
    )
    HTTP_ERRORS_REJECT = env.read_bool(
        "HTTP_ERRORS_REJECT",
        False,
        "Treat every 4xx and 5xx as a refusal. See"
        " [ADR 3](adr/0003-a-get-proves-nothing.md#what-a-reply-to-a-submit-proves).",
    )
    RESULT_ORIGINS = env.read_origins(
        "RESULT_ORIGINS",
        "Private or http origins that may serve results, such as `http://10.0.0.7:9000`.",
    )
    PROVIDER_CA_BUNDLE = env.read_file(
        "PROVIDER_CA_BUNDLE", "PEM file of certificates to trust instead of the system's."
    )
    FETCH_MAX_BYTES = env.read_int(
        "FETCH_MAX_BYTES", 40 * 2**20, "Largest picture that is downloaded, in bytes.", least=1024
    )

with env.group("Timing and retention"):
    POLL_EVERY = env.read_duration("POLL_EVERY", 3, "How often a running generation is polled.")
    POOL_WAIT = env.read_duration(
        "POOL_WAIT", 240, "How long a picture waits for a busy provider (429)."
    )
    CALL_DEADLINE = env.read_duration(
        "CALL_DEADLINE",
        15 * 60,
        "A call without an outcome is in doubt after this and is polled less often.",
    )
    LOST_RETENTION = env.read_duration(
        "LOST_RETENTION", 86400, "How long a lost request without an id stays in doubt."
    )
    EVENTS_KEPT = env.read_duration(
        "EVENTS_KEPT",
        90 * 86400,
        "How long closed alerts, ended smoke tests and webhooks of ended calls are kept.",
        least=86400,
    )
    # Pages show the last thirty days.
    CALLS_KEPT = env.read_duration(
        "CALLS_KEPT",
        365 * 86400,
        "How long past grants and the history of the admin are kept.",
        least=31 * 86400,
    )
    FAILURES_KEPT = env.read_duration(
        "FAILURES_KEPT",
        30 * 86400,
        "How long failed tasks of the queue are kept.",
        least=3600,
    )
