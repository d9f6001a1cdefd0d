"""What `up` prints once the site answers: where it is, and what it is made of."""

import shlex
import socket
import sys
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection

from config.env import bracketed
from config.supervisor.children import runs_sandbox
from providers.adapters import registry

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
        "pictures": ", ".join(settings.IMAGE_MODELS) or "no model: set IMAGE_MODELS",
        "sandbox": sandbox_line(),
        "data": str(settings.DATA_DIR),
        "staff": staff_line(),
    }
    table = "\n".join(f"  {name:<9} {text}" for name, text in lines.items())
    return f"Counterfoil is at {addresses()}\n{table}\n  Ctrl-C ends it."


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
    if not runs_sandbox():
        return "off"
    if all(model.startswith("sandbox:") for model in settings.IMAGE_MODELS):
        why = "" if registry.has_key() else "no provider key is set: "
        return f"{settings.SANDBOX_URL} ({why}pictures are test pictures)"
    return settings.SANDBOX_URL


def staff_line() -> str:
    if get_user_model().objects.filter(is_staff=True, is_active=True).exists():
        return f"{addresses().split()[0]}/admin/"
    command = shlex.join([sys.executable, "manage.py", "createsuperuser"])
    return f"nobody yet; make someone with: {command}"
