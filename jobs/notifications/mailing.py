"""Handing one e-mail to the mail server, what is known of it then, and when it is tried again."""

import logging
from contextlib import suppress
from datetime import datetime, timedelta
from email.utils import parseaddr
from enum import Enum
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

log = logging.getLogger(__name__)

DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 30, 120, 480))


class DeliveryResult(Enum):
    POSTED = "accepted, or perhaps accepted"
    REFUSED = "this message was not accepted"
    UNREACHABLE = "the server was not reached"


def post(message: EmailMessage, about: str) -> DeliveryResult:
    """`about` is what the log may say of it. Call outside of any transaction."""
    server = get_connection()
    try:
        server.open()
    except (OSError, SMTPException) as exc:
        log.warning("The mail server was not reached: %s", type(exc).__name__)
        return DeliveryResult.UNREACHABLE
    try:
        server.send_messages([message])
    except (SMTPResponseException, SMTPRecipientsRefused, ValueError) as exc:
        # A ValueError is an address or header that cannot be written: nothing was sent.
        log.warning("The mail about %s was refused: %s", about, type(exc).__name__)
        return DeliveryResult.REFUSED
    except (OSError, SMTPException) as exc:
        log.warning("The mail about %s may be lost: %s", about, type(exc).__name__)
    finally:
        with suppress(OSError, SMTPException):
            server.close()
    return DeliveryResult.POSTED


def again_at(tries: int, now: datetime) -> datetime | None:
    """When to send what did not arrive, tried again so many times before; None for no more."""
    return now + DELAYS[tries] if tries < len(DELAYS) else None


def headers(name: str) -> dict[str, str]:
    """Of a machine's mail. A second copy would have the same id."""
    site = urlsplit(settings.PUBLIC_URL).hostname
    site = f"[IPv6:{site}]" if site and ":" in site else site
    domain = site or parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2]
    return {"Auto-Submitted": "auto-generated", "Message-ID": f"<{name}@{domain}>"}
