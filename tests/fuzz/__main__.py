"""python -m tests.fuzz --seconds 300 --db postgres

Exits 1 when an answer was 500 or 503, a connection got none, or the log has a traceback. The
database is one of its own; PostgreSQL is found by TEST_DATABASE_URL.
"""

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

FAULTS_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--db", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, help="write the log of the web process there")
    options = parser.parse_args()

    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()

    from tests import databases
    from tests.conftest import POSTGRES
    from tests.fuzz.run import run

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fuzz-")))
        if options.db == "sqlite":
            database = databases.Database("sqlite", f"sqlite:///{folder}/fuzz.sqlite3")
        else:
            url = os.environ.get("TEST_DATABASE_URL", POSTGRES)
            database = stack.enter_context(databases.postgres_copy(url))
        databases.migrate(database, folder)
        result = run(database, folder, seconds=options.seconds, seed=options.seed)
    print(f"{options.db}, seed {options.seed}")
    for line in result.lines():
        print(line)
    for request in result.faults[:FAULTS_SHOWN]:
        print(repr(request[:400]))
    if options.log:
        options.log.write_text(result.log)
    return 0 if result.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
