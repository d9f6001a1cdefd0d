"""Another account of the machine reads nothing of the data folder."""

import os
import tempfile
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import data_dir
from config.checks import exposure
from tests.configured import read_settings
from tests.site_process import Site


@pytest.fixture
def shared_folder():
    """A folder that every account may enter, as /srv is, with the usual umask."""
    before = os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="counterfoil-open-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
    os.umask(before)


def open_paths(folder: Path) -> list[str]:
    """What others may read, write or enter. Static files are for everybody."""
    paths = [folder, *folder.rglob("*")]
    found = [path for path in paths if path.lstat().st_mode & 0o077 and not path.is_symlink()]
    return [str(path) for path in found if "static" not in path.relative_to(folder).parts]


@pytest.mark.site
def test_a_started_site_leaves_nothing_open_to_others(shared_folder):
    site = Site(shared_folder, is_prepared=False)
    try:
        site.start()
        data = Path(site.settings["DATA_DIR"])
        assert site.run("generate", "a fox", "--wait").returncode == 0
        assert {"counterfoil.sqlite3", "up.json", "media"} <= {path.name for path in data.iterdir()}
        assert open_paths(data) == []
    finally:
        site.stop()


def test_a_folder_that_the_settings_make_is_closed(shared_folder):
    read_settings(shared_folder)
    assert open_paths(shared_folder / "data") == []


def warned(settings, folder: Path) -> list[str]:
    settings.DATA_DIR = folder
    return [found.id for found in exposure.check_data_dir()]


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o711, 0o701, 0o770, 0o777, 0o702])
def test_an_open_folder_is_warned_of(settings, shared_folder, mode):
    folder = shared_folder / "data"
    folder.mkdir()
    folder.chmod(mode)
    assert warned(settings, folder) == ["counterfoil.W005"]


def test_a_closed_folder_is_not_warned_of(settings, shared_folder):
    folder = shared_folder / "data"
    folder.mkdir(mode=0o700)
    assert warned(settings, folder) == []


def test_an_open_folder_that_nobody_else_can_reach_is_not_warned_of(settings, shared_folder):
    folder = shared_folder / "private" / "data"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    assert warned(settings, folder) == []


def test_a_link_to_an_open_folder_is_warned_of(settings, shared_folder):
    (shared_folder / "wide").mkdir()
    (shared_folder / "private").mkdir(mode=0o700)
    link = shared_folder / "private" / "data"
    link.symlink_to(shared_folder / "wide")
    assert warned(settings, link) == ["counterfoil.W005"]


def test_files_of_an_earlier_version_are_closed(shared_folder):
    for name in ("counterfoil.sqlite3", "counterfoil.sqlite3-wal", "up.json", "strange.txt"):
        (shared_folder / name).touch()
    (shared_folder / "media").mkdir()
    data_dir.close_to_others(shared_folder)
    assert sorted(Path(path).name for path in open_paths(shared_folder)) == sorted(
        ["strange.txt", shared_folder.name]
    )


def test_a_home_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ImproperlyConfigured, match=r"^DATA_DIR ~nobody-of"):
        read_settings(tmp_path, DATA_DIR="~nobody-of-that-name/data")
