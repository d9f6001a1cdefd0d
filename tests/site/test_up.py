"""`manage.py up`, as the real thing: what it says, what it mends, and that nothing stays behind."""

import signal
import socket
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
import requests

from tests.site_process import ROOT, Site, free_port, running, wait_until

pytestmark = pytest.mark.site

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
ENDS_WITHIN = 5  # seconds, promised; a test allows five times as many


def queue_served_since(site: Site, instant: datetime) -> bool:
    """The ticker puts a probe into the queue every two seconds; a worker that runs it says so."""
    beats = site.ask("SELECT beat_at FROM jobs_heartbeat WHERE name = 'worker' AND beat_at <> ''")
    return any(datetime.fromisoformat(at).replace(tzinfo=UTC) > instant for (at,) in beats)


def answers(site: Site) -> bool:
    try:
        return requests.get(f"{site.url}/", timeout=5).status_code == 200
    except requests.RequestException:
        return False


def refusal(folder: Path, **settings: str) -> str:
    """What a start that must fail says, when it says one line, exits 1 and leaves nothing."""
    ended = Site(folder, **settings).run("up")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    return ended.stderr


class TestStart:
    def test_it_says_where_it_is_and_what_it_is_made_of(self, mended_site):
        said = mended_site.logs()
        assert f"http://localhost:{mended_site.settings['PORT']}" in said
        assert "SQLite" in said
        assert "No provider key is set, so the site makes test pictures only." in said
        assert "createsuperuser" in said

    def test_all_of_it_runs(self, mended_site):
        assert set(mended_site.pids()) == {"web", "cluster", "ticker", "sandbox"}
        assert answers(mended_site)
        mended_site.wait_until(lambda: queue_served_since(mended_site, LONG_AGO))

    def test_with_a_key_no_sandbox_runs(self, start_site):
        site = start_site(POLZA_API_KEY="k-for-the-test")
        assert set(site.pids()) == {"web", "cluster", "ticker"}
        assert "k-for-the-test" not in site.logs()

    @pytest.mark.postgres
    @pytest.mark.redis
    def test_it_runs_on_postgresql_and_redis(self, grown_site):
        assert "PostgreSQL" in grown_site.logs()
        assert "Redis at" in grown_site.logs()
        assert answers(grown_site)


class TestEnd:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_ends_all_of_it(self, site, number):
        processes = site.processes()
        site.up.send_signal(number)
        assert site.up.wait(5 * ENDS_WITHIN) == 0
        # What was killed last may still be on its way out.
        wait_until(lambda: running(processes) == [], seconds=5 * ENDS_WITHIN)

    def test_killed_it_takes_everything_with_it(self, site):
        site.wait_until(lambda: len(site.processes()) >= 10)
        processes = site.processes()
        site.up.kill()
        wait_until(lambda: running(processes) == [], seconds=5 * ENDS_WITHIN)

    def test_killed_it_can_be_started_again(self, site):
        site.up.kill()
        site.up.wait()
        site.start()
        assert answers(site)


