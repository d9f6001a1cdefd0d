"""Log lines without user input. A database error contains the failing row, prompt included, so a
traceback shows the classes of its exceptions and not their messages. Tokens in webhook URLs, which
Django logs on a 404, are removed. A flood of refused requests does not flood the log, although
Django logs a line or a traceback for each."""

import logging
import re
import traceback
from collections.abc import Iterator
from threading import Lock

from django.db.utils import InterfaceError, OperationalError

from config.db.postgresql.sessions import ends_session

REFUSALS_A_MINUTE = 60
HOOK = re.compile(r"(/hooks/+[^/\s]*)/\S+")
# The password, path and query of a URL may be secret; its host is enough for a log.
SCHEME = r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://)"
ADDRESS = re.compile(SCHEME + r"""(?:[^\s/?#"']*@)?([^\s/?#"'@]+)[/?#][^\s"']*""")
PASSWORD = re.compile(SCHEME + r"""[^\s/?#"']*@""")
QUERY = re.compile(r"""("[A-Z]+ [^\s"?]*)\?[^\s"]*""")
OURS = ("config", "jobs", "providers", "quotas")


def configure(level: str) -> dict:
    """`level` applies to our own loggers. Third-party loggers stay at WARNING, because below it
    they log requests, SQL and arguments. urllib3 logs whole URLs even in warnings."""
    of_others = level if level in ("ERROR", "CRITICAL") else "WARNING"
    console: dict = {"handlers": ["console"], "level": of_others}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": "config.logs.Formatter",
                "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
            }
        },
        "filters": {"few_refusals": {"()": "config.logs.FewRefusals"}},
        "handlers": {
            "console": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["few_refusals"],
            }
        },
        "loggers": {
            **{name: {"level": level} for name in OURS},
            # Django's own handler for DEBUG has another formatter.
            "django": {"level": of_others, "handlers": []},
            "django.server": {"level": of_others, "handlers": []},
            "urllib3": {"level": "CRITICAL"},
        },
        "root": console,
    }


class Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = HOOK.sub(r"\1/…", super().format(record))
        line = PASSWORD.sub(r"\1", ADDRESS.sub(r"\1\2/…", line))
        return QUERY.sub(r"\1?…", line)

    def formatException(self, ei) -> str:
        return "\n".join(_lines(ei[1]))


def _lines(error: BaseException | None) -> Iterator[str]:
    """From the first exception of the chain to the last, as Python prints them."""
    if error is None:
        return
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier:
        yield from _lines(earlier)
        yield "then:"
    yield from (line.rstrip() for line in traceback.format_tb(error.__traceback__))
    yield f"{type(error).__module__}.{type(error).__qualname__}"


class FewRefusals(logging.Filter):
    """Of requests that were refused (4xx, or 503 in an outage) so many lines a minute, each without
    a traceback; the next one says how many had none. Ours are all logged, and so is whatever
    broke."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()
        self._minute = self._written = self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        # An unreachable database raises the same error everywhere, so a traceback adds nothing.
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, (OperationalError, InterfaceError)) or ends_session(
            error and error.__cause__
        ):
            record.msg = f"{record.getMessage()} ({type(error).__name__})"
            record.args = None
            record.exc_info = None
        status = getattr(record, "status_code", 0)
        # The pool writes a line for each attempt to connect, and for each session it replaces.
        if not (400 <= status < 500 or status == 503 or record.name == "psycopg.pool"):
            return True
        record.exc_info = None
        with self._lock:
            return self._has_room(record)

    def _has_room(self, record: logging.LogRecord) -> bool:
        minute = int(record.created // 60)
        if minute != self._minute:
            self._minute, self._written = minute, 0
        if self._written == REFUSALS_A_MINUTE:
            self._left_out += 1
            return False
        self._written += 1
        if self._left_out:
            record.msg = f"{record.msg} ({self._left_out} more were refused without a line)"
            self._left_out = 0
        return True
