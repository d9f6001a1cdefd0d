"""Makes the kernel kill a child when its parent dies in any way.

Linux only. On other systems the next `up` kills the processes that `records` lists. The kernel acts
when the *thread* that forked ends, so only forks of the main thread are tied.

As a script it ties itself and then becomes the command: tether.py PARENT_PID COMMAND ARG...
"""

import ctypes
import os
import signal
import sys
import threading

PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

_forking_pid = 0


def tie_to(parent: int) -> None:
    if LIBC is None:
        return
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # The parent may have died before the line above. Then no signal comes.
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def tie_forks() -> None:
    """From now on, each fork of this process and of its forks dies with its parent."""
    os.register_at_fork(before=_note_parent, after_in_child=_tie_to_noted_parent)


def _note_parent() -> None:
    global _forking_pid
    in_main_thread = threading.current_thread() is threading.main_thread()
    _forking_pid = os.getpid() if in_main_thread else 0


def _tie_to_noted_parent() -> None:
    if _forking_pid:
        tie_to(_forking_pid)


def set_name(name: str) -> None:
    """The name of this process in `ps` and `top`. Forks inherit it."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)


if __name__ == "__main__":
    tie_to(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
