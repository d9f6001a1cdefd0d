"""Named points of the pipeline between two commits, at which a test lets a process die or sleep.

`COUNTERFOIL_FAULTPOINT_FILE` names a file; while it holds `point:kill` or `point:stop`, the first
process that reaches that point takes the file away (it becomes `<file>.hit`, with the process's
id in it) and kills or stops itself. Unset, as in every real set-up, a point does nothing.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

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
# Of `manage.py restore`; they are no part of a picture's life.
RESTORE_POINTS = (
    "restore_copied",
    "restore_drafted",
    "restore_files_written",
    "restore_set_aside",
    "restore_in_place",
)
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}

_file = os.environ.get("COUNTERFOIL_FAULTPOINT_FILE", "")


def reach(point: str) -> None:
    if not _file:
        return
    with suppress(FileNotFoundError):
        armed, _, action = Path(_file).read_text().partition(":")
        if armed == point and _take_away(Path(_file)):
            os.kill(os.getpid(), SIGNALS[action])


def _take_away(file: Path) -> bool:
    """True for exactly one process: only one rename finds the file."""
    mine = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        os.rename(file, mine)
    except FileNotFoundError:
        return False
    mine.write_text(str(os.getpid()))
    os.rename(mine, file.with_name(f"{file.name}.hit"))
    return True
