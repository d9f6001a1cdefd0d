"""Sites that cannot read each other's messages do not take them from each other."""

import os
import subprocess
import sys

import pytest

from tests.site_process import ROOT, Site

PRINT = "from config import settings; print(settings.Q_CLUSTER['name'])"


@pytest.fixture
def queue_name(tmp_path):
    def ask(secret_key: str) -> str:
        env = os.environ | {"SECRET_KEY": secret_key, "DATA_DIR": str(tmp_path)}
        said = subprocess.run(
            [sys.executable, "-c", PRINT], cwd=ROOT, env=env, capture_output=True, text=True
        )
        return said.stdout.strip()

    return ask


def test_another_key_is_another_queue(queue_name):
    assert queue_name("a" * 40) != queue_name("b" * 40)


def test_the_same_key_is_the_same_queue(queue_name):
    assert queue_name("a" * 40) == queue_name("a" * 40) != ""


def test_no_two_sites_of_the_tests_share_one(tmp_path):
    """They run beside each other, on one Redis."""
    first, second = Site(tmp_path), Site(tmp_path)
    assert first.env["SECRET_KEY"] != second.env["SECRET_KEY"]
