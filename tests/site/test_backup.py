"""The drill of docs/operations.md: back up under load, let a queued order be sent, kill, restore,
start. On SQLite by the command alone, on PostgreSQL with its own tools beside it."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.site_orders import Desk
from tests.site_process import Site, resume

pytestmark = pytest.mark.site

SETTINGS = {"SANDBOX_SECONDS": "0.2", "PROBE_TIMEOUT": "120", "WORKERS": "2"}


class Drill:
    """What was there before and after, for the tests to look at."""

    def __init__(self, site: Site, database_url: str) -> None:
        self.site, self.url = site, database_url
        self.desk = Desk(site.env)
        self.backup = site.folder / "backup"
        self.dump = site.folder / "database.dump"
        self.media = Path(site.settings["DATA_DIR"]) / "media"

    def run(self) -> "Drill":
        self.wait_ready(self.order("delivered before"))
        workers = self.site.suspend("q-worker")
        self.queued = self.order("queued")
        with self.orders_meanwhile():
            self.back_up()
        resume(workers)
        self.wait_ready(self.queued)
        self.wait_ready(self.order("after"))
        self.pictures = self.files()
        self.kill()
        self.restore()
        self.audited = self.site.run("audit", "--deep")
        self.site.start()
        self.new = self.order("new")
        self.wait_ready(self.new)
        self.report = self.desk.ask("report")
        self.bill = requests.get(f"{self.site.sandbox_url}/_ledger", timeout=60).json()
        return self

    def order(self, name: str) -> str:
        [job] = self.desk.ask("place", name.replace(" ", "-")).values()
        return job

    def wait_ready(self, job: str) -> None:
        self.site.wait_until(lambda: self.desk.ask("report")[job]["state"] == "ready")

    @contextmanager
    def orders_meanwhile(self) -> Iterator[None]:
        """Orders are placed without a pause."""
        stop, desk = threading.Event(), Desk(self.site.env)
        orders: list[dict] = []

        def place() -> None:
            while not stop.is_set():
                orders.append(desk.ask("place", f"load-{len(orders)}"))

        thread = threading.Thread(target=place)
        thread.start()
        self.site.wait_until(lambda: orders)
        yield
        stop.set()
        thread.join()
        desk.close()
        self.orders_under_load = len(orders)

    def back_up(self) -> None:
        if self.url:
            self.execute("pg_dump", "--format=custom", f"--file={self.dump}", self.url)
        made = self.site.run("backup", str(self.backup))
        assert made.returncode == 0, made.stderr

    def restore(self) -> None:
        arguments = ["--replace"]
        if self.url:
            self.execute("psql", "-c", "DROP SCHEMA public CASCADE; CREATE SCHEMA public", self.url)
            self.execute("pg_restore", "--no-owner", f"--dbname={self.url}", str(self.dump))
            arguments = ["--database-restored"]
        restored = self.site.run("restore", str(self.backup), *arguments)
        assert restored.returncode == 0, restored.stderr

    def execute(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    def kill(self) -> None:
        self.desk.close()
        assert self.site.up
        self.site.up.kill()
        self.site.up.wait()

    def files(self) -> set[str]:
        return {str(file) for file in self.media.rglob("pictures/*/*") if file.is_file()}


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def drill(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("drill")
    if request.param == "sqlite":
        yield from run_drill(Site(folder, **SETTINGS), "")
        return
    with request.getfixturevalue("copy_postgres")() as database:
        yield from run_drill(Site(folder, DATABASE_URL=database.url, **SETTINGS), database.url)


def run_drill(site: Site, database_url: str) -> Iterator[Drill]:
    drill = Drill(site, database_url)
    try:
        site.start()
        yield drill.run()
    finally:
        drill.desk.close()
        site.stop()


def test_a_backup_that_was_made_under_load_is_restored_without_a_violation(drill):
    assert drill.orders_under_load > 0
    assert drill.audited.returncode == 0, drill.audited.stdout
    assert "audit: no violation" in drill.audited.stdout


def test_what_was_sent_after_the_backup_is_not_sent_again(drill):
    executions = {work: total["executions"] for work, total in drill.bill["works"].items()}
    assert executions[f"image:{drill.queued}"] == 1
    assert set(executions.values()) == {1}


def test_what_was_queued_is_cancelled_with_its_slot_back(drill):
    queued = drill.report[drill.queued]
    assert (queued["state"], queued["attempt"], queued["reason"]) == (
        "cancelled",
        "failed",
        "restored",
    )


def test_the_restored_site_takes_and_makes_orders(drill):
    assert drill.report[drill.new]["state"] == "ready"


def test_pictures_that_were_made_after_the_backup_are_kept(drill):
    tidied = drill.site.run("tidy")
    assert tidied.returncode == 0, tidied.stderr
    assert drill.pictures <= drill.files()
