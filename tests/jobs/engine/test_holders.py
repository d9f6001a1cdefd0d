"""A holder on this machine that died is known at once; of any other nothing is claimed."""

import os
import signal
import subprocess
import sys

from jobs.core import holders
from tests.site_process import wait_until


def child() -> tuple[subprocess.Popen, str]:
    script = (
        "import time; from jobs.core import holders;"
        " print(holders.this_holder(), flush=True); time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=os.getcwd()
    )
    return process, process.stdout.readline().strip()


def test_this_process_is_not_dead():
    assert not holders.is_surely_dead(holders.this_holder())


def test_a_killed_process_is_dead_before_it_is_reaped():
    process, holder = child()
    assert not holders.is_surely_dead(holder)
    process.send_signal(signal.SIGKILL)
    wait_until(lambda: holders.is_surely_dead(holder))
    process.wait()
    process.stdout.close()
    assert holders.is_surely_dead(holder)


def test_a_stopped_process_is_not_dead():
    process, holder = child()
    process.send_signal(signal.SIGSTOP)
    assert not holders.is_surely_dead(holder)
    process.kill()
    process.wait()
    process.stdout.close()


def test_another_process_under_the_same_number_is_not_the_holder():
    machine, pid, start, token = holders.this_holder().split("/")
    assert holders.is_surely_dead(f"{machine}/{pid}/{int(start) - 1}/{token}")


def test_nothing_is_claimed_of_another_machine():
    assert not holders.is_surely_dead("elsewhere/1/1/aa")
    assert not holders.is_surely_dead("")


def test_a_fork_is_another_holder():
    mine = holders.this_holder()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writer, holders.this_holder().encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    theirs = os.read(reader, 200).decode()
    os.close(reader)
    assert theirs != mine
