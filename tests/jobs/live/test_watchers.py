"""What the hub's thread waits with."""

import psycopg
import pytest

from jobs.live.watchers import PostgresWatcher


@pytest.fixture
def watcher(postgres_url, monkeypatch):
    def listen(watcher: PostgresWatcher) -> psycopg.Connection:
        return psycopg.connect(postgres_url, autocommit=True)

    monkeypatch.setattr(PostgresWatcher, "_listen", listen)
    watcher = PostgresWatcher()
    yield watcher
    watcher.close()


@pytest.mark.postgres
def test_a_watcher_that_was_closed_while_nobody_looked_listens_again(watcher):
    """And looks at once: what happened meanwhile it has not heard."""
    assert watcher.wait(0)
    watcher.close()
    assert watcher.wait(0)
