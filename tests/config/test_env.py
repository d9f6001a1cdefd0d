"""Settings are read strictly: what cannot be meant is one line that names it, without a secret."""

import os
from dataclasses import replace
from decimal import Decimal

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.checks import setup
from tests.configured import ROOT, read_settings


@pytest.fixture
def dotenv(tmp_path, monkeypatch):
    # Set first: of a name that was not there, none would be taken back.
    monkeypatch.setenv("WORKERS", "")
    monkeypatch.delenv("WORKERS")

    def load(content: bytes) -> None:
        path = tmp_path / ".env"
        path.write_bytes(content)
        env.load_dotenv(path)

    return load


@pytest.mark.parametrize("line", [b"WORKERS=7", b"export WORKERS=7", b"\xef\xbb\xbfWORKERS=7\r\n"])
def test_a_line_of_dotenv_is_a_setting(dotenv, line):
    dotenv(line)
    assert env.read_int("WORKERS", 5) == 7


@pytest.mark.parametrize("content", [b"WORKERS", b"=7", b"A B=7", b"A\0B=7", b"WORKERS=\xff"])
def test_dotenv_that_cannot_be_read_is_named(dotenv, content):
    with pytest.raises(ImproperlyConfigured, match=r"\.env"):
        dotenv(content)


def test_a_secret_file_that_is_no_text_is_named(monkeypatch, tmp_path):
    file = tmp_path / "key"
    file.write_bytes(b"\xff\xfe")
    monkeypatch.setenv("SECRET_KEY_FILE", str(file))
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY_FILE"):
        env.read_secret("SECRET_KEY")


@pytest.mark.parametrize("value", ["http://:hunter2@host", "hunter2@host", "redis://:hunter2@"])
def test_a_bad_address_is_refused_without_its_password(monkeypatch, value):
    monkeypatch.setenv("REDIS_URL", value)
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL") as refused:
        env.read_redis_url("REDIS_URL")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("value", ["rooms/hunter2", "ftp://host/hunter2", "https:///hunter2"])
def test_an_address_that_is_a_secret_is_not_repeated(monkeypatch, tmp_path, value):
    file = tmp_path / "url"
    file.write_text(value)
    monkeypatch.setenv("ALERT_URL_FILE", str(file))
    with pytest.raises(ImproperlyConfigured, match="ALERT_URL") as refused:
        env.read_secret_url("ALERT_URL")
    assert "hunter2" not in str(refused.value)


def test_an_address_that_is_a_secret_keeps_its_last_slash(monkeypatch):
    monkeypatch.setenv("ALERT_URL", "https://rooms.example.org/token/")
    assert env.read_secret_url("ALERT_URL") == "https://rooms.example.org/token/"


def test_addresses_of_mail_are_read(monkeypatch):
    monkeypatch.setenv("ALERT_EMAILS", "ops@example.org, boss@example.org")
    assert env.read_addresses("ALERT_EMAILS") == ["ops@example.org", "boss@example.org"]


@pytest.mark.parametrize("value", ["ops", "ops@example.org\nBcc: x@y.org", "Ops <ops@example.org>"])
def test_what_is_no_address_of_mail_is_refused(monkeypatch, value):
    monkeypatch.setenv("ALERT_EMAILS", value)
    with pytest.raises(ImproperlyConfigured, match="ALERT_EMAILS"):
        env.read_addresses("ALERT_EMAILS")


@pytest.mark.parametrize("price", ["NaN", "sNaN", "Infinity", "-1", "1e-9", "0.000000001", "10001"])
def test_a_price_is_a_sane_amount(monkeypatch, price):
    monkeypatch.setenv("IMAGE_PRICES", f"a:b={price} RUB")
    with pytest.raises(ImproperlyConfigured, match="IMAGE_PRICES"):
        env.read_prices("IMAGE_PRICES", "")


@pytest.mark.parametrize(
    ("said", "currency"),
    [("free", ""), ("Free", ""), ("0", ""), ("0 RUB", "RUB"), ("0.00 USD", "USD")],
)
def test_a_model_may_be_free(monkeypatch, said, currency):
    monkeypatch.setenv("IMAGE_PRICES", f"a:b={said}")
    assert env.read_prices("IMAGE_PRICES", "") == {"a:b": (Decimal(0), currency)}


