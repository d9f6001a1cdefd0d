"""The limit of open files. Each open page takes one, and the usual limit is 1,024."""

import sys

# Tried if the hard limit itself is refused, as macOS refuses an unlimited one.
INSTEAD = (65_536, 10_240)


def raise_limit() -> None:
    """Raise it to the hard limit or as far as possible. The process starts in any case."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft in (hard, resource.RLIM_INFINITY):
        return
    for most in (hard, *(number for number in INSTEAD if number > soft)):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        except (OSError, ValueError):
            continue
        return


def most_files() -> int:
    """What `raise_limit` comes to."""
    if sys.platform == "win32":
        return INSTEAD[0]
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return INSTEAD[0] if hard == resource.RLIM_INFINITY else hard
