"""Where npm has put what is asked about pages. `make test` installs it; nothing is fetched here."""

import os
import shutil
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "node_modules"
AXE = FOLDER / "axe-core/axe.min.js"
NU = FOLDER / "vnu-jar/build/dist/vnu.jar"


def need_axe() -> str:
    """Its script."""
    return str(AXE) if AXE.exists() else _do_without("axe-core: install npm, then make test")


def need_nu() -> list[str]:
    """The command that starts it."""
    java = shutil.which("java")
    if java and NU.exists():
        return [java, "-jar", str(NU)]
    return _do_without("the Nu checker: install npm and a Java runtime, then make test")


def _do_without(what: str):
    """Skip with one line; on the build machine nothing may be skipped."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"missing is {what}", pytrace=False)
    pytest.skip(f"skipped what needs {what}")
