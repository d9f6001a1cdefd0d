"""What would be found out only when it is used is refused at the start."""

import pytest
import trustme

from config.checks import setup, stores
from config.env.accounts import read_more


def ids(found) -> list[str]:
    return [message.id for message in found]


@pytest.mark.parametrize("content", ["", "no PEM", "-----BEGIN CERTIFICATE-----\nx\n"])
def test_a_bundle_without_certificates_is_refused(settings, tmp_path, content):
    (tmp_path / "bundle.pem").write_text(content)
    settings.PROVIDER_CA_BUNDLE = str(tmp_path / "bundle.pem")
    assert ids(stores.check_certificates()) == ["counterfoil.E014"]


def test_a_bundle_of_certificates_is_accepted(settings, tmp_path):
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "bundle.pem"))
    settings.PROVIDER_CA_BUNDLE = str(tmp_path / "bundle.pem")
    assert stores.check_certificates() == []


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
    assert ids(stores.check_redis_url()) == found


@pytest.mark.parametrize(("user", "word"), [("site", ""), ("", "word")])
def test_half_a_login_for_mail_is_refused(settings, user, word):
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = user, word
    assert ids(stores.check_mail()) == ["counterfoil.E017"]


def test_a_key_with_a_blank_in_it_is_refused(settings):
    """Such as one that was pasted with the word `Bearer`."""
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | read_more(
        ["second=polza"], settings.PROVIDER_ACCOUNTS
    )
    object.__setattr__(settings.PROVIDER_ACCOUNTS["second"], "key", "Bearer hunter2")
    [found] = setup.check_providers()
    assert found.id == "counterfoil.E007"
    assert "hunter2" not in found.msg


@pytest.mark.parametrize("name", ["mail", "storage", "database", "polza", "sandbox"])
def test_an_account_has_a_name_of_its_own(settings, name):
    with pytest.raises(Exception, match="MORE_PROVIDERS"):
        read_more([f"{name}=polza"], settings.PROVIDER_ACCOUNTS)
