#!/usr/bin/env python
"""Counterfoil's command line. A bad setting is one line on stderr and exit 1, never a traceback."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as exc:
        sys.exit(f"counterfoil: {exc}")


if __name__ == "__main__":
    main()
