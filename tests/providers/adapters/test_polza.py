"""Polza's contract: what is sent, and how every documented shape of an answer is read."""

import json
import logging
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from providers.adapters.base import PictureRequest
from providers.adapters.polza import adapter as polza_module
from providers.adapters.polza.adapter import Polza
from providers.adapters.sandbox import SandboxPolza
from providers.outcomes import (
    Artifact,
    Done,
    Failed,
    NoAnswer,
    NoOutput,
    Report,
    Running,
    Unknown,
)
from providers.wire.verifiers import Ed25519Jwks, StandardWebhooks, Unsigned, WebhookNotice
from tests.adapter_limits import limit_polza

URL = "https://s3.polza.test/f/1.png"


def build_request(server):
    head, _, body = server.received.partition(b"\r\n\r\n")
    line, *headers = head.decode().splitlines()
    return line, dict(header.split(": ", 1) for header in headers), body


# The submit


@pytest.fixture
def sent(serve):
    """Sends a picture's request by an adapter; what the server got of it."""

    def send(adapter=Polza, **changes):
        def take(line):
            line.read_request()
            line.answer(201, b'{"id": "gen_1"}')

        server = serve(take)
        asked = {"work": "image:1", "model": "google/model", "prompt": "лиса в тумане", **changes}
        provider = adapter(name="any", base_url=f"{server.url}/api/", key="the-key")
        provider.submit(PictureRequest(**asked), send_by=datetime.now(UTC) + timedelta(seconds=30))
        return build_request(server)

    return send


def test_submit_asks_for_one_picture_in_the_documented_form(sent):
    line, _, body = sent(aspect_ratio="16:9")
    assert line == "POST /api/v1/media HTTP/1.1"
    assert json.loads(body) == {
        "model": "google/model",
        "async": True,
        "user": "image:1",
        "input": {
            "prompt": "лиса в тумане",
            "aspect_ratio": "16:9",
            "output_format": "png",
            "max_images": 1,
        },
        "provider": {"allow_fallbacks": False},
    }


def test_submit_names_the_address_for_reports_where_there_is_one(sent):
    _, _, body = sent(hook_url="https://pictures.example.org/hooks/polza/token/")
    said = json.loads(body)["input"]["callBackUrl"]
    assert said == "https://pictures.example.org/hooks/polza/token/"
    assert "callBackUrl" not in json.loads(sent()[2])["input"]


def test_its_reports_are_unsigned_hints(now):
    polza = Polza(name="polza", base_url=URL, key="the-key")
    assert polza.read_webhook({}, b'{"id": "gen_1"}', now) == WebhookNotice("gen_1")


@pytest.mark.parametrize(
    ("style", "verifier"),
    [("HINT", Unsigned), ("STANDARD", StandardWebhooks), ("ED25519", Ed25519Jwks)],
)
def test_those_of_the_sandbox_are_signed_as_it_is_told(settings, style, verifier):
    settings.SANDBOX_HOOKS = style
    sandbox = SandboxPolza(name="sandbox", base_url=URL, key="the-key")
    assert type(sandbox.verifier) is verifier


def test_submit_carries_the_key_and_says_that_it_is_json(sent):
    _, headers, _ = sent()
    assert headers["Authorization"] == "Bearer the-key"
    assert headers["Content-Type"] == "application/json"


def test_prompt_of_broken_characters_is_sent_as_json(sent):
    _, _, body = sent(prompt="half a pair \ud800 and \0")
    assert json.loads(body)["input"]["prompt"] == "half a pair \ud800 and \0"


def test_polza_itself_never_hears_of_faults(sent):
    _, headers, _ = sent(fault="drop_after")
    assert [name for name in headers if name.startswith("X-Sandbox")] == []


def test_sandbox_is_told_the_work_and_the_fault(sent):
    _, headers, _ = sent(SandboxPolza, fault="drop_after")
    assert headers["X-Sandbox-Work"] == "image:1"
    assert headers["X-Sandbox-Fault"] == "drop_after"


def test_sandbox_is_told_no_fault_when_none_was_chosen(sent):
    _, headers, _ = sent(SandboxPolza)
    assert "X-Sandbox-Fault" not in headers


def test_an_id_in_the_headers_is_noted_although_the_body_is_lost(serve):
    def lose_body(line):
        line.read_request()
        line.send(b"HTTP/1.1 201 Created\r\nX-Generation-Id: gen_7\r\nContent-Length: 99\r\n\r\n{")

    noted = []
    sandbox = SandboxPolza(name="sandbox", base_url=serve(lose_body).url, key="the-key")
    answer = sandbox.submit(
        PictureRequest(work="image:1", model="google/model", prompt="a fox"),
        send_by=datetime.now(UTC) + timedelta(seconds=30),
        note_id=noted.append,
    )
    assert (noted, type(answer)) == (["gen_7"], Unknown)


