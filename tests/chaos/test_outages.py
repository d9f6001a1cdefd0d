"""What the site stands on goes away for a while: pages stay clear, nothing is lost, it goes on."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
import requests

from providers.sandbox.server import SandboxServer
from tests.chaos.conftest import ChaosSite
from tests.site_process import free_port, resume, running, wait_until

pytestmark = pytest.mark.site

NO_TRACE = ("Traceback", "OperationalError", "sqlite3", "psycopg", "errno")


class Visitor:
    """A person with a browser, who has three pictures a day."""

    def __init__(self, site: ChaosSite) -> None:
        self.site = site
        self.session = requests.Session()

    def get(self, path: str) -> requests.Response:
        return self.clear(self.session.get(f"{self.site.url}{path}", timeout=60))

    def open_form(self) -> dict[str, str]:
        page = self.get("/images/new").text
        names = ("csrfmiddlewaretoken", "form_key")
        return {name: re.search(rf'name="{name}" value="([^"]+)"', page).group(1) for name in names}

    def send(self, form: dict[str, str], prompt: str, fault: str = "ok") -> requests.Response:
        fields = form | {"prompt": prompt, "aspect_ratio": "1:1", "fault": fault}
        url = f"{self.site.url}/images/new"
        return self.clear(self.session.post(url, data=fields, timeout=60))

    def order(self, prompt: str, fault: str = "ok") -> str:
        """The path of the new job's page."""
        answer = self.send(self.open_form(), prompt, fault)
        assert answer.history, answer.text
        return "/" + answer.url.partition("//")[2].partition("/")[2]

    def sees(self, path: str, words: str) -> bool:
        return words in self.get(path).text

    def clear(self, answer: requests.Response) -> requests.Response:
        """Whatever happens, no page shows a trace of the machinery."""
        assert not any(word in answer.text for word in NO_TRACE), answer.text
        return answer


def was_accepted(site: ChaosSite, path: str) -> bool:
    """By the last request, since one that was late is sent again; and it may have been made."""
    calls = site.rows()[path.rpartition("/")[2]]["calls"]
    return bool(calls) and calls[-1] in ("accepted", "succeeded")


def start(folder: Path, **settings: str) -> ChaosSite:
    return ChaosSite(folder, **settings).start()


