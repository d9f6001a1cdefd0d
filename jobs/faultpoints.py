"""Named points of the pipeline between two commits, at which a test lets a process die or sleep.

`COUNTERFOIL_FAULTPOINT=name` kills the process that first reaches the point, `name:stop` stops it
(SIGSTOP). `COUNTERFOIL_FAULTPOINT_ONCE` names a file that is made at the first hit, so that it
happens once over all processes. Unset, as in every real set-up, reaching a point does nothing.
"""

import os
import signal

POINTS = (
    "job_committed",
    "generate_leased",
    "call_committed",
    "submit_answered",
    "submit_recorded",
    "poll_claimed",
    "poll_answered",
    "poll_recorded",
    "save_leased",
    "result_fetched",
    "picture_written",
    "picture_delivered",
)

_armed, _, _action = os.environ.get("COUNTERFOIL_FAULTPOINT", "").partition(":")
_once = os.environ.get("COUNTERFOIL_FAULTPOINT_ONCE", "")


def reach(point: str) -> None:
    if point != _armed or not _first_hit():
        return
    os.kill(os.getpid(), signal.SIGSTOP if _action == "stop" else signal.SIGKILL)


def _first_hit() -> bool:
    if not _once:
        return True
    try:
        os.close(os.open(_once, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    with open(_once, "w") as file:
        file.write(str(os.getpid()))
    return True
