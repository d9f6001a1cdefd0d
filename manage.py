#!/usr/bin/env python
"""Counterfoil's command line. A bad setting is one line on stderr and exit 1, never a traceback."""

import os
import signal
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import Error, connection

    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except ImproperlyConfigured as exc:
        sys.exit(f"counterfoil: {exc}")
    except Error as exc:
        # What was found after the connection was made is a fault, and needs its traceback.
        if connection.connection is not None:
            raise
        sys.exit(f"counterfoil: the database cannot be opened: {str(exc).strip().splitlines()[0]}")
    except BrokenPipeError:
        # Who read our output left. The exit must not try to write the rest of it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


if __name__ == "__main__":
    main()
