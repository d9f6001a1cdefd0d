"""A whole site on each pair of stores, with times scaled so that a lease lapses in seconds."""

import secrets
from pathlib import Path

import pytest
import redis
import requests
from django.utils.crypto import salted_hmac

from tests.site_orders import Desk
from tests.site_process import Site

SCALED = {
    "WORKERS": "3",
    "SANDBOX_SECONDS": "0.4",
    "POLL_EVERY": "0.3",
    # Longer than a busy machine holds anything up: a request that is late is another story.
    "SEND_WITHIN": "5",
    "SANDBOX_SILENCE_TIMEOUT": "10",
    "SANDBOX_ANSWER_TIMEOUT": "10",
    "LEASE_LASTS": "1.5",
    "TICKER_LEASE_LASTS": "2",
    "WAKE_AGAIN_AFTER": "1",
    "PROBE_EVERY": "0.5",
    "PROBE_TIMEOUT": "3",
}


class ChaosSite(Site):
    """A site whose orders, rows and bill a test reads, and whose fault points it arms."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.fault_file = folder / "faultpoint"
        super().__init__(
            folder, COUNTERFOIL_FAULTPOINT_FILE=str(self.fault_file), **(SCALED | settings)
        )
        # Two, since the one that places may be told to die or sleep on the way.
        self.placing, self.reading = Desk(self.env), Desk(self.env)

    def arm(self, point: str, action: str) -> None:
        self.hit.unlink(missing_ok=True)
        draft = self.fault_file.with_name("draft")
        draft.write_text(f"{point}:{action}")
        draft.rename(self.fault_file)

    @property
    def hit(self) -> Path:
        return self.fault_file.with_name(f"{self.fault_file.name}.hit")

    def order(self, *names: str) -> dict[str, str]:
        return self.placing.ask("place", *names)

    def rows(self) -> dict[str, dict]:
        return self.reading.ask("report")

    def start(self) -> "ChaosSite":
        super().start()
        # What is read in a moment must not wait for the reader to start.
        self.rows()
        return self

    def close(self) -> None:
        self.placing.close()
        self.reading.close()
        self.stop()

    def requests_of(self, job: str) -> int:
        """How many submits for this job reached the sandbox."""
        return len(self._bill()["asked"].get(f"image:{job}", []))

    def executions(self) -> dict[str, int]:
        bill = self._bill()
        return {work: entry["executions"] for work, entry in bill["works"].items()}

    def _bill(self) -> dict:
        return requests.get(f"{self.sandbox_url}/_ledger", timeout=60).json()


@pytest.fixture(
    scope="module",
    params=["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.redis])],
)
def stores(request, tmp_path_factory):
    """The settings of a pair of stores: SQLite with its own queue, or PostgreSQL with Redis."""
    if request.param == "sqlite":
        yield {}
        return
    copy_postgres = request.getfixturevalue("copy_postgres")
    queue = request.getfixturevalue("redis_url")
    key = secrets.token_hex(32)
    with redis.Redis.from_url(queue) as client, copy_postgres() as database:
        yield {"DATABASE_URL": database.url, "REDIS_URL": queue, "SECRET_KEY": key}
        for left_over in client.scan_iter(f"django_q:{name_of_queue(key)}*"):
            client.delete(left_over)


def name_of_queue(key: str) -> str:
    return f"counterfoil-{salted_hmac('queue', 'name', secret=key).hexdigest()[:12]}"


@pytest.fixture(scope="module")
def site(stores, tmp_path_factory):
    site = ChaosSite(tmp_path_factory.mktemp("site"), **stores)
    try:
        yield site.start()
    finally:
        site.close()
