"""System checks with stable ids: what can be wrong with a set-up that still starts."""

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.db import connection


@register()
def check_timing(**kwargs: object) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    if settings.SUBMIT_TIMEOUT >= settings.JOB_TIMEOUT:
        found.append(
            Error(
                "SUBMIT_TIMEOUT must be shorter than JOB_TIMEOUT.",
                hint="The queue would end a worker in the middle of a paid request.",
                id="counterfoil.E001",
            )
        )
    if settings.CALL_DEADLINE > settings.LOST_RETENTION:
        found.append(
            Error(
                "LOST_RETENTION must not be shorter than CALL_DEADLINE.",
                hint="A call would be given up before it counts as in doubt.",
                id="counterfoil.E002",
            )
        )
    return found


@register()
def check_database(**kwargs: object) -> list[CheckMessage]:
    if connection.vendor == "sqlite":
        mode = settings.DATABASES["default"].get("OPTIONS", {}).get("transaction_mode")
        if mode != "IMMEDIATE":
            return [
                Error(
                    "SQLite must run with transaction_mode IMMEDIATE.",
                    hint="Deferred transactions fail with 'database is locked' under load.",
                    id="counterfoil.E003",
                )
            ]
    return []


@register(deploy=True)
def check_public_url(**kwargs: object) -> list[CheckMessage]:
    if not settings.PUBLIC_URL:
        return [
            Warning(
                "PUBLIC_URL is not set.",
                hint="Set it to the address people use, so that forms and cookies work there.",
                id="counterfoil.W001",
            )
        ]
    return []
