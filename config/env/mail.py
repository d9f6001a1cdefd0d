"""Readers of addresses of mail."""

from email.utils import getaddresses

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from config.env.definitions import Help, define
from config.env.values import read_str, read_words, shown


def read_sender(name: str, default: str, help: str | Help = "") -> str:
    """`Name <name@host>` or the bare address: whom mail comes from."""
    define(name, "email address", default, help)
    value = read_str(name, default)
    addresses = getaddresses([value]) if value.isprintable() else []
    try:
        [(_, address)] = addresses
        validate_email(address)
    except (ValueError, ValidationError):
        raise ImproperlyConfigured(
            f"{name} must be an address such as Name <name@example.org>, not {shown(value)}"
        ) from None
    return value


def read_addresses(name: str, help: str | Help = "") -> list[str]:
    """`ops@example.org, ...`: bare addresses that mail goes to."""
    define(name, "list of email addresses", "", help)
    addresses = list(dict.fromkeys(read_words(name)))
    for address in addresses:
        try:
            validate_email(address)
        except ValidationError:
            raise ImproperlyConfigured(
                f"{name}: {shown(address)} is not an email address"
            ) from None
    return addresses