@pytest.fixture
def tmpfs(tmp_path):
    """A small file system of its own."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("skipped the full and the read-only disk: mounting a tmpfs needs root")
    yield folder
    wait_until(lambda: subprocess.run(["umount", folder], capture_output=True).returncode == 0)


def test_a_full_disk_delays_and_loses_nothing(tmpfs):
    site = start(tmpfs, SANDBOX_SECONDS="6")
    try:
        visitor = Visitor(site)
        running, form = visitor.order("before"), visitor.open_form()
        site.wait_until(lambda: was_accepted(site, running))
        filler = tmpfs / "filler"
        fill(filler)
        answer = visitor.send(form, "meanwhile")
        assert answer.status_code == 503
        assert "We cannot save anything right now." in answer.text
        assert visitor.get("/").status_code in (200, 503)
        filler.unlink()
        site.wait_until(lambda: visitor.sees(running, "Ready"))
        answer = visitor.send(form, "meanwhile")
        assert answer.status_code == 200
        assert answer.url != running
        site.wait_until(lambda: visitor.sees(answer.url.removeprefix(site.url), "Ready"))
        assert site.run("audit").returncode == 0
    finally:
        site.close()


def fill(path: Path) -> None:
    """Write until the disk takes no byte more."""
    with path.open("wb", buffering=0) as file:
        for size in (2**20, 4096, 1):
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                continue


def test_a_disk_gone_read_only_delays_and_loses_nothing(tmpfs):
    site = start(tmpfs, SANDBOX_SECONDS="6")
    try:
        visitor = Visitor(site)
        running, form = visitor.order("before"), visitor.open_form()
        site.wait_until(lambda: was_accepted(site, running))
        with read_only(tmpfs):
            # What was open before stays writable, as on a disk: so they open it anew.
            site.kill_group("cluster")
            site.kill("ticker")
            answer = visitor.send(form, "meanwhile")
            assert answer.status_code == 503
            assert "We cannot save anything right now." in answer.text
            site.wait_until(lambda: site.logs().count("starting it again") >= 3)
            assert not visitor.sees(running, "Failed")
        site.wait_until(lambda: visitor.sees(running, "Ready"))
        assert site.run("audit").returncode == 0
    finally:
        site.close()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A file system with files open for writing cannot be remounted; a second mount over it can."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
    try:
        yield
    finally:
        wait_until(lambda: subprocess.run(["umount", "-l", folder]).returncode == 0)


@pytest.mark.postgres
def test_a_read_only_database_server_delays_and_loses_nothing(
    copy_postgres, postgres_url, tmp_path
):
    with copy_postgres() as database:
        site = start(tmp_path, DATABASE_URL=database.url, SANDBOX_SECONDS="6")
        try:
            visitor = Visitor(site)
            running, form = visitor.order("before"), visitor.open_form()
            site.wait_until(lambda: was_accepted(site, running))
            set_read_only(postgres_url, database.url, True)
            assert visitor.send(form, "meanwhile").status_code == 503
            assert visitor.get(running).status_code == 200
            set_read_only(postgres_url, database.url, False)
            site.wait_until(lambda: visitor.sees(running, "Ready"))
            assert site.run("audit").returncode == 0
        finally:
            site.close()


def set_read_only(server: str, url: str, read_only: bool) -> None:
    """For every session of the database from now on; those that are open are ended."""
    name = url.rpartition("/")[2]
    with closing(psycopg.connect(server, autocommit=True)) as connection:
        word = "on" if read_only else "off"
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = {word}')
        connection.execute(
            "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = %s",
            [name],
        )


def test_a_provider_that_is_gone_fails_nothing_that_runs(tmp_path):
    """As `polza`, since the sandbox of the house is started again at once."""
    bill, port = tmp_path / "bill.sqlite3", free_port()
    provider = started(SandboxServer("127.0.0.1", port, bill, seconds=6))
    site = ChaosSite(
        tmp_path,
        POLZA_API_KEY="a-key",
        POLZA_BASE_URL=provider.url,
        IMAGE_MODELS="polza:test-picture",
        POLL_TIMEOUT="1",
    ).start()
    try:
        visitor = Visitor(site)
        running = visitor.order("before")
        site.wait_until(lambda: was_accepted(site, running))
        provider.stop()
        refused = visitor.order("meanwhile")
        site.wait_until(lambda: visitor.sees(refused, "Your slot was given back"))
        assert was_accepted(site, running)
        provider = started(SandboxServer("127.0.0.1", port, bill, seconds=6))
        site.wait_until(lambda: visitor.sees(running, "Ready"))
        assert site.run("audit").returncode == 0
    finally:
        site.close()
        provider.stop()


def started(provider: SandboxServer) -> SandboxServer:
    provider.start()
    return provider


def test_a_cluster_that_stands_still_is_said_and_mended(tmp_path):
    site = start(tmp_path)
    try:
        visitor = Visitor(site)
        standing = site.suspend("cluster")
        waiting = visitor.order("meanwhile")
        site.wait_until(lambda: visitor.sees(waiting, "Ready"))
        assert "cluster no longer takes work; killing it" in site.logs()
        assert running(standing) == []
    finally:
        site.close()


def test_without_cluster_and_ticker_a_request_keeps_its_place(tmp_path):
    # So long that nobody starts the cluster again meanwhile.
    site = start(tmp_path, PROBE_TIMEOUT="600")
    try:
        visitor = Visitor(site)
        standing = site.suspend("cluster", "ticker")
        waiting = visitor.order("meanwhile")
        site.wait_until(lambda: visitor.sees(waiting, "The site is not processing requests"))
        assert visitor.sees(waiting, "Queued")
        resume(standing)
        site.wait_until(lambda: visitor.sees(waiting, "Ready"))
    finally:
        site.close()
