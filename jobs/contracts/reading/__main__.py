"""python -m jobs.contracts.reading NAME SECONDS MEMORY OUTPUT: one file in, one JSON object out.

The file comes on standard input. The object has `extract` or `refused`. With an exit code other
than 0 the process failed or met a limit; `child` finds out which.
"""

import json
import sys

from jobs.contracts.reading.extraction import extract
from jobs.contracts.reading.filetypes import MOST_BYTES
from jobs.contracts.reading.limits import Limits, apply
from jobs.contracts.reading.refusals import Reason, Unreadable


def main(name: str, seconds: str, memory: str, output: str) -> None:
    apply(Limits(float(seconds), int(memory), int(output)))
    answer: dict[str, object]
    try:
        found = extract(sys.stdin.buffer.read(MOST_BYTES + 1), name)
        answer = {"extract": found.as_json()}
    except Unreadable as error:
        answer = {"refused": error.reason}
    except MemoryError:
        answer = {"refused": Reason.MEMORY}
    except RecursionError:
        answer = {"refused": Reason.DAMAGED}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:5])
