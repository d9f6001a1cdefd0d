"""Every planted defect, and the scaled times, patch what the site really has."""

import subprocess
import sys

import pytest

from tests.drill.mutants import NAMES, settings_for
from tests.site_process import ROOT

INSTALLS = """
import django
django.setup()
from tests.drill import clock
print("installed")
"""


@pytest.mark.parametrize("name", ["", *NAMES])
def test_a_site_starts_with_it(name, tmp_path):
    """`DrillConfig.ready` installs it, and fails where the attribute to be replaced is gone."""
    planted = settings_for(name) if name else {}
    environment = {"DJANGO_SETTINGS_MODULE": "tests.drill.settings", "DATA_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", INSTALLS],
        cwd=ROOT,
        env={"PATH": "", "SECRET_KEY": "x" * 50, "POLZA_API_KEY": "", **environment, **planted},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.stdout == "installed\n", run.stderr


def test_a_renamed_attribute_is_an_error():
    from tests.drill.patches import replace

    with pytest.raises(AttributeError):
        replace(subprocess, "no_such_name", None)
