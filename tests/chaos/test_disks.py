"""A disk of the drill takes nothing while it is hurt, and everything again afterwards."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.drill.disks import SPELLS
from tests.site_process import ROOT

# In a process of its own, since what it mounts is seen by that process alone.
PROBE = """
import sys
from pathlib import Path
from tests.drill.disks import Disk

folder, spell = Path(sys.argv[1]), sys.argv[2]
disk = Disk(folder)
disk.mount()
if not disk.is_mounted:
    sys.exit(77)
undo = disk.hurt(spell)
assert disk.hurt(spell) is None
try:
    (folder / "meanwhile").write_bytes(bytes(65536))
    print("written")
except OSError as exc:
    print(exc.strerror)
undo()
(folder / "afterwards").write_bytes(bytes(65536))
disk.end()
"""
SAYS = {
    "full": "No space left on device",
    "no inodes": "No space left on device",
    "read-only": "Read-only file system",
}


@pytest.mark.parametrize("spell", SPELLS)
def test_a_hurt_disk_takes_nothing_until_it_is_healed(spell, tmp_path):
    command = [sys.executable, "-c", PROBE, str(tmp_path), spell]
    probe = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if probe.returncode == 77:
        pytest.skip("skipped what hurts a disk: this machine does not permit mounts")
    assert (probe.returncode, probe.stdout.strip()) == (0, SAYS[spell]), probe.stderr
    assert list(tmp_path.iterdir()) == []
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
