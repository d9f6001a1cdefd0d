"""What `up` prints once the site answers: where it is, and what it is made of."""

import socket
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import run_checks
from django.db import connection

from config.checks.hints import SETUP, STAFF
from config.env import bracketed
from config.supervisor.children import runs_sandbox

ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "::1"}
# Without IPv6 names, localhost is only 127.0.0.1, so ::1 is printed as it is.
LOCAL_HOSTS = {"127.0.0.1", "localhost", *ANY_HOST}


def site_answers() -> bool:
    host = ANY_HOST.get(settings.HOST, settings.HOST)
    try:
        socket.create_connection((host, settings.PORT), timeout=1).close()
    except OSError:
        return False
    return True


def banner() -> str:
    lines = {
        "database": database_line(),
        "queue": queue_line(),
        "pictures": ", ".join(settings.IMAGE_MODELS) or "none",
        "sandbox": sandbox_line(),
        "data": str(settings.DATA_DIR),
        "staff": f"{addresses().split()[0]}/admin/",
    }
    table = [f"  {name:<9} {text}" for name, text in lines.items()]
    hints = run_checks(tags=[SETUP, STAFF], include_deployment_checks=True)
    listed = [f"  {hint.msg}" for hint in hints]
    return "\n".join(
        [f"Counterfoil is running at {addresses()}", *table, *listed, "  Press Ctrl-C to stop."]
    )


def addresses() -> str:
    host = "localhost" if settings.HOST in LOCAL_HOSTS else bracketed(settings.HOST)
    local = f"http://{host}:{settings.PORT}"
    return f"{local} and {settings.PUBLIC_URL}" if settings.PUBLIC_URL else local


def database_line() -> str:
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"SQLite, {database['NAME']}"
    return f"PostgreSQL, {database['NAME']} at {database['HOST'] or 'the local socket'}"


def queue_line() -> str:
    workers = f"{settings.WORKERS} workers"
    if not settings.REDIS_URL:
        return f"in the database, {workers}"
    return f"Redis at {urlsplit(settings.REDIS_URL).hostname}, {workers}"


def sandbox_line() -> str:
    return settings.SANDBOX_URL if runs_sandbox() else "off"
