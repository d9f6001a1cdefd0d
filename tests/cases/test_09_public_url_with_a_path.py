"""PUBLIC_URL with a path is refused: nothing of the site is served there."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.configured import read_settings
from tests.site_process import Site


@pytest.mark.parametrize(
    "public_url",
    [
        "http://host/studio",
        "http://host/studio/",
        "http://host//studio",
        "http://host/;x",
        "http://host/%2e",
        "http://host/?next=studio",
        "http://host?studio",
        "http://host#studio",
        "http://user@host",
        "http://user:word@host/",
        "http://@host",
        "http://host:8000/studio",
    ],
)
def test_all_but_an_origin_is_refused(tmp_path, public_url):
    with pytest.raises(ImproperlyConfigured, match=r"^PUBLIC_URL must be an address[^\n]+$"):
        read_settings(tmp_path, PUBLIC_URL=public_url)


@pytest.mark.parametrize("public_url", ["http://host", "http://host/", "http://host//"])
def test_slashes_at_the_end_are_no_path(tmp_path, public_url):
    assert read_settings(tmp_path, PUBLIC_URL=public_url)["PUBLIC_URL"] == "http://host"


@pytest.mark.parametrize("setting", ["POLZA_BASE_URL", "SANDBOX_URL", "SECOND_BASE_URL"])
@pytest.mark.parametrize("end", ["?key=1", "#part", "/a?b"])
def test_what_paths_are_appended_to_has_no_query(tmp_path, setting, end):
    values = {setting: f"https://host{end}", "MORE_PROVIDERS": "second=polza"}
    with pytest.raises(ImproperlyConfigured, match=f"^{setting} must"):
        read_settings(tmp_path, **values)


def test_the_password_of_a_refused_address_is_not_repeated(tmp_path):
    with pytest.raises(ImproperlyConfigured) as refused:
        read_settings(tmp_path, PUBLIC_URL="http://user:hunter2@host")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("command", ["up", "check", "migrate"])
def test_each_command_says_so_in_one_line(tmp_path, command):
    ended = Site(tmp_path, PUBLIC_URL="http://host/studio").run(command)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr == (
        "counterfoil: PUBLIC_URL must be an address without a path,"
        " such as https://studio.example.org\n"
    )