def test_a_model_has_one_price(monkeypatch):
    monkeypatch.setenv("IMAGE_PRICES", "a:b=5 RUB, a:b =7 RUB")
    with pytest.raises(ImproperlyConfigured, match="IMAGE_PRICES names a:b twice"):
        env.read_prices("IMAGE_PRICES", "")


def test_the_least_price_is_one_the_ledger_can_hold(monkeypatch):
    monkeypatch.setenv("IMAGE_PRICES", "a:b=0.00000001 RUB")
    assert env.read_prices("IMAGE_PRICES", "") == {"a:b": (Decimal("0.00000001"), "RUB")}


def read_allowances(monkeypatch, said: str) -> dict[str, tuple[int, str]]:
    monkeypatch.setenv("ALLOWANCES", said)
    return env.read_allowances("ALLOWANCES", counted=["mail", "polza"], stored=["storage"])


def test_allowances_are_read(monkeypatch):
    said = "polza=1000 requests/day, mail=9000/month ,storage=1.5 GB"
    assert read_allowances(monkeypatch, said) == {
        "polza": (1000, "day"),
        "mail": (9000, "month"),
        "storage": (1_500_000_000, "bytes"),
    }
    assert read_allowances(monkeypatch, " ") == {}


@pytest.mark.parametrize(
    "said",
    [
        "mail",
        "mail=",
        "mail=0/day",
        "mail=-1/day",
        "mail=300",
        "mail=300/hour",
        "mail=1.5/day",
        "mail=5 GB",
        "mail=1e9/day",
        "mail=٣/day",
        "storage=300/day",
        "storage=0 GB",
        "storage=5",
        "storage=5 gb",
        "post=300/day",
        "mail=300/day,mail=400/day",
    ],
)
def test_an_allowance_that_cannot_be_meant_is_refused(monkeypatch, said):
    with pytest.raises(ImproperlyConfigured, match="ALLOWANCES: "):
        read_allowances(monkeypatch, said)


@pytest.mark.parametrize(
    "origin", ["http://[bad", "10.0.0.7:9000", "http://host/path", "http://user:word@host"]
)
def test_an_origin_that_matches_nothing_is_refused(monkeypatch, origin):
    monkeypatch.setenv("RESULT_ORIGINS", f"http://10.0.0.7:9000,{origin}")
    with pytest.raises(ImproperlyConfigured, match="RESULT_ORIGINS"):
        env.read_origins("RESULT_ORIGINS")


def test_origins_are_read(monkeypatch):
    monkeypatch.setenv("RESULT_ORIGINS", "http://10.0.0.7:9000, https://files.example.org/")
    assert env.read_origins("RESULT_ORIGINS") == [
        "http://10.0.0.7:9000",
        "https://files.example.org",
    ]


def test_a_file_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("PROVIDER_CA_BUNDLE", "/nonexistent/nowhere.pem")
    with pytest.raises(ImproperlyConfigured, match=r"PROVIDER_CA_BUNDLE.*nowhere\.pem"):
        env.read_file("PROVIDER_CA_BUNDLE")


@pytest.mark.parametrize(("word", "level"), [("", "WARNING"), ("debug", "DEBUG")])
def test_a_log_level_is_read_in_any_case(monkeypatch, word, level):
    monkeypatch.setenv("LOG_LEVEL", word)
    assert env.read_choice("LOG_LEVEL", "WARNING", ("DEBUG", "WARNING")) == level


def test_a_log_level_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("LOG_LEVEL", "loud")
    with pytest.raises(ImproperlyConfigured, match="LOG_LEVEL"):
        env.read_choice("LOG_LEVEL", "WARNING", ("DEBUG", "WARNING"))


def ids(found) -> list[str]:
    return [message.id for message in found]


def test_a_key_that_no_header_carries_is_refused(settings):
    polza = replace(settings.PROVIDER_ACCOUNTS["polza"], key="k\u00e9y")
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {"polza": polza}
    assert ids(setup.check_providers()) == ["counterfoil.E007"]


