"""What a child of `up` finds around it."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from config.supervisor import open_files
from config.supervisor.children import SERVER_OPTIONS, Child, Role, site_roles, web_options


@pytest.fixture
def ended(tmp_path, monkeypatch):
    """ended(command): what a child said, started by an `up` that works in `tmp_path`."""
    monkeypatch.chdir(tmp_path)

    def run(*command: str) -> None:
        child = Child.start(Role("part", command))
        child.popen.wait(120)
        child.end_group()
        assert child.popen.returncode == 0

    return run


def test_a_relative_folder_is_the_same_one_to_up_and_to_its_children(ended, tmp_path):
    ended(sys.executable, "-c", "open('here', 'w').close()")
    assert (tmp_path / "here").exists()


def test_the_code_is_found_from_anywhere(ended, tmp_path):
    (tmp_path / "config.py").write_text("raise SystemExit('a stranger')")
    ended(sys.executable, "-P", "-c", "import config.supervisor.children")


def test_the_web_process_takes_no_code_from_the_working_directory():
    web = next(role for role in site_roles() if role.name == "web")
    assert web.command[1] == "-P"


def test_the_web_process_runs_on_the_fast_loop():
    """As measured in docs/adr/0004-server.md."""
    assert SERVER_OPTIONS[SERVER_OPTIONS.index("--loop") + 1] == "uvloop"
    assert web_options()[: len(SERVER_OPTIONS)] == SERVER_OPTIONS


def test_the_server_holds_four_times_as_many_connections_as_there_may_be_open_pages():
    """Each open stream is one of them."""
    most = int(SERVER_OPTIONS[SERVER_OPTIONS.index("--backpressure") + 1]) // 4
    assert most > settings.LIVE_STREAMS
    command = [sys.executable, "-c", "import config.settings"]
    refused = subprocess.run(
        command,
        cwd=settings.BASE_DIR,
        env=os.environ | {"LIVE_STREAMS": str(most + 1)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert f"LIVE_STREAMS must be from 0 to {most}" in refused.stderr


def test_the_server_holds_fewer_connections_than_the_system_allows_open_files(monkeypatch):
    """It would spin on a connection that it cannot accept."""
    monkeypatch.setattr(open_files, "most_files", lambda: 4_096)
    options = web_options()
    assert options[len(SERVER_OPTIONS) :][:2] == ("--backpressure", "3096")


def test_a_unit_of_its_own_runs_the_web_process_with_the_same_options():
    operations = (settings.BASE_DIR / "docs" / "operations.md").read_text(encoding="utf-8")
    assert f"{' '.join(SERVER_OPTIONS)} --host" in operations
