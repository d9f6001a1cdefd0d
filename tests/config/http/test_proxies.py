"""A proxy that nobody spoke of makes one of all people: the operator is told."""

import pytest

from config.checks import setup
from config.supervisor import preflight


@pytest.mark.parametrize(
    ("public_url", "said", "found"),
    [
        ("", False, []),
        ("", True, []),
        ("https://pictures.example.org", True, []),
        ("https://pictures.example.org", False, ["counterfoil.W002"]),
    ],
)
def test_a_site_with_a_public_address_says_what_stands_before_it(settings, public_url, said, found):
    settings.PUBLIC_URL, settings.PROXIES_ARE_SAID = public_url, said
    assert [message.id for message in setup.check_proxies()] == found


def test_it_is_said_at_the_start_and_does_not_stop_it(settings, capsys):
    settings.PUBLIC_URL, settings.PROXIES_ARE_SAID = "https://pictures.example.org", False
    preflight.check_settings()
    assert capsys.readouterr().err.startswith(
        "counterfoil: PUBLIC_URL is set, but TRUSTED_PROXIES is not. Behind a proxy"
    )


def test_what_is_silenced_is_not_said(settings, capsys):
    settings.PUBLIC_URL, settings.PROXIES_ARE_SAID = "https://pictures.example.org", False
    settings.SILENCED_SYSTEM_CHECKS = ["counterfoil.W002"]
    preflight.check_settings()
    assert capsys.readouterr().err == ""