class TestDeath:
    @pytest.mark.parametrize("role", ["web", "ticker", "sandbox", "cluster"])
    def test_a_dead_child_is_started_again(self, mended_site, role):
        killed = mended_site.kill(role)
        mended_site.wait_until(lambda: mended_site.pids().get(role, killed) != killed)
        mended_site.wait_until(lambda: answers(mended_site))

    @pytest.mark.parametrize(
        "part", ["q-worker", "q-monitor", "q-pusher", "q-sentinel", "q-cluster"]
    )
    def test_the_queue_is_served_after_the_death_of_any_part(self, mended_site, part):
        mended_site.kill(part)
        killed_at = datetime.now(UTC)
        mended_site.wait_until(lambda: queue_served_since(mended_site, killed_at))
        # The last word may have been that of a worker about to die with its sentinel.
        mended_site.wait_until(lambda: len(mended_site.named("q-sentinel")) == 1)
        alone_at = datetime.now(UTC)
        mended_site.wait_until(lambda: queue_served_since(mended_site, alone_at))

    def test_the_queue_is_served_after_the_death_of_every_waiting_worker(self, mended_site):
        mended_site.wait_until(lambda: mended_site.named("q-worker"))
        for worker in mended_site.named("q-worker"):
            # The cluster may already have replaced it, after the death of the first.
            with suppress(psutil.NoSuchProcess):
                worker.kill()
        killed_at = datetime.now(UTC)
        mended_site.wait_until(lambda: queue_served_since(mended_site, killed_at))

    def test_the_queue_is_served_after_the_death_of_the_whole_group(self, mended_site):
        mended_site.kill_group("cluster")
        killed_at = datetime.now(UTC)
        mended_site.wait_until(lambda: queue_served_since(mended_site, killed_at))

    def test_a_wedged_cluster_is_started_again(self, start_site):
        site = start_site(PROBE_EVERY="0.5", PROBE_TIMEOUT="2")
        site.wait_until(lambda: queue_served_since(site, LONG_AGO))
        standing = site.suspend("q-worker")
        site.wait_until(lambda: running(standing) == [])
        replaced_at = datetime.now(UTC)
        site.wait_until(lambda: queue_served_since(site, replaced_at))


class TestRefusal:
    def test_a_busy_port(self, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = str(other.getsockname()[1])
            said = refusal(tmp_path, PORT=port)
        assert said.startswith(f"counterfoil: PORT: cannot listen on 127.0.0.1 port {port}")

    def test_a_busy_port_of_the_sandbox(self, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as other:
            said = refusal(tmp_path, SANDBOX_PORT=str(other.getsockname()[1]))
        assert "SANDBOX_PORT" in said

    def test_one_port_for_both(self, tmp_path):
        port = str(free_port())
        assert "SANDBOX_PORT and PORT" in refusal(tmp_path, PORT=port, SANDBOX_PORT=port)

    def test_a_data_folder_that_cannot_be_made(self, tmp_path):
        (tmp_path / "file").touch()
        said = refusal(tmp_path, DATA_DIR=str(tmp_path / "file" / "data"))
        assert said.startswith("counterfoil: DATA_DIR")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("PORT", "eight thousand"),
            ("WORKERS", "0"),
            ("PUBLIC_URL", "pictures.example.org"),
            ("DATABASE_URL", "mysql://127.0.0.1/x"),
            ("REDIS_URL", "127.0.0.1:6379"),
        ],
    )
    def test_a_bad_setting_is_named(self, tmp_path, name, value):
        assert name in refusal(tmp_path, **{name: value})

    def test_a_database_that_does_not_answer(self, tmp_path):
        url = f"postgres://who:secret@127.0.0.1:{free_port()}/x"
        said = refusal(tmp_path, DATABASE_URL=url)
        assert "DATABASE_URL" in said
        assert "secret" not in said

    def test_a_redis_that_does_not_answer(self, tmp_path):
        said = refusal(tmp_path, REDIS_URL=f"redis://:secret@127.0.0.1:{free_port()}/0")
        assert "REDIS_URL" in said
        assert "secret" not in said

    def test_a_second_site_on_the_same_folder(self, mended_site, tmp_path):
        said = refusal(tmp_path, DATA_DIR=mended_site.settings["DATA_DIR"])
        assert f"in use by a running site (process {mended_site.up.pid})" in said
        assert answers(mended_site)

    def test_ctrl_c_before_anything_runs_is_no_traceback(self, tmp_path):
        starting = subprocess.Popen(
            [sys.executable, "manage.py", "up"],
            cwd=ROOT,
            env=Site(tmp_path).env,
            stderr=subprocess.PIPE,
            text=True,
            # A shell that runs the tests in the background has them ignore it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        wait_until(lambda: (tmp_path / "data" / "counterfoil.sqlite3").exists())
        starting.send_signal(signal.SIGINT)
        _, said = starting.communicate(timeout=60)
        assert "Traceback" not in said
        assert said.splitlines()[-1].startswith("counterfoil: stopped")
