"""`manage.py sandbox` as a process: one line, a quick end, a bill that survives kill -9."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from tests.providers.sandbox.conftest import PATIENCE

ROOT = Path(__file__).resolve().parents[3]
QUICK = ("--seconds", "0.05", "--minute", "0.01")


@pytest.fixture
def run_sandbox(tmp_path):
    """Starts the command; what still runs is killed with the test."""
    running = []

    def run(*options, data_dir=None):
        command = [sys.executable, "manage.py", "sandbox", "--data-dir", data_dir or tmp_path]
        process = subprocess.Popen(
            [*command, *QUICK, *options],
            cwd=ROOT,
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def url_of(process):
    ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
    line = process.stdout.readline() if ready else ""
    assert line.startswith("sandbox: http"), line or process.stderr.read()
    return line.split()[1]


def submit(url, **kwargs):
    return requests.post(
        f"{url}/v1/media",
        json={"model": "m", "async": True, "input": {"prompt": "a fox"}},
        headers={"Authorization": "Bearer k", "X-Sandbox-Work": "image:1"},
        timeout=PATIENCE,
        **kwargs,
    )


def refusal_of(process):
    """The one line on stderr of a command that would not start."""
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert len(said.strip().splitlines()) == 1, said
    return said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_within_a_second(run_sandbox, number):
    process = run_sandbox("--port", "0")
    submit(url_of(process))
    sent_at = time.monotonic()
    process.send_signal(number)
    assert process.wait(timeout=PATIENCE) == 0
    assert time.monotonic() - sent_at < 5


def submit_until_it_dies(url):
    """The ids that the client learned before the connection was lost."""
    learned = []
    try:
        while True:
            learned.append(submit(url).json()["id"])
    except requests.RequestException:
        return learned


def seen_by(url: str) -> int:
    return len(requests.get(f"{url}/_ledger", timeout=PATIENCE).json()["asked"].get("image:1", []))


def test_kill_9_under_load_leaves_no_execution_unbilled(run_sandbox):
    process = run_sandbox("--port", "0")
    url = url_of(process)
    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(submit_until_it_dies, url) for _ in range(4)]
        while seen_by(url) < 40:
            assert process.poll() is None
        process.kill()
        learned = {each for client in clients for each in client.result(timeout=2 * PATIENCE)}
    bill = requests.get(f"{url_of(run_sandbox('--port', '0'))}/_ledger", timeout=PATIENCE).json()
    executed = {row["id"] for row in bill["generations"]}
    assert learned
    assert learned <= executed
    assert bill["works"]["image:1"] == {"executions": len(executed), "charges": len(executed)}


def test_it_serves_https(run_sandbox, certificate):
    ca_file, certfile, keyfile = map(str, certificate)
    url = url_of(run_sandbox("--port", "0", "--certfile", certfile, "--keyfile", keyfile))
    assert url.startswith("https://127.0.0.1:")
    assert submit(url, verify=ca_file).ok


def test_a_busy_port_is_one_line_naming_it(run_sandbox):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"127.0.0.1:{port}" in refusal_of(run_sandbox("--port", str(port)))


def test_an_unwritable_folder_is_one_line_naming_it(run_sandbox, tmp_path):
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "below"
    assert str(folder) in refusal_of(run_sandbox("--port", "0", data_dir=folder))


def test_a_spoilt_bill_is_one_line_naming_it(run_sandbox, tmp_path):
    (tmp_path / "sandbox.sqlite3").write_text("not a database, by any means" * 100)
    assert "sandbox.sqlite3" in refusal_of(run_sandbox("--port", "0"))


def test_a_missing_certificate_is_one_line_naming_it(run_sandbox, tmp_path):
    process = run_sandbox("--certfile", "nowhere.pem", "--keyfile", "nowhere.pem")
    assert "nowhere.pem" in refusal_of(process)


def test_a_wrong_certificate_is_one_line_naming_it(run_sandbox, tmp_path):
    file = tmp_path / "cert.pem"
    file.write_text("no certificate")
    assert str(file) in refusal_of(run_sandbox("--certfile", file, "--keyfile", file))
