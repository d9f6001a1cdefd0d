"""System checks with stable ids: what can be wrong with a set-up that still starts."""

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.db import connection

from providers import registry


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
    for name in ("LOST_RETENTION", "RESULT_RETENTION"):
        if getattr(settings, name) < settings.CALL_DEADLINE:
            found.append(
                Error(
                    f"{name} must not be shorter than CALL_DEADLINE.",
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


@register()
def check_providers(**kwargs: object) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    for offer in registry.offers():
        if offer.provider not in registry.ADAPTERS or not offer.model:
            known = ", ".join(registry.known_names())
            found.append(
                Error(
                    f"IMAGE_MODELS names {str(offer)!r}, which is no provider:model pair.",
                    hint=f"Known providers: {known}.",
                    id="counterfoil.E004",
                )
            )
    if any(offer.provider == "polza" for offer in registry.offers()) and not settings.POLZA_API_KEY:
        found.append(
            Error(
                "IMAGE_MODELS names polza, but POLZA_API_KEY is not set.",
                hint="Set the key, or leave IMAGE_MODELS out to use the sandbox.",
                id="counterfoil.E005",
            )
        )
    if not (settings.POLZA_API_KEY.isascii() and settings.POLZA_API_KEY.isprintable()):
        found.append(
            Error("POLZA_API_KEY has characters that no header carries.", id="counterfoil.E007")
        )
    if bool(settings.SANDBOX_CERTFILE) != bool(settings.SANDBOX_KEYFILE):
        found.append(
            Error("SANDBOX_CERTFILE and SANDBOX_KEYFILE go together.", id="counterfoil.E008")
        )
    if not registry.offers():
        found.append(Error("IMAGE_MODELS names no model.", id="counterfoil.E006"))
    return found
