"""System checks of settings that are found out only when they are used: files of certificates, the
address of Redis, and mail."""

import ssl

import redis
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

PEM = "It must be a file of PEM blocks."


@register()
def check_certificates(**kwargs: object) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    if settings.PROVIDER_CA_BUNDLE:
        try:
            ssl.create_default_context(cafile=settings.PROVIDER_CA_BUNDLE)
        except (OSError, ValueError):
            message = "PROVIDER_CA_BUNDLE holds no certificates."
            found.append(Error(message, PEM, id="counterfoil.E014"))
    return found


@register()
def check_redis_url(**kwargs: object) -> list[CheckMessage]:
    """Its client finds an unknown option only when it connects."""
    if settings.REDIS_URL:
        try:
            redis.ConnectionPool.from_url(settings.REDIS_URL).make_connection()
        except (TypeError, ValueError, redis.RedisError):
            message = "REDIS_URL has an option that its client does not know."
            return [Error(message, id="counterfoil.E016")]
    return []


@register()
def check_mail(**kwargs: object) -> list[CheckMessage]:
    if bool(settings.EMAIL_HOST_USER) == bool(settings.EMAIL_HOST_PASSWORD):
        return []
    return [
        Error(
            "EMAIL_USER and EMAIL_PASSWORD go together.",
            hint="With only one of them, mail is sent without signing in.",
            id="counterfoil.E017",
        )
    ]