def test_a_call_is_not_given_up_before_it_is_in_doubt(settings):
    settings.LOST_RETENTION = settings.CALL_DEADLINE / 2
    assert ids(setup.check_timing()) == ["counterfoil.E002"]


def test_no_provider_keeps_results_for_less_than_it_takes_to_doubt(settings):
    settings.SANDBOX_RESULT_RETENTION = settings.CALL_DEADLINE / 2
    assert ids(setup.check_timing()) == ["counterfoil.E002"]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"WORKERS=7 # as many as cores", "7"),
        (b"WORKERS='7' # as many", "7"),
        (b'WORKERS="a # b"', "a # b"),
        (b"WORKERS=a#b", "a#b"),
        (b"WORKERS= # nothing", ""),
        (b"WORKERS=it's", "it's"),
    ],
)
def test_a_comment_or_quotation_marks_are_no_part_of_the_value(dotenv, line, value):
    dotenv(line)
    assert os.environ["WORKERS"] == value


@pytest.mark.parametrize(
    "content", [b'WORKERS="7', b"WORKERS='7\"", b'WORKERS="7" 8', b"WORKERS=7\nWORKERS=7"]
)
def test_a_line_of_dotenv_that_may_mean_two_things_is_refused(dotenv, content):
    with pytest.raises(ImproperlyConfigured, match=r"\.env line \d: WORKERS|sets WORKERS a second"):
        dotenv(content)


def test_a_secret_is_set_in_one_place(monkeypatch, tmp_path):
    (tmp_path / "key").write_text("hunter2")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("SECRET_KEY", "hunter3")
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY and SECRET_KEY_FILE") as refused:
        env.read_secret("SECRET_KEY")
    assert "hunter" not in str(refused.value)


@pytest.mark.parametrize("content", ["", "\n", "\ufeff\n"])
def test_an_empty_file_of_a_secret_is_refused(monkeypatch, tmp_path, content):
    (tmp_path / "key").write_text(content)
    monkeypatch.setenv("POLZA_API_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("POLZA_API_KEY", "")
    with pytest.raises(ImproperlyConfigured, match=r"POLZA_API_KEY_FILE: .* is empty"):
        env.read_secret("POLZA_API_KEY")


@pytest.mark.parametrize("value", ["a\u200bb", "a\u00a0b", "a\nb", "\ufeffa", "\udcff"])
def test_a_character_that_nobody_sees_is_refused(monkeypatch, value):
    monkeypatch.setenv("EMAIL_USER", value)
    with pytest.raises(ImproperlyConfigured, match="EMAIL_USER contains"):
        env.read_str("EMAIL_USER")


@pytest.mark.parametrize("value", ["5.000000001 RUB", "1_0 RUB", "٣ RUB", "5 РУБ", "5", "5 rub"])
def test_an_amount_is_one_that_the_ledger_keeps(monkeypatch, value):
    monkeypatch.setenv("POLZA_DAILY_CAP", value)
    with pytest.raises(ImproperlyConfigured, match="POLZA_DAILY_CAP"):
        env.read_money("POLZA_DAILY_CAP")


def test_a_model_is_offered_once(monkeypatch):
    monkeypatch.setenv("IMAGE_MODELS", "polza:b, polza:a,polza:b")
    assert env.read_models("IMAGE_MODELS") == ["polza:b", "polza:a"]


def test_a_relative_database_file_is_the_same_one_in_every_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    database = read_settings(tmp_path, DATABASE_URL="sqlite:///site.sqlite3")["DATABASES"]
    assert database["default"]["NAME"] == ROOT / "site.sqlite3"


@pytest.mark.parametrize("option", ["pool=1", "cursor_factory=1", "server_side_binding=1", "x=y"])
def test_an_option_that_postgresql_does_not_have_is_refused(tmp_path, option):
    with pytest.raises(ImproperlyConfigured, match=option.split("=")[0]):
        read_settings(tmp_path, DATABASE_URL=f"postgres://127.0.0.1/x?{option}")
