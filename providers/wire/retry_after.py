"""Reading how long a provider asks us to stay away."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 120.0


def read_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds from 0 to 120, or None when nothing usable is said. Reads seconds, dates and ms."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _clamp(milliseconds / 1000)
    said = headers.get("Retry-After", "").strip()
    seconds = _number(said)
    if seconds is None and said:
        seconds = _seconds_until(said, now)
    return None if seconds is None else _clamp(seconds)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _seconds_until(text: str, now: datetime) -> float | None:
    try:
        then = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return (then - now).total_seconds()


def _clamp(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST)
