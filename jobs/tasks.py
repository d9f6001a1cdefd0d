"""What workers run. A task takes ids and reads the rows again; it may run twice in a row."""

import uuid

from jobs import engine, heartbeats, ticker


def advance(job_id: str) -> None:
    heartbeats.beat("worker")
    engine.advance(uuid.UUID(job_id))


def probe() -> None:
    heartbeats.beat_now("worker")


def stand_in_for_ticker() -> None:
    """By schedule, each minute: one tick's work, for the case that no ticker lives."""
    heartbeats.beat("worker")
    ticker.tick_once_if_alone()
