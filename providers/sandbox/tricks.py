"""How each fault looks on the wire, by the name it has in the table of faults.

A trick gets the connection and the honest answer, which it loses, spoils or replaces. Whether
the work was executed is not decided here: the fault table decides, and the bill has it already.
"""

import json
import time
from collections.abc import Callable

from providers.sandbox.answers import MUDDLED_POLLS, as_json, error
from providers.sandbox.bill import Generation
from providers.sandbox.faults import Fault
from providers.sandbox.framing import FRAMINGS
from providers.sandbox.wire import Line

Trick = Callable[[Line, bytes], None]

RUN_HEADER = "X-Generation-Id"
GATEWAY_PAGE = "<html><head><title>{0}</title></head><body><h1>{0}</h1><hr>nginx</body></html>"
WEB_PAGE = b"<!doctype html><title>Sign in</title><p>Please sign in to see this picture."
NO_SUCH_FILE = b"<Error><Code>NoSuchKey</Code></Error>"
UNAVAILABLE_FILE = b"<Error><Code>SlowDown</Code></Error>"
FORBIDDEN_FILE = b"<Error><Code>AccessDenied</Code></Error>"
POLL_AGAIN_AFTER = 2
ELSEWHERE = "http://127.0.0.1:1/elsewhere.png"


def submit_trick(fault: Fault, *, submits: int) -> Trick | None:
    if fault.name == "http_429_once" and submits > 1:
        return None
    return _SUBMIT_TRICKS.get(fault.name)


def is_executed(fault: Fault, *, submits: int) -> bool:
    is_put_off = fault.name == "http_429_once" and submits == 1
    return fault.executions > 0 and not is_put_off


def poll_trick(fault: Fault, *, poll: int) -> Trick | None:
    if fault.name == "poll_flaky" and poll % 2 == 0 and poll <= 2 * len(_NONSENSE):
        return _NONSENSE[poll // 2 - 1]
    if fault.name in _MUDDLED and poll <= MUDDLED_POLLS[fault.name]:
        return _MUDDLED[fault.name]
    return FRAMINGS.get(fault.name)


def is_about_another(fault: Fault, *, poll: int) -> bool:
    return fault.name == "wrong_id" and poll % 2 == 0 and poll <= MUDDLED_POLLS[fault.name]


def file_trick(generation: Generation, *, download: int, issued: int) -> Trick | None:
    """`issued` is when the address was, unix time in ns; 0 for one that does not say."""
    fault = generation.fault
    if fault.name == "result_cut" and download > 2:
        return None
    if fault.name == "url_expires":
        return _expire(generation, issued)
    return _FILE_TRICKS.get(fault.name)


def _expire(generation: Generation, issued: int) -> Trick | None:
    """The first fetch of all fails, and ends the life of every address issued until then."""
    if not generation.expired:
        generation.expired = time.time_ns()
        return _UNAVAILABLE_FILE
    return _file_error(403, FORBIDDEN_FILE) if issued <= generation.expired else None


def _refuses(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> Trick:
    return lambda line, _: line.reply(status, error(code, message), headers=headers)


def _shows_gateway_page(status: int, title: str) -> Trick:
    page = GATEWAY_PAGE.format(f"{status} {title}").encode()
    return lambda line, _: line.reply(status, page, "text/html")


def _file_error(status: int, body: bytes) -> Trick:
    return lambda line, _: line.reply(status, body, "application/xml")


def _redirects(status: int, place: str) -> Trick:
    return lambda line, _: line.reply(status, b"", "text/html", {"Location": place})


def _without_id(line: Line, answer: bytes) -> None:
    line.reply(200, as_json({**json.loads(answer), "id": None}))


def _names_run_and_cuts(line: Line, answer: bytes) -> None:
    line.cut(200, answer, headers={RUN_HEADER: json.loads(answer)["id"]})


_BUSY = (429, "TOO_MANY_REQUESTS", "Слишком много запросов")
_BROKEN = _refuses(500, "INTERNAL_ERROR", "Внутренняя ошибка сервера")
_BAD_GATEWAY = _shows_gateway_page(502, "Bad Gateway")
_GATEWAY_TIMEOUT = _shows_gateway_page(504, "Gateway Time-out")
_CDN_TIMEOUT = _shows_gateway_page(524, "A timeout occurred")
_AFTER_A_SECOND = _refuses(*_BUSY, headers={"Retry-After": "1"})

_SUBMIT_TRICKS: dict[str, Trick] = {
    # A client that means this fault sends to a closed port; one that asks here has not understood.
    "refuse": _refuses(400, "BAD_REQUEST", "Этот запрос не должен был дойти до сервера"),
    "http_401": _refuses(401, "UNAUTHORIZED", "Недействительный ключ API"),
    "http_402": _refuses(402, "INSUFFICIENT_FUNDS", "Недостаточно средств на балансе"),
    "http_422": _refuses(422, "CONTENT_POLICY", "Запрос нарушает правила использования"),
    "http_429": _refuses(*_BUSY),
    "http_429_after": _AFTER_A_SECOND,
    "http_429_once": _AFTER_A_SECOND,
    "http_409": _refuses(409, "CONFLICT", "Конфликт запросов"),
    "json_5xx": _BROKEN,
    "json_5xx_executed": _BROKEN,
    "html_502": _BAD_GATEWAY,
    "html_502_executed": _BAD_GATEWAY,
    "html_504": _GATEWAY_TIMEOUT,
    "html_504_executed": _GATEWAY_TIMEOUT,
    "html_524": _CDN_TIMEOUT,
    "html_524_executed": _CDN_TIMEOUT,
    "redirect_303": _redirects(303, "/v1/media/elsewhere"),
    "drop_before": lambda line, _: line.reset(),
    "drop_after": lambda line, _: line.reset(),
    "list_lag": lambda line, _: line.reset(),
    "list_fails": lambda line, _: line.reset(),
    "list_two": lambda line, _: line.reset(),
    "hook_ok": lambda line, _: line.reset(),
    "hook_dup": lambda line, _: line.reset(),
    "hook_early": lambda line, _: line.reset(),
    "hook_late": lambda line, _: line.reset(),
    "header_id": _names_run_and_cuts,
    "hang_after": lambda line, _: line.hang(),
    "cut_body": lambda line, answer: line.cut(200, answer),
    "cut_chunked": lambda line, answer: line.cut_chunked(200, answer),
    "drip": lambda line, answer: line.drip(200, answer),
    "list_foreign": lambda line, _: line.reset(),
    **FRAMINGS,
}

_NONSENSE: tuple[Trick, ...] = (
    _BROKEN,
    lambda line, _: line.reset(),
    _refuses(404, "NOT_FOUND", "Генерация не найдена"),
    _BAD_GATEWAY,
)

_MUDDLED: dict[str, Trick] = {
    "no_id": _without_id,
    "poll_429": _refuses(*_BUSY),
    "poll_429_after": _refuses(*_BUSY, headers={"Retry-After": str(POLL_AGAIN_AFTER)}),
}

_UNAVAILABLE_FILE = _file_error(503, UNAVAILABLE_FILE)

_FILE_TRICKS: dict[str, Trick] = {
    "result_gone": _file_error(404, NO_SUCH_FILE),
    "result_forbidden": _file_error(403, FORBIDDEN_FILE),
    "result_redirect": _redirects(302, ELSEWHERE),
    "result_huge": lambda line, picture: line.pour(picture, "image/png"),
    "result_wrong_type": lambda line, _: line.reply(200, WEB_PAGE, "image/png"),
    "result_cut": lambda line, picture: line.cut(200, picture, "image/png"),
}
