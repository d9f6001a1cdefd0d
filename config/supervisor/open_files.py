"""How many files a process may have open: each open page is one, and the usual limit is 1,024."""

import sys

# What is tried where the hard limit itself is refused, as an unlimited one is on macOS.
INSTEAD = (65_536, 10_240)


def raise_limit() -> None:
    """To the hard limit, or as far as it goes. Whatever is refused, the process starts."""
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
