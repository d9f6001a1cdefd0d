"""`manage.py up` before anything of it runs."""

from unittest.mock import Mock

import pytest
from django.core.management import call_command

from config.management.commands import up

STEPS = ["migrate", "collect_static", "banner", "Questions", "Supervisor"]


def interrupt(*_args, **_options):
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", STEPS)
def test_ctrl_c_before_anything_was_started_is_told_in_words(monkeypatch, step):
    for name in ("check_everything", "migrate", "warn_of_second_site", "collect_static"):
        monkeypatch.setattr(up.preflight, name, lambda *_: None)
    monkeypatch.setattr(up, "banner", str)
    monkeypatch.setattr(up, "Questions", Mock())
    monkeypatch.setattr(up.preflight if hasattr(up.preflight, step) else up, step, interrupt)
    with pytest.raises(SystemExit, match="stopped before anything was started"):
        call_command("up")
