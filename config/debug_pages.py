"""Django's DEBUG error pages without user input and secrets.

While DEBUG is on, Django masks only some settings, by name. Keys within objects, URLs with
passwords, prompts in forms, local variables and error messages would all show.
"""

import re
from collections.abc import ItemsView
from datetime import date, timedelta
from types import FrameType
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.views.debug import ExceptionReporter, SafeExceptionReporterFilter

# Their messages contain code names, not values.
SPEAKING_ERRORS = (AttributeError, ImportError, NameError, TypeError)
PLAIN = (bool, int, float, date, timedelta, UUID, type, type(None))
HEADERS = frozenset({"HTTP_HOST", "HTTP_USER_AGENT", "HTTP_ACCEPT", "HTTP_ORIGIN"})
OF_REQUEST = frozenset({"REQUEST_METHOD", "PATH_INFO", "CONTENT_TYPE", "CONTENT_LENGTH"})


class Masked:
    """Shows only the type of a value."""

    def __init__(self, value: object) -> None:
        self.name = type(value).__name__

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Filter(SafeExceptionReporterFilter):
    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}"
        "|ACCOUNT|CACHE|DATABASE|EMAIL|LOCATION|ORIGIN|Q_CLUSTER|REDIS|SALT|URL",
        re.I,
    )

    def is_active(self, request: HttpRequest | None) -> bool:
        return True

    def get_safe_request_meta(self, request: HttpRequest) -> dict[str, Any]:
        """The rest may include the environment with all its secrets."""
        meta = getattr(request, "META", {})
        return {name: meta[name] for name in meta if name in HEADERS | OF_REQUEST}

    def get_safe_cookies(self, request: HttpRequest) -> dict[str, Any]:
        cookies = getattr(request, "COOKIES", {})
        return dict.fromkeys(cookies, self.cleansed_substitute)

    def get_post_parameters(self, request: HttpRequest | None) -> dict[str, Any]:
        form = {} if request is None else request.POST
        return dict.fromkeys(form, self.cleansed_substitute)

    def get_traceback_frame_variables(
        self, request: HttpRequest, tb_frame: FrameType
    ) -> ItemsView[str, Any]:
        found = tb_frame.f_locals.items()
        shown = {name: v if type(v) in PLAIN else Masked(v) for name, v in found}
        return shown.items()


class Reporter(ExceptionReporter):
    def get_traceback_data(self) -> dict[str, Any]:
        data = super().get_traceback_data()
        data["exception_value"] = _text(self.exc_value)
        data["exception_notes"] = data["unicode_hint"] = ""
        for frame in data["frames"]:
            cause = frame.get("exc_cause")
            frame["exc_cause"] = cause and f"{type(cause).__name__}: {_text(cause)}"
        if data["template_info"]:
            data["template_info"] = {**data["template_info"], "message": _text(self.exc_value)}
        if self.request is not None:
            data["request_GET_items"] = [(name, "…") for name in self.request.GET]
            data["request_FILES_items"] = [(name, "…") for name in self.request.FILES]
            data["request_insecure_uri"] = self.request.path
        return data


def _text(error: BaseException | None) -> str:
    """Databases, parsers and clients repeat their input in error messages."""
    return str(error) if type(error) in SPEAKING_ERRORS else "(its text may hold what people wrote)"
