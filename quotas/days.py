"""The UTC day, which quotas and counts are kept by."""

from datetime import UTC, date, datetime


def utc_day(now: datetime) -> date:
    if now.tzinfo is None:
        raise ValueError("the day of a naive datetime depends on the machine's time zone")
    return now.astimezone(UTC).date()
