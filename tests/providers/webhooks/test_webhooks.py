"""Signatures of webhooks: the published vector and the official package prove them, little else."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from requests.structures import CaseInsensitiveDict
from standardwebhooks import Webhook

from providers.sandbox.webhooks import Signer
from providers.wire import verifiers
from providers.wire.verifiers import (
    Ed25519Jwks,
    StandardWebhooks,
    Unsigned,
    WebhookNotice,
    run_named_in,
)

# The example of the Standard Webhooks specification.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
MOMENT = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
AT = datetime.fromtimestamp(MOMENT, UTC)


def standard(**changes):
    said = {"id": MESSAGE, "timestamp": str(MOMENT), "signature": SIGNATURE} | changes
    return CaseInsensitiveDict({f"webhook-{name}": value for name, value in said.items()})


def verify(headers, body=BODY, now=AT, secret=SECRET):
    # The library compares the time of a message with the clock of the machine.
    with time_machine.travel(now, tick=False):
        return StandardWebhooks(secret).verify(headers, body, now)


class TestStandard:
    def test_published_vector_is_proved(self):
        assert verify(standard()) == WebhookNotice("", MESSAGE, is_signed=True)

    def test_header_names_are_read_in_any_case(self):
        headers = CaseInsensitiveDict({name.title(): said for name, said in standard().items()})
        assert verify(headers)

    def test_official_package_and_we_prove_each_other(self):
        now, body = datetime.now(UTC), '{"id": "run-1", "name": "лиса"}'
        signature = Webhook(SECRET).sign("msg_1", now, body)
        moment = str(int(now.timestamp()))
        headers = standard(id="msg_1", timestamp=moment, signature=signature)
        assert verify(headers, body.encode(), now) == WebhookNotice(
            "run-1", "msg_1", is_signed=True
        )

    def test_official_package_proves_what_the_sandbox_signs(self):
        body = b'{"id": "gen_1"}'
        sent_at = datetime.now(UTC).timestamp()
        headers = Signer("STANDARD", SECRET).headers("gen_1", body, sent_at=sent_at)
        assert Webhook(SECRET).verify(body, headers) == {"id": "gen_1"}

    def test_one_good_signature_of_several_is_enough(self):
        other = "v1," + base64.b64encode(bytes(32)).decode()
        assert verify(standard(signature=f"v1a,xyz {other} {SIGNATURE}"))

    @pytest.mark.parametrize(
        "signature",
        [
            "",
            "v1",
            "v1,",
            "v1,no base64!",
            SIGNATURE.replace("v1,", "v2,"),
            SIGNATURE.removeprefix("v1,"),
            SIGNATURE[:-6] + "AAAA=",
            SIGNATURE.lower(),
            "v1,ключ",
            "v1,x " * 20 + SIGNATURE,
        ],
    )
    def test_wrong_signature_proves_nothing(self, signature):
        assert verify(standard(signature=signature)) is None

    @pytest.mark.parametrize("name", ["id", "timestamp", "signature"])
    def test_missing_header_proves_nothing(self, name):
        headers = standard()
        del headers[f"webhook-{name}"]
        assert verify(headers) is None

    def test_other_body_secret_or_id_proves_nothing(self):
        other = "whsec_" + base64.b64encode(b"another secret").decode()
        assert verify(standard(), BODY + b" ") is None
        assert verify(standard(), secret=other) is None
        assert verify(standard(id="msg_other")) is None

    @pytest.mark.parametrize("seconds", [300, -300])
    def test_five_minutes_either_way_are_recent(self, seconds):
        assert verify(standard(), now=AT + timedelta(seconds=seconds))

    @pytest.mark.parametrize("seconds", [301, -301, 86400])
    def test_older_or_newer_is_not(self, seconds):
        assert verify(standard(), now=AT + timedelta(seconds=seconds)) is None

    @pytest.mark.parametrize("moment", ["", "soon", "1614265330.0", "-1614265330", "9" * 40, "١"])
    def test_time_that_is_no_whole_number_proves_nothing(self, moment):
        headers = Signer("STANDARD", SECRET).headers("gen_1", BODY, sent_at=MOMENT)
        assert verify(CaseInsensitiveDict(headers))
        assert verify(CaseInsensitiveDict(headers | {"webhook-timestamp": moment})) is None

    @pytest.mark.parametrize("message", ["x" * 201, "a\nb", "имя"])
    def test_id_that_no_column_takes_proves_nothing(self, message):
        signed = f"{message}.{MOMENT}.".encode() + BODY
        key = base64.b64decode(SECRET.removeprefix("whsec_"))
        signature = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
        assert verify(standard(id=message, signature=signature)) is None

    @pytest.mark.parametrize("secret", ["", "whsec_", "whsec_no base64!"])
    def test_secret_that_is_none_is_refused(self, secret):
        with pytest.raises(ValueError):
            StandardWebhooks(secret)


class Keys:
    """A key set that is asked for, and how often it was."""

    def __init__(self, *keys):
        self.keys, self.asked = list(keys), 0

    def __call__(self):
        self.asked += 1
        return {"keys": [jwk(key) for key in self.keys]} if self.keys else None


def jwk(key):
    raw = key.public_key().public_bytes_raw()
    x = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "1"}


def fal(key, body=BODY, *, run="run-1", user="user-1", moment=MOMENT, **changes):
    message = "\n".join([run, user, str(moment), hashlib.sha256(body).hexdigest()])
    said = {
        "Request-Id": run,
        "User-Id": user,
        "Timestamp": str(moment),
        "Signature": key.sign(message.encode()).hex(),
    }
    return CaseInsensitiveDict({f"X-Fal-Webhook-{name}": said[name] for name in said} | changes)


@pytest.fixture
def key():
    return Ed25519PrivateKey.generate()


class TestEd25519:
    def test_signed_message_names_its_run(self, key):
        hint = Ed25519Jwks(Keys(key)).verify(fal(key), BODY, AT)
        assert hint == WebhookNotice("run-1", "run-1", is_signed=True)

    def test_any_key_of_the_set_will_do(self, key):
        keys = Keys(Ed25519PrivateKey.generate(), key)
        assert Ed25519Jwks(keys).verify(fal(key), BODY, AT)

    def test_what_the_sandbox_signs_is_proved_by_its_own_set(self):
        signer = Signer("ED25519", SECRET)
        headers = CaseInsensitiveDict(signer.headers("gen_1", BODY, sent_at=MOMENT))
        hint = Ed25519Jwks(signer.jwks).verify(headers, BODY, AT)
        assert hint == WebhookNotice("gen_1", "gen_1", is_signed=True)

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("Signature", ""),
            ("Signature", "no hex"),
            ("Signature", "00" * 64),
            ("Signature", "00" * 7),
            ("Request-Id", "run-2"),
            ("Request-Id", ".."),
            ("Request-Id", ""),
            ("User-Id", "user-2"),
            ("Timestamp", str(MOMENT + 1)),
            ("Timestamp", ""),
        ],
    )
    def test_any_changed_header_proves_nothing(self, key, name, said):
        headers = fal(key, **{f"X-Fal-Webhook-{name}": said})
        assert Ed25519Jwks(Keys(key)).verify(headers, BODY, AT) is None

    def test_other_body_proves_nothing(self, key):
        assert Ed25519Jwks(Keys(key)).verify(fal(key), BODY + b" ", AT) is None

    @pytest.mark.parametrize("seconds", [301, -301])
    def test_older_or_newer_is_refused_without_asking_for_keys(self, key, seconds):
        keys = Keys(key)
        now = AT + timedelta(seconds=seconds)
        assert Ed25519Jwks(keys).verify(fal(key), BODY, now) is None
        assert keys.asked == 0

    def test_keys_are_asked_for_once_a_day(self, key):
        keys = Keys(key)
        verifier = Ed25519Jwks(keys)
        for hours in (0, 1, 23):
            at = AT + timedelta(hours=hours)
            assert verifier.verify(fal(key, moment=int(at.timestamp())), BODY, at)
        assert keys.asked == 1
        tomorrow = AT + timedelta(hours=24)
        assert verifier.verify(fal(key, moment=int(tomorrow.timestamp())), BODY, tomorrow)
        assert keys.asked == 2

    def test_unknown_key_is_asked_for_at_most_once_a_minute(self, key):
        keys, new = Keys(key), Ed25519PrivateKey.generate()
        verifier = Ed25519Jwks(keys)
        assert verifier.verify(fal(key), BODY, AT)
        keys.keys.append(new)
        for seconds in (1, 30, 59):
            now = AT + timedelta(seconds=seconds)
            assert verifier.verify(fal(new), BODY, now) is None
            assert verifier.verify(fal(key), BODY, now)
        assert keys.asked == 1
        assert verifier.verify(fal(new), BODY, AT + timedelta(seconds=60))
        assert keys.asked == 2

    def test_a_withdrawn_key_is_forgotten_with_its_set(self, key):
        keys, new = Keys(key), Ed25519PrivateKey.generate()
        verifier = Ed25519Jwks(keys)
        assert verifier.verify(fal(key), BODY, AT)
        keys.keys = [new]
        assert verifier.verify(fal(new), BODY, AT + timedelta(seconds=60))
        assert verifier.verify(fal(key), BODY, AT + timedelta(seconds=61)) is None

    def test_keys_outlive_a_set_that_cannot_be_had(self, key):
        keys, new = Keys(key), Ed25519PrivateKey.generate()
        verifier = Ed25519Jwks(keys)
        assert verifier.verify(fal(key), BODY, AT)
        keys.keys = []
        assert verifier.verify(fal(new), BODY, AT + timedelta(seconds=60)) is None
        assert verifier.verify(fal(key), BODY, AT + timedelta(seconds=61))

    @pytest.mark.parametrize(
        "jwks",
        [
            None,
            [],
            {},
            {"keys": None},
            {"keys": [None, 1, {}]},
            {"keys": [{"kty": "RSA", "crv": "Ed25519", "x": "AA"}]},
            {"keys": [{"kty": "OKP", "crv": "Ed25519"}]},
            {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA"}]},
            {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "ключ"}]},
        ],
    )
    def test_set_without_a_key_proves_nothing(self, key, jwks):
        assert Ed25519Jwks(lambda: jwks).verify(fal(key), BODY, AT) is None


class TestKeySet:
    def test_it_is_fetched(self, serve):
        def answer(line):
            line.read_request()
            line.answer(200, b'{"keys": []}')

        assert verifiers.jwks_at(f"{serve(answer).url}/jwks.json", trust_env=False) == {"keys": []}

    def test_a_slow_one_is_given_up_within_its_deadline(self, serve, monkeypatch):
        monkeypatch.setattr(verifiers, "KEYS_WITHIN", 0.3)

        def drip(line):
            line.read_request()
            line.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        assert verifiers.jwks_at(serve(drip).url, trust_env=False) is None

    def test_an_error_is_none(self, serve):
        def refuse(line):
            line.read_request()
            line.answer(500, b'{"keys": []}')

        assert verifiers.jwks_at(serve(refuse).url, trust_env=False) is None


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"id": "gen_1", "status": "completed"}, "gen_1"),
        ({"object": "event", "id": "evt_1", "data": {"id": "resp_1"}}, "resp_1"),
        ({"object": "event", "id": "evt_1"}, ""),
        ({"id": 7}, ""),
        ({"id": ".."}, ""),
        ({"id": "x" * 201}, ""),
        ({"id": "a\0b"}, ""),
        ({"id": {"id": "gen_1"}}, ""),
        (["gen_1"], ""),
        ("gen_1", ""),
    ],
)
def test_run_is_named_where_each_provider_names_it(said, named):
    assert run_named_in(json.dumps(said).encode()) == named


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"<html>", b"[" * 60_000, b'{"id": "\\ud800"}'])
def test_body_that_is_no_answer_names_nothing(body):
    assert run_named_in(body) == ""


def test_unsigned_is_a_hint_and_no_more():
    assert Unsigned().verify({}, b'{"id": "gen_1"}', AT) == WebhookNotice("gen_1")