def test_own_results_come_from_the_origin_of_the_base_url():
    polza = Polza(name="polza", base_url="https://polza.test:8443/api", key="")
    assert polza.result_origins() == {"https://polza.test:8443"}


# The poll


@pytest.fixture
def poll(serve):
    """What the adapter makes of one answer to a poll."""

    def ask(body, status=200):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()

        def answer(line):
            line.read_head()
            line.answer(status, raw)

        polza = Polza(name="polza", base_url=serve(answer).url, key="the-key")
        answer = polza.poll("gen_1", "google/model")
        return answer.outcome if isinstance(answer, Report) else answer

    return ask


@pytest.fixture
def completed(poll):
    def ask(**body):
        return poll({"id": "gen_1", "status": "completed", **body})

    return ask


def test_poll_asks_by_the_id_escaped(serve):
    def answer(line):
        line.read_head()
        line.answer(200, b"{}")

    server = serve(answer)
    polza = Polza(name="polza", base_url=f"{server.url}/api", key="the-key")
    polza.poll("aig/1?x=#ü", "google/model")
    line, headers, _ = build_request(server)
    assert line == "GET /api/v1/media/aig%2F1%3Fx%3D%23%C3%BC HTTP/1.1"
    assert headers["Authorization"] == "Bearer the-key"


@pytest.mark.parametrize("status", ["pending", "processing"])
def test_run_that_goes_on_is_running(poll, status):
    assert poll({"id": "gen_1", "status": status}) == Running(status)


@pytest.mark.parametrize(
    ("data", "artifacts"),
    [
        ({"url": URL}, [Artifact(url=URL)]),
        ([{"url": URL}], [Artifact(url=URL)]),
        ([{"url": URL, "revised_prompt": "x"}, {"url": ""}], [Artifact(url=URL)]),
        ({"b64_json": "aGk="}, [Artifact(b64="aGk=")]),
        ([{"b64_json": "aGk="}], [Artifact(b64="aGk=")]),
        ({"url": None, "b64_json": "aGk="}, [Artifact(b64="aGk=")]),
        ({"url": "", "b64_json": "aGk="}, [Artifact(b64="aGk=")]),
        ([None, {}, "text", {"url": URL}], [Artifact(url=URL)]),
    ],
)
def test_result_is_read_in_every_documented_shape(completed, data, artifacts):
    assert completed(data=data) == Done(tuple(artifacts))


@pytest.mark.parametrize("data", [None, [], {}, [{}], "text", {"url": ""}, [{"b64_json": ""}]])
def test_completed_with_nothing_is_no_end_yet(completed, data):
    assert completed(data=data, usage={"cost_rub": 5}) == NoOutput(
        Decimal(5), "completed with nothing in place of a picture"
    )


@pytest.mark.parametrize("data", [5, {"url": 5}, [{"b64_json": 1}], {"file_id": "f-1"}])
def test_completed_with_something_unknown_keeps_the_whole_answer(completed, data):
    outcome = completed(data=data, usage={"cost_rub": 5})
    assert (outcome.artifacts, outcome.cost) == ((), Decimal(5))
    assert json.loads(outcome.unread)["data"] == data


def test_words_in_place_of_a_picture_are_no_output(completed):
    outcome = completed(content="I would rather talk")
    assert isinstance(outcome, NoOutput)
    assert "rather" not in outcome.text


def test_blocked_result_is_a_reason_of_its_own(completed):
    outcome = completed(error={"code": "CONTENT_FILTER", "message": "x"}, usage={"cost_rub": 5})
    assert (outcome.why.kind, outcome.why.code) == ("content", "CONTENT_FILTER")
    assert outcome.cost == 5


