"""Connection options for PostgreSQL. Options in DATABASE_URL take precedence, except for those that
the site depends on."""

from django.core.exceptions import ImproperlyConfigured
from psycopg import IsolationLevel, pq

LIBPQ_OPTIONS = frozenset(option.keyword.decode() for option in pq.Conninfo.get_defaults())

# A host that lost power sends no reset. Without these options a statement waits for minutes.
NETWORK = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


def postgresql(database: dict, *, pool_size: int, max_age: int) -> dict:
    given = database.get("OPTIONS", {})
    # Django accepts its own options here, such as `pool`, and fails only when it connects.
    if unknown := sorted(set(given) - LIBPQ_OPTIONS):
        raise ImproperlyConfigured(f"DATABASE_URL: PostgreSQL has no option {unknown[0]!r}")
    options = {**NETWORK, **given}
    options["isolation_level"] = IsolationLevel.READ_COMMITTED
    found = {**database, "ENGINE": "config.db.postgresql", "OPTIONS": options}
    found["CONN_MAX_AGE"] = max_age
    # A pooler may give each transaction another session, but a cursor belongs to one session.
    found["DISABLE_SERVER_SIDE_CURSORS"] = True
    if pool_size:
        found["CONN_MAX_AGE"] = 0
        # Give up connecting soon, so that the next request tries at once instead of waiting for a
        # delay that doubled throughout an outage.
        options["pool"] = {
            "min_size": 1,
            "max_size": pool_size,
            "timeout": 10,
            "reconnect_timeout": 1,
        }
    return found
