"""Generations of 60 s in flight: the lag of their polls, and whether workers stay free.

The real workers send, the real ticker polls and the real sandbox draws, each in its own process,
on SQLite in a folder of its own. The lag of a poll is the time from its `poll_at` to the moment
its request starts; the aim is the 99th percentile within 1 s. A fresh job is ordered every few
seconds in the middle of it: its pick-up time says whether workers are free.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import django
import psutil

from tests.bench._size import choose
from tests.site_process import ROOT, free_port

COUNTS = choose((200, 1000), (2,))
SECONDS = choose(60, 4)
PROBE_EVERY = choose(3, 0.5)
NEVER = 600


def main() -> None:
    """Each count in a process of its own, on a database of its own."""
    for count in COUNTS:
        subprocess.run(
            [sys.executable, "-m", "tests.bench.inflight", "measure", str(count)],
            cwd=ROOT,
            check=True,
        )


def report(count: int, seen: dict) -> None:
    lags, pickups = seen["lags"], seen["pickups"]
    print(f"{count} generations of {SECONDS} s")
    print(f"  sent in          {seen['sent_in']:7.1f} s, {seen['together']} in flight together")
    print(f"  polls            {len(lags):7d}")
    print(f"  lag p50/p95/p99  {at(lags, 50):.3f} / {at(lags, 95):.3f} / {at(lags, 99):.3f} s")
    print(f"  pick-up of a fresh job p50/max  {at(pickups, 50):.3f} / {max(pickups):.3f} s")
    print(f"  ticker           {seen['cpu']:.0%} of a core, {seen['memory'] / 2**20:.0f} MiB")
    print(f"  ready            {seen['ready']} of {count + len(pickups)}", flush=True)


def at(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def measure(count: int) -> dict:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as house:
        prepare(Path(folder))
        from jobs.core.models import Job
        from providers.calls.models import Call

        for command in ("sandbox", "cluster"):
            house.callback(end, start([sys.executable, "manage.py", command]))
        ticker = start([sys.executable, "-m", "tests.bench.inflight", "ticker", f"{folder}/lags"])
        house.callback(end, ticker)
        # A request that finds no sandbox would pause its model.
        wait_for(lambda: is_listening(int(os.environ["SANDBOX_PORT"])))
        began = time.monotonic()
        order(count)
        wait_for(lambda: not Job.objects.filter(state="queued").exists())
        sent_in = time.monotonic() - began
        together = Call.objects.filter(state="accepted").count()
        usage = psutil.Process(ticker.pid)
        cpu_before, measured_from = sum(usage.cpu_times()[:2]), time.monotonic()
        pickups = probe_while(lambda: time.monotonic() < began + SECONDS)
        cpu = (sum(usage.cpu_times()[:2]) - cpu_before) / (time.monotonic() - measured_from)
        memory = usage.memory_info().rss
        wait_for(lambda: not Job.objects.open().exists())
        ready = Job.objects.filter(state="ready").count()
        end(ticker)
        lags = json.loads(Path(f"{folder}/lags").read_text())
        return {
            "sent_in": sent_in,
            "together": together,
            "pickups": pickups,
            "cpu": cpu,
            "memory": memory,
            "ready": ready,
            "lags": lags,
        }


def prepare(folder: Path) -> None:
    os.environ |= {
        "DATA_DIR": str(folder),
        "SANDBOX_PORT": str(free_port()),
        "SANDBOX_SECONDS": str(SECONDS),
        "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
        "DJANGO_SETTINGS_MODULE": "tests.scaled",
    }
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, check=True)
    django.setup()


def start(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, cwd=ROOT, start_new_session=True)


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def order(count: int) -> None:
    from django.utils import timezone

    from jobs.pictures.orders import PictureOrder, order_picture
    from providers.adapters.registry import offers
    from quotas import accounts
    from quotas.models import Plan

    plan = Plan.objects.get(name="operator")
    for number in range(count):
        account = accounts.account_named(f"bench-{number % 10}")
        account.plan = plan
        request = PictureOrder(prompt=f"fox {number}", aspect_ratio="1:1", offer=offers()[0])
        order_picture(
            account=account,
            order=request,
            form_key=f"{time.time()}-{number}",
            now=timezone.now(),
        )


def probe_while(going_on) -> list[float]:
    """How long each fresh job waits for its worker, as (sent - ordered)."""
    from jobs.core.models import Job

    pickups = []
    # Percentiles need two.
    while going_on() or len(pickups) < 2:
        order(1)
        job = Job.objects.order_by("-created_at").first()
        wait_for(lambda job=job: job.events.filter(name="sent").exists())
        pickups.append((job.events.get(name="sent").at - job.created_at).total_seconds())
        time.sleep(PROBE_EVERY)
    return pickups


def wait_for(condition) -> None:
    until = time.monotonic() + NEVER
    while not condition():
        if time.monotonic() > until:
            sys.exit("the site did not get there in time")
        time.sleep(0.02)


def run_ticker(lags_file: str) -> None:
    """The product's ticker, each poll's lag noted as its request starts."""
    django.setup()
    from django.utils import timezone

    from jobs.processes import ticker as module
    from providers.calls import ledger

    lags: list[float] = []
    due: dict[int, object] = {}
    claim, poll = ledger.claim_polls, module._poll

    def noting_claim(calls, now):
        due.update({call.pk: call.poll_at for call in calls})
        claim(calls, now)

    def noting_poll(call, reference):
        if call.pk in due:
            lags.append((timezone.now() - due.pop(call.pk)).total_seconds())
        return poll(call, reference)

    ledger.claim_polls, module._poll = noting_claim, noting_poll
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    module.Ticker().run(stop)
    Path(lags_file).write_text(json.dumps(lags))
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "measure":
        report(int(sys.argv[2]), measure(int(sys.argv[2])))
    else:
        run_ticker(sys.argv[2])
