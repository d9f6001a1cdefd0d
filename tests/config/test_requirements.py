"""The pinned lists: names, versions and hashes, nothing of the machine they came from."""

import re

import pytest
from django.conf import settings

NAMED = r"([a-z0-9][a-z0-9.-]*)==(\S+)(?: ; sys_platform != \"win32\")? \\"
PINNED = re.compile(rf"^{NAMED}$", re.MULTILINE)
LINE = re.compile(rf"^({NAMED}|    --hash=sha256:[0-9a-f]{{64}}( \\)?)$")


def text_of(name: str) -> str:
    return (settings.BASE_DIR / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_lists_hold_names_versions_and_hashes_only(name):
    lines = [line for line in text_of(name).splitlines() if not line.startswith("# ")]
    assert [line for line in lines if line and not LINE.match(line)] == []
    assert "/" not in text_of(name)


def test_tests_run_with_the_versions_that_the_site_runs_with():
    site = dict(PINNED.findall(text_of("requirements.txt")))
    tests = dict(PINNED.findall(text_of("requirements-dev.txt")))
    assert site
    assert {name: tests.get(name) for name in site} == site