def test_picture_is_taken_although_an_error_stands_beside_it(completed):
    outcome = completed(data={"url": URL}, error={"code": "WARNING", "message": "x"})
    assert outcome == Done((Artifact(url=URL),))


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost_rub": 5.0, "cost": 5.0}, Decimal("5.0")),
        ({"cost": 4.25}, Decimal("4.25")),
        ({"cost_rub": None, "cost": 4}, Decimal(4)),
        ({"cost_rub": "garbage", "cost": 4}, Decimal(4)),
        ({"cost_rub": "5.0000"}, Decimal("5.0000")),
        ({"cost_rub": 0}, Decimal(0)),
        ({}, None),
        (None, None),
        ([5], None),
        ({"cost_rub": True}, None),
        ({"cost_rub": [5]}, None),
        ({"cost_rub": "5,00"}, None),
        ({"cost_rub": ""}, None),
        ({"cost_rub": -1}, None),
        ({"cost_rub": "NaN"}, None),
        ({"cost_rub": float("nan")}, None),
        ({"cost_rub": float("inf")}, None),
        ({"cost_rub": "1e999999"}, None),
        ({"cost_rub": 1_000_000}, None),
    ],
)
def test_cost_is_what_the_provider_said_or_nothing(completed, usage, cost):
    assert completed(data={"url": URL}, usage=usage) == Done((Artifact(url=URL),), cost)


@pytest.mark.parametrize("usage", [{"cost_rub": 5}, {"cost_rub": 0}, {}])
def test_failure_is_confirmed_with_what_it_cost(poll, usage):
    outcome = poll(
        {"status": "failed", "error": {"code": "BAD_GATEWAY", "message": "ошибка"}, "usage": usage}
    )
    assert isinstance(outcome, Failed)
    assert (outcome.why.kind, outcome.why.code) == ("provider", "BAD_GATEWAY")
    assert (outcome.why.text, outcome.cost) == ("ошибка", usage.get("cost_rub"))


@pytest.mark.parametrize("error", [None, "text", [], {}, {"code": None}, {"message": None}])
def test_failure_is_confirmed_however_little_it_says(poll, error):
    outcome = poll({"status": "failed", "error": error})
    assert isinstance(outcome, Failed)
    assert (outcome.why.kind, outcome.why.code) == ("provider", "")
    assert outcome.why.text in ("", "text")


def test_failure_for_its_content_is_a_reason_of_its_own(poll):
    assert poll({"status": "failed", "error": {"code": "MODERATION"}}).why.kind == "content"


def test_data_beside_a_failure_are_not_taken(poll):
    assert isinstance(poll({"status": "failed", "data": {"url": URL}}), Failed)


@pytest.mark.parametrize("usage", [{"cost_rub": 5}, {}])
def test_cancelled_is_an_end_with_what_it_cost(poll, usage):
    outcome = poll({"status": "cancelled", "usage": usage})
    assert isinstance(outcome, Failed)
    assert (outcome.why.kind, outcome.cost) == ("cancelled", usage.get("cost_rub"))


@pytest.mark.parametrize("body", [{"status": "resting"}, {"status": None}, {"status": 3}, {}])
def test_unknown_status_word_is_running(poll, body):
    assert isinstance(poll(body), Running)


def test_unknown_status_word_warns_once(poll, caplog):
    polza_module._warn_of_status.cache_clear()
    with caplog.at_level(logging.WARNING):
        poll({"status": "hibernating"})
        poll({"status": "hibernating"})
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "hibernating" in caplog.text


def test_endless_status_word_is_cut(poll):
    assert len(poll({"status": "x" * 10_000}).status) <= 100


@pytest.mark.parametrize("status", [202, 204, 302, 400, 401, 403, 404, 410, 429, 500, 502, 503])
@pytest.mark.parametrize("body", [b'{"error": {"code": "X", "message": ""}}', b"<html>", b""])
def test_status_of_a_poll_proves_nothing(poll, settings, status, body):
    settings.HTTP_ERRORS_REJECT = True
    outcome = poll(body, status)
    assert isinstance(outcome, NoAnswer)
    assert outcome.why.http == status


def test_end_told_with_an_error_status_proves_nothing(poll):
    assert isinstance(poll({"id": "gen_1", "status": "failed"}, 500), NoAnswer)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b'{"status": "completed"', b"["])
def test_poll_that_cannot_be_read_proves_nothing(poll, body):
    assert isinstance(poll(body), NoAnswer)


@pytest.mark.parametrize(
    "script",
    [
        lambda line: line.reset(),
        lambda line: line.read_head(),
        lambda line: line.send(b"garbage\r\n\r\n"),
        lambda line: line.send(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"),
        lambda line: line.hang(),
    ],
    ids=["reset", "closed", "garbage", "cut", "hang"],
)
def test_poll_that_was_lost_proves_nothing(serve, scheme, monkeypatch, script):
    limit_polza(monkeypatch, silence_timeout=0.15)
    polza = Polza(name="polza", base_url=serve(script, scheme=scheme).url, key="the-key")
    outcome = polza.poll("gen_1", "google/model")
    names_no_run = isinstance(outcome, Report) and not outcome.reference
    assert names_no_run or (isinstance(outcome, NoAnswer) and outcome.why.kind == "transport")
