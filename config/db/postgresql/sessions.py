"""Which errors end a session, and the parameters that every session of the site runs with."""

import time

import psycopg

READ_ONLY = "25006"
CANCELED = "57014"
# Connection exceptions, and shutdowns or terminations by an operator (57P01 to 57P05).
ENDING_CLASSES = ("08", "57")

# Other defaults of a role or database would break the site or lose the row of a paid call.
PARAMETERS = {
    "default_transaction_isolation": "read committed",
    "default_transaction_deferrable": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "standard_conforming_strings": "on",
    # A committed call row must survive a crash. Settings stronger than `on` stay.
    "synchronous_commit": "on",
}
# Behind a pooler, our session is not a server session, so settings would not stay with it.
SET_PARAMETERS = """
    SELECT set_config(name, value, false)
    FROM (VALUES {}) AS ours (name, value)
    WHERE pg_backend_pid() = %s
    AND (name <> 'synchronous_commit' OR current_setting(name) = 'off')
"""


def ends_session(error: BaseException | None) -> bool:
    """True if the session is useless after this error, even if it still responds."""
    if not isinstance(error, psycopg.Error):
        return False
    state = error.sqlstate or ""
    if state == CANCELED:
        return False
    is_fatal = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
    return is_fatal or state == READ_ONLY or state.startswith(ENDING_CLASSES)


def configure(connection: psycopg.Connection) -> None:
    """Set our parameters in a new session, in one round trip."""
    connection.opened_at = time.monotonic()  # type: ignore[attr-defined]
    connection.was_used = False  # type: ignore[attr-defined]
    rows = ", ".join(["(%s, %s)"] * len(PARAMETERS))
    values = [text for pair in PARAMETERS.items() for text in pair]
    connection.execute(SET_PARAMETERS.format(rows), [*values, connection.info.backend_pid])


def is_pooled(connection: psycopg.Connection) -> bool:
    """True behind a pooler such as PgBouncer: the handshake has the process id of the pooler."""
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return row is not None and row[0] != connection.info.backend_pid
