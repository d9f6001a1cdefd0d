"""Times of a site in a drill, scaled so that hundreds of rounds take minutes."""

from datetime import timedelta

from tests.drill.patches import replace

# Longest: a request that the proxy holds, a process that is stopped, a leap of the clock.
MOST_HELD = 2.5
MOST_STOPPED = 4.0
MOST_SPELL = 6.0
# Whole seconds, as a Retry-After names them.
SILENCE = 3
LEAP = 6.0
# Much longer than a lease, and than a ticker's duty: another process has taken over by then.
POINT_SLEEPS = 8.0
TICKER_SLEEPS = 4.0

SCALED = {
    "SANDBOX_SECONDS": "0.5",
    "SANDBOX_MINUTE": "0.2",
    "SANDBOX_HOOKS": "STANDARD",
    "SANDBOX_KEY_EXCLUSIVE": "yes",
    "SANDBOX_LIST_LAG": "6",
    "POLL_EVERY": "0.5",
    "SLOW_POLL_EVERY": "1.5",
    "CALL_DEADLINE": "5",
    "CONNECT_TIMEOUT": "2",
    "SANDBOX_SILENCE_TIMEOUT": "2",
    "SANDBOX_ANSWER_TIMEOUT": "2",
    "SEND_WITHIN": "3",
    "POLL_TIMEOUT": "3",
    "FETCH_TIMEOUT": "4",
    "NO_OUTPUT_WAIT": "60",
    "SANDBOX_RESULT_RETENTION": "180",
    "POOL_WAIT": "15",
    "ERROR_PAUSE": "0.5",
    "LEASE_LASTS": "3",
    "TICKER_LEASE_LASTS": "2",
    "WAKE_AGAIN_AFTER": "2",
    "PROBE_EVERY": "1",
    "PROBE_TIMEOUT": "5",
    "STOP_GRACE": "4",
    "POLL_THREADS": "32",
    "LOG_LEVEL": "ERROR",
}
SKEW = timedelta(seconds=5)
"""All clocks of a drill are one; what is left is how late a held request may run."""


def install() -> None:
    """Scale what is a constant in a module of the product."""
    from config.supervisor import watch
    from jobs.core import leases
    from jobs.engine import advance
    from jobs.pictures import saving
    from providers import recovery

    # Only of a machine that is too busy to start a process in time: no act stops it for so long.
    replace(watch, "SILENT_FOR", 120.0)
    replace(recovery, "SKEW", SKEW)
    replace(leases, "DEATH_DELAYS", (1, 2, 4, 8))
    replace(saving, "FETCH_DELAYS", (1, 1, 2))
    replace(saving, "STORE_DELAYS", (1, 1, 2))
    replace(advance, "RETRY_AFTER_OUTAGE", timedelta(seconds=1))
