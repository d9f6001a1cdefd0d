"""The sandbox's own bill: what it executed and charged, by work, in a file of its own.

Invariant: a generation is in the file before the client can learn of it, so a process killed at
any point leaves no execution unbilled. Written by one server; read by anyone who doubts the site.
"""

import secrets
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

from providers.sandbox.faults import Fault, find_fault
from providers.sandbox.orders import Order

PRICE = Decimal("5.00")
OPENING_BALANCE = Decimal("100000.00")

# What the fault `late_output` lists, one after the other, before its picture.
EMPTY_OUTPUTS: tuple[Any, ...] = (None, [], {})

SCHEMA = """
CREATE TABLE IF NOT EXISTS generations (
    id TEXT PRIMARY KEY,
    work TEXT NOT NULL,
    model TEXT NOT NULL,
    fault TEXT NOT NULL,
    prompt TEXT NOT NULL,
    aspect_ratio TEXT NOT NULL,
    key_digest TEXT NOT NULL,
    executed_at REAL NOT NULL,
    completes_at REAL NOT NULL,
    charged TEXT NOT NULL,
    failure_told_at REAL,
    failure_told INTEGER NOT NULL DEFAULT 0,
    key_leaked INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS generations_by_work ON generations (work);
CREATE INDEX IF NOT EXISTS generations_by_execution ON generations (executed_at);
CREATE TABLE IF NOT EXISTS asked (work TEXT NOT NULL, model TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS asked_by_work ON asked (work);
"""

INSERT = "INSERT INTO generations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, 0, 0)"
PUBLIC_COLUMNS = (
    "id, work, model, fault, executed_at, completes_at, charged,"
    " failure_told_at, failure_told, key_leaked"
)


@dataclass(slots=True)
class Generation:
    """One run of the provider. Instants are unix seconds; `charged` is in RUB."""

    id: str
    work: str
    model: str
    fault: Fault
    prompt: str
    aspect_ratio: str
    key_digest: str
    executed_at: float
    completes_at: float
    charged: Decimal
    failure_told_at: float | None = None
    # Counters for faults that depend on the number of requests. A restart resets them.
    polls: Iterator[int] = field(default_factory=lambda: count(1))
    downloads: Iterator[int] = field(default_factory=lambda: count(1))
    listings: Iterator[int] = field(default_factory=lambda: count(1))
    ends_told: Iterator[int] = field(default_factory=lambda: count(1))
    expired: int = 0
    """Addresses of its file that were issued up to then (unix time in ns) serve nothing more."""


def _new_id() -> str:
    return f"gen_{secrets.randbelow(10**18):018}"


def _columns(generation: Generation) -> tuple[object, ...]:
    return (
        generation.id,
        generation.work,
        generation.model,
        generation.fault.name,
        generation.prompt,
        generation.aspect_ratio,
        generation.key_digest,
        generation.executed_at,
        generation.completes_at,
        str(generation.charged),
    )


