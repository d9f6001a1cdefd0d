"""What each HTTP status proves about a submit to Polza, whose submit only enqueues."""

import json

import pytest

from providers.outcomes import Rejected, Unknown
from providers.wire.classify import OwnError, classify
from providers.wire.http import Answer
from tests.providers.scripted import answer_bytes

BODIES = {
    "own": json.dumps({"error": {"code": "SOME_CODE", "message": "Сообщение"}}).encode(),
    "html": b"<html><title>Bad Gateway</title></html>",
    "empty": b"",
    "gateway_json": b'{"error": {"code": 502, "message": "upstream connect error"}}',
}
ALL = ("own", "html", "empty", "gateway_json")
NOT_OWN = ("html", "empty", "gateway_json")

# Statuses, bodies, outcome, rule, outcome under the literal rule "any 4xx or 5xx was not executed"
TABLE = [
    ((400, 401, 402, 403, 404, 405, 413, 415, 422, 451), ALL, Rejected, "refused", Rejected),
    ((429,), ALL, Rejected, "too_many", Rejected),
    ((408, 409, 425, 499), ALL, Unknown, "unclear_4xx", Rejected),
    ((500, 502, 503), ("own",), Rejected, "own_enqueue_error", Rejected),
    ((501, 504, 507, 520, 524, 599), ("own",), Unknown, "own_error", Rejected),
    ((500, 502, 503, 504, 520, 521, 522, 523, 524), NOT_OWN, Unknown, "gateway_error", Rejected),
    ((300, 301, 302, 303, 304, 307, 308, 399), ("own", "html"), Unknown, "redirected", Unknown),
    ((101, 600, 999), ("own", "html"), Unknown, "unlisted", Unknown),
]
CASES = [
    pytest.param(status, BODIES[body], outcome, rule, literal, id=f"{status}-{body}")
    for statuses, bodies, outcome, rule, literal in TABLE
    for status in statuses
    for body in bodies
]


@pytest.fixture
def answering(serve):
    def start(status, body, scheme="http", **headers):
        def script(line):
            line.read_request()
            line.answer(status, body, **headers)

        return serve(script, scheme=scheme)

    return start


@pytest.mark.parametrize(("status", "body", "outcome", "rule", "literal"), CASES)
def test_status_proves_what_the_table_says(
    submit, answering, scheme, status, body, outcome, rule, literal
):
    server = answering(status, body, scheme, Location="/v1/elsewhere")
    got = submit(server.url)
    assert (type(got), got.why.rule, got.why.http) == (outcome, rule, status)
    assert len(server.lines) == 1


@pytest.mark.parametrize(("status", "body", "outcome", "rule", "literal"), CASES)
def test_literal_rule_rejects_every_4xx_and_5xx(settings, status, body, outcome, rule, literal):
    settings.HTTP_ERRORS_REJECT = True
    own = OwnError("SOME_CODE") if body == BODIES["own"] else None
    got = classify(Answer(status, {}, body), own=own, enqueue_only=True)
    assert (type(got), got.why.rule) == (literal, rule)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_own_5xx_of_a_synchronous_provider_is_unknown(status):
    reply = Answer(status, {}, b"")
    got = classify(reply, own=OwnError("SOME_CODE"), enqueue_only=False)
    assert (type(got), got.why.rule) == (Unknown, "own_error")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "input"), (401, "auth"), (402, "balance"), (403, "auth"), (404, "config"),
        (405, "config"), (409, "provider"), (422, "input"), (429, "rate"), (500, "provider"),
        (303, "provider"),
    ],
)  # fmt: skip
def test_status_names_the_kind_of_reason(submit, answering, status, kind):
    assert submit(answering(status, BODIES["own"]).url).why.kind == kind


@pytest.mark.parametrize("status", [400, 403, 422, 500])
def test_blocked_prompt_is_a_reason_of_its_own(submit, answering, status):
    body = b'{"error": {"code": "CONTENT_POLICY_VIOLATION", "message": ""}}'
    assert submit(answering(status, body).url).why.kind == "content"


def test_code_and_text_of_the_provider_are_kept_for_the_log(submit, answering):
    why = submit(answering(402, BODIES["own"]).url).why
    assert (why.code, why.text) == ("SOME_CODE", "Сообщение")


@pytest.mark.parametrize(
    "body",
    [b'{"error": "text"}', b'{"error": {"message": "no code"}}', b'{"error": {"code": ""}}',
     b'{"error": {"code": true}}', b'{"statusCode": 500}', b'{"error": []}', b"[" * 100_000],
)  # fmt: skip
def test_only_the_documented_shape_is_the_provider_speaking(submit, answering, body):
    got = submit(answering(500, body).url)
    assert (type(got), got.why.rule) == (Unknown, "gateway_error")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry_After": "7"}, 7), ({"Retry_After": "999999"}, 120), ({}, None)],
)
def test_wait_that_the_provider_names_comes_along(submit, answering, headers, seconds):
    assert submit(answering(429, BODIES["own"], **headers).url).why.retry_after == seconds


def test_answer_of_a_refusal_reaches_us_although_the_request_was_not_read(submit, serve):
    def refuse(line):
        line.read_head()
        line.send(answer_bytes(401, BODIES["own"]))

    assert submit(serve(refuse).url).why.rule == "refused"
