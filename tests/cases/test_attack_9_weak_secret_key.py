"""SECRET_KEY=a is refused like a key file that is too short, by every command."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.configured import read_settings
from tests.site_process import Site


@pytest.mark.parametrize("command", ["check", "up"])
def test_a_key_of_one_character_is_refused_in_one_line(tmp_path, command):
    ended = Site(tmp_path, SECRET_KEY="a").run(command)
    assert ended.returncode == 1
    assert ended.stderr == "counterfoil: SECRET_KEY must have at least 32 characters\n"


@pytest.mark.parametrize("key", ["a", "a" * 31, "секрет", f"  {'a' * 31}  "])
def test_a_short_key_is_refused(tmp_path, key):
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY must have"):
        read_settings(tmp_path, SECRET_KEY=key)


def test_a_short_key_in_a_file_is_refused(tmp_path):
    (tmp_path / "key").write_text("hunter2\n")
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY must have") as refused:
        read_settings(tmp_path, SECRET_KEY_FILE=str(tmp_path / "key"))
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("value", ["", " "])
def test_no_key_is_one_made_at_the_first_start(tmp_path, value):
    assert len(read_settings(tmp_path, SECRET_KEY=value)["SECRET_KEY"]) > 60