class Bill:
    """Running generations are answered from memory; the file is the record behind them."""

    def __init__(self, path: Path | str) -> None:
        self._lock = Lock()
        self._generations: dict[str, Generation] = {}
        # The lock makes one connection enough for all threads.
        self._file = sqlite3.connect(path, timeout=5, check_same_thread=False, isolation_level=None)
        try:
            self._file.row_factory = sqlite3.Row
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.executescript(SCHEMA)
            # A file on a read-only disk can be opened, and would be read-only for ever.
            self._file.execute("DELETE FROM asked WHERE 0")
        except sqlite3.Error:
            self._file.close()
            raise

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def count_submit(self, work: str, model: str) -> int:
        """How many submits of this work were seen for this model, this one included."""
        with self._lock:
            self._file.execute("INSERT INTO asked VALUES (?, ?)", (work, model))
            asked = "SELECT count(*) FROM asked WHERE work = ? AND model = ?"
            return self._file.execute(asked, (work, model)).fetchone()[0]

    def execute(self, order: Order, *, now: float, seconds: float) -> Generation:
        """Start a generation, charged at once; on return it is in the file."""
        generation = Generation(
            id=_new_id(),
            work=order.work,
            model=order.model,
            fault=order.fault,
            prompt=order.prompt,
            aspect_ratio=order.aspect_ratio,
            key_digest=order.key_digest,
            executed_at=now,
            completes_at=now + seconds,
            charged=PRICE * order.fault.charges,
        )
        self._write(INSERT, *_columns(generation))
        self._generations[generation.id] = generation
        return generation

    def find(self, generation_id: str) -> Generation | None:
        return self._generations.get(generation_id) or self._reload(generation_id)

    def stranger_to(self, generation: Generation) -> Generation:
        """The latest finished run of another work; one that never was where there is none."""
        rows = self._read(
            "SELECT id FROM generations WHERE work <> ? AND completes_at <= ? AND charged <> '0.00'"
            " ORDER BY rowid DESC LIMIT 20",
            generation.work,
            time.time(),
        )
        finished = (self.find(row["id"]) for row in rows)
        good = (found for found in finished if found and found.fault.gives_picture)
        return next(good, None) or replace(generation, id=_new_id())

    def tell_failure(self, generation: Generation, *, now: float) -> None:
        """Note, before the client hears it, that a poll reports this failure."""
        row = self._write(
            "UPDATE generations SET failure_told_at = COALESCE(failure_told_at, ?),"
            " failure_told = failure_told + 1 WHERE id = ? RETURNING failure_told_at",
            now,
            generation.id,
        )
        generation.failure_told_at = row["failure_told_at"]

    def note_leaked_key(self, generation: Generation) -> None:
        self._write("UPDATE generations SET key_leaked = 1 WHERE id = ?", generation.id)

    def generations_between(
        self, *, key_digest: str, since: float, until: float
    ) -> list[Generation]:
        rows = self._read(
            "SELECT id FROM generations WHERE key_digest = ? AND executed_at BETWEEN ? AND ?"
            " ORDER BY executed_at, rowid",
            key_digest,
            since,
            until,
        )
        found = (self.find(row["id"]) for row in rows)
        return [generation for generation in found if generation]

    def balance(self) -> Decimal:
        charges = self._read("SELECT charged FROM generations")
        return OPENING_BALANCE - sum((Decimal(row["charged"]) for row in charges), Decimal(0))

    def ledger(self, work: str | None = None) -> dict:
        """The whole bill, or one work's part of it, as it is shown at `/_ledger`."""
        where, wanted = ("WHERE work = ?", (work,)) if work is not None else ("", ())
        rows = self._read(
            f"SELECT {PUBLIC_COLUMNS} FROM generations {where} ORDER BY rowid", *wanted
        )
        asked: dict[str, list[str]] = {}
        for row in self._read(f"SELECT work, model FROM asked {where} ORDER BY rowid", *wanted):
            asked.setdefault(row["work"], []).append(row["model"])
        works: dict[str, dict[str, int]] = {}
        for row in rows:
            total = works.setdefault(row["work"], {"executions": 0, "charges": 0})
            total["executions"] += 1
            total["charges"] += Decimal(row["charged"]) > 0
        return {
            "generations": [{**dict(row), "key_leaked": bool(row["key_leaked"])} for row in rows],
            "works": works,
            "asked": asked,
        }

    def _reload(self, generation_id: str) -> Generation | None:
        rows = self._read("SELECT * FROM generations WHERE id = ?", generation_id)
        if not rows:
            return None
        columns = dict(rows[0])
        del columns["failure_told"], columns["key_leaked"]
        columns["fault"] = find_fault(columns["fault"])
        columns["charged"] = Decimal(columns["charged"])
        # A restart forgets which addresses had expired, and begins with none. It does not delay an
        # output a second time: a run may be complete without output for so long and no longer.
        told = count(len(EMPTY_OUTPUTS) + 1)
        reloaded = Generation(**columns, expired=1, ends_told=told)
        return self._generations.setdefault(generation_id, reloaded)

    def _read(self, statement: str, *values: object) -> list[sqlite3.Row]:
        with self._lock:
            return self._file.execute(statement, values).fetchall()

    def _write(self, statement: str, *values: object) -> sqlite3.Row:
        """Commits before it returns (autocommit); the first returned row, if any."""
        with self._lock:
            return self._file.execute(statement, values).fetchone()
