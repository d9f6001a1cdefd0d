"""The limits of the process that reads one file."""

import resource
import sys
from dataclasses import dataclass

BLOCKED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system")


@dataclass(frozen=True)
class Limits:
    """`memory` and `output` in bytes."""

    seconds: float = 120.0
    memory: int = 700 * 2**20
    output: int = 60 * 2**20


def apply(limits: Limits) -> None:
    """To this process, for good: no network, no programs, no files, bounded memory and time."""
    seconds = max(1, int(limits.seconds))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.addaudithook(refuse_contact)


def refuse_contact(event: str, _arguments: object) -> None:
    if event.startswith(BLOCKED):
        raise PermissionError(f"{event} is not for a process that reads files")
