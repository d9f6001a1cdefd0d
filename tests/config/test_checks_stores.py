"""What would be found out only when it is used is refused at the start."""

from datetime import timedelta

import pytest
import trustme

from config import checks, checks_stores
from config.accounts import read_more


def ids(found) -> list[str]:
    return [message.id for message in found]


@pytest.fixture
def certificate(tmp_path):
    """The files of a certificate and of its key."""
    issued = trustme.CA().issue_cert("localhost")
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    return str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")


@pytest.mark.parametrize("content", ["", "no PEM", "-----BEGIN CERTIFICATE-----\nx\n"])
def test_a_bundle_without_certificates_is_refused(settings, tmp_path, content):
    (tmp_path / "bundle.pem").write_text(content)
    settings.PROVIDER_CA_BUNDLE = str(tmp_path / "bundle.pem")
    assert ids(checks_stores.check_certificates()) == ["counterfoil.E014"]


def test_a_certificate_with_its_key_is_taken(settings, certificate):
    settings.SANDBOX_CERTFILE, settings.SANDBOX_KEYFILE = certificate
    settings.PROVIDER_CA_BUNDLE = certificate[0]
    assert checks_stores.check_certificates() == []


def test_a_certificate_with_another_key_is_refused(settings, certificate):
    settings.SANDBOX_KEYFILE, settings.SANDBOX_CERTFILE = certificate
    assert ids(checks_stores.check_certificates()) == ["counterfoil.E015"]


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("redis://127.0.0.1/0?no_option=1", ["counterfoil.E016"]),
        ("redis://127.0.0.1/0?socket_timeout=soon", ["counterfoil.E016"]),
        ("rediss://127.0.0.1/0?ssl_cert_reqs=never", ["counterfoil.E016"]),
        ("redis://:word@127.0.0.1/0?socket_timeout=5", []),
        ("", []),
    ],
)
def test_an_option_that_redis_does_not_know_is_refused(settings, url, found):
    settings.REDIS_URL = url
    assert ids(checks_stores.check_redis_url()) == found


@pytest.mark.parametrize(("user", "word"), [("site", ""), ("", "word")])
def test_half_a_login_for_mail_is_refused(settings, user, word):
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = user, word
    assert ids(checks_stores.check_mail()) == ["counterfoil.E017"]


def test_a_duty_that_ends_between_two_ticks_is_refused(settings):
    settings.TICK_EVERY, settings.TICKER_LEASE_LASTS = 5, timedelta(seconds=5)
    assert ids(checks_stores.check_clockwork()) == ["counterfoil.E018"]


def test_a_key_with_a_blank_in_it_is_refused(settings):
    """Such as one that was pasted with the word `Bearer`."""
    settings.PROVIDER_ACCOUNTS |= read_more(["second=polza"], settings.PROVIDER_ACCOUNTS)
    object.__setattr__(settings.PROVIDER_ACCOUNTS["second"], "key", "Bearer hunter2")
    [found] = checks.check_providers()
    assert found.id == "counterfoil.E007"
    assert "hunter2" not in found.msg


@pytest.mark.parametrize("name", ["mail", "storage", "database", "polza", "sandbox"])
def test_an_account_has_a_name_of_its_own(settings, name):
    with pytest.raises(Exception, match="MORE_PROVIDERS"):
        read_more([f"{name}=polza"], settings.PROVIDER_ACCOUNTS)
