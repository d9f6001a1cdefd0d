"""What a client asks for, checked; a bad request is a Refusal in Polza's error shape."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from typing import TypeVar

from providers.sandbox.drawing import ASPECT_RATIOS
from providers.sandbox.faults import Fault, find_fault

MAX_PROMPT = 20_000
PAGE_LIMIT = 100
WRONG_KEY = "wrong-key"
STATUSES = ("completed", "failed", "pending")

T = TypeVar("T")


class Refusal(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass(frozen=True, slots=True)
class Order:
    work: str
    fault: Fault
    key_digest: str
    model: str
    prompt: str
    aspect_ratio: str
    is_async: bool
    callback_url: str


@dataclass(frozen=True, slots=True)
class HistoryPage:
    page: int
    limit: int
    since: float
    until: float
    request_type: str
    status: str
    sort_by: str
    descending: bool


def read_key_digest(headers: Message) -> str:
    """Any key will do but the one that is wrong; what stays of it is a digest."""
    scheme, _, key = headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or key.strip() in ("", WRONG_KEY):
        raise Refusal(401, "UNAUTHORIZED", "Недействительный ключ API")
    return hashlib.sha256(key.strip().encode("utf-8", "surrogateescape")).hexdigest()


def read_order(headers: Message, body: bytes) -> Order:
    key_digest = read_key_digest(headers)
    asked = _read_json(body)
    prompt = _read_prompt(asked)
    model = asked.get("model")
    if not isinstance(model, str) or not model:
        raise Refusal(400, "BAD_REQUEST", "Поле model обязательно")
    aspect_ratio = asked["input"].get("aspect_ratio", "1:1")
    if aspect_ratio not in ASPECT_RATIOS or not _is_text(model):
        raise Refusal(422, "VALIDATION_ERROR", "Недопустимое значение aspect_ratio или model")
    return Order(
        work=headers.get("X-Sandbox-Work", ""),
        fault=_read_fault(headers.get("X-Sandbox-Fault", "ok")),
        key_digest=key_digest,
        model=model,
        prompt=prompt,
        aspect_ratio=aspect_ratio,
        is_async=asked.get("async") is True,
        callback_url=_read_callback(asked),
    )


def model_asked_for(body: bytes) -> str:
    """Of any request, also of one that is refused; the empty string where none can be read."""
    try:
        model = json.loads(body)["model"]
    except (ValueError, KeyError, TypeError):
        return ""
    return model if isinstance(model, str) and _is_text(model) else ""


def _read_callback(asked: dict) -> str:
    url = asked["input"].get("callBackUrl", "")
    if not isinstance(url, str) or not _is_text(url):
        raise Refusal(422, "VALIDATION_ERROR", "Недопустимое значение input.callBackUrl")
    return url


def _read_fault(name: str) -> Fault:
    try:
        return find_fault(name)
    except KeyError:
        raise Refusal(400, "BAD_REQUEST", f"Неизвестная неисправность {name}") from None


def _read_json(body: bytes) -> dict:
    try:
        asked = json.loads(body)
    except ValueError:
        raise Refusal(400, "BAD_REQUEST", "Тело запроса не является JSON") from None
    if not isinstance(asked, dict) or not isinstance(asked.get("input"), dict):
        raise Refusal(400, "BAD_REQUEST", "Поле input обязательно")
    return asked


def _read_prompt(asked: dict) -> str:
    prompt = asked["input"].get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        raise Refusal(400, "BAD_REQUEST", "Поле input.prompt обязательно")
    if len(prompt) > MAX_PROMPT or not _is_text(prompt):
        raise Refusal(422, "VALIDATION_ERROR", "Недопустимое значение input.prompt")
    return prompt


def read_history_page(query: dict[str, str]) -> HistoryPage:
    page = HistoryPage(
        page=_read(int, query.get("page", "1"), "page"),
        limit=_read(int, query.get("limit", "50"), "limit"),
        since=_read(_instant, query.get("dateFrom", "1970-01-01T00:00:00Z"), "dateFrom"),
        until=_read(_instant, query.get("dateTo", "9000-01-01T00:00:00Z"), "dateTo"),
        request_type=query.get("requestType", "image"),
        status=query.get("status", ""),
        sort_by=query.get("sortBy", "createdAt"),
        descending=query.get("sortOrder", "desc") == "desc",
    )
    if page.page < 1 or not 1 <= page.limit <= PAGE_LIMIT:
        raise Refusal(400, "BAD_REQUEST", "Недопустимое значение page или limit")
    if page.status not in ("", *STATUSES) or page.sort_by not in ("createdAt", "cost"):
        raise Refusal(400, "BAD_REQUEST", "Недопустимое значение status или sortBy")
    if query.get("sortOrder", "desc") not in ("asc", "desc"):
        raise Refusal(400, "BAD_REQUEST", "Недопустимое значение sortOrder")
    return page


def _read(reader: Callable[[str], T], value: str, name: str) -> T:
    try:
        return reader(value)
    except ValueError:
        raise Refusal(400, "BAD_REQUEST", f"Недопустимое значение {name}") from None


def _instant(value: str) -> float:
    instant = datetime.fromisoformat(value)
    return instant.replace(tzinfo=instant.tzinfo or UTC).timestamp()


def _is_text(value: str) -> bool:
    """Lone surrogates can come out of JSON but go into no file."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
