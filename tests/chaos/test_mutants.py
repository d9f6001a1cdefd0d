"""Every planted defect, the scaled times and the clock patch what the site really has."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.drill.clock import VARIABLE, Clock
from tests.drill.mutants import NAMES, settings_for
from tests.site_process import ROOT

INSTALLS = """
import django
django.setup()
from tests.drill import clock
print("installed")
"""


def run_in_site(code: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """With the settings of a site in a drill."""
    environment = {"DJANGO_SETTINGS_MODULE": "tests.drill.settings", "DATA_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PATH": "", "SECRET_KEY": "x" * 50, "POLZA_API_KEY": "", **environment, **settings},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("name", ["", *NAMES])
def test_a_site_starts_with_it(name, tmp_path):
    """`DrillConfig.ready` installs it, and fails where the attribute to be replaced is gone."""
    planted = settings_for(name) if name else {}
    run = run_in_site(INSTALLS, tmp_path, **planted)
    assert run.stdout == "installed\n", run.stderr


SIGNS_AND_VERIFIES = """
import time
import django
django.setup()
from django.utils import timezone
from providers.sandbox.webhooks import Signer
from providers.wire.verifiers import StandardWebhooks
secret = "whsec_" + "c2VjcmV0" * 4
headers = Signer("STANDARD", secret).headers("gen_1", b"{}", sent_at=time.time())
print(StandardWebhooks(secret).verify(headers, b"{}", timezone.now()))
"""


def test_a_webhook_of_the_drill_is_recent_by_the_clock_of_the_drill(tmp_path):
    Clock.make(tmp_path / "clock").set_ahead(7 * 3600)
    run = run_in_site(SIGNS_AND_VERIFIES, tmp_path, **{VARIABLE: str(tmp_path / "clock")})
    assert "is_signed=True" in run.stdout, run.stdout + run.stderr


def test_a_renamed_attribute_is_an_error():
    from tests.drill.patches import replace

    with pytest.raises(AttributeError):
        replace(subprocess, "no_such_name", None)
