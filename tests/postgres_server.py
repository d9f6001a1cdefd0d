"""Statements about one database of a test, as its operator would send them."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from tests.databases import Database, postgres_copy


class Server:
    def __init__(self, url: str) -> None:
        self.url, self.name = url.rpartition("/")[0] + "/postgres", url.rpartition("/")[2]

    def set(self, parameter: str, value: str) -> None:
        """The default of new sessions."""
        self.run(f"ALTER DATABASE {{}} SET {parameter} = '{value}'")

    def end_sessions(self) -> None:
        self.run(
            "SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE datname = {}",
            sql.Literal(self.name),
        )

    def sessions(self) -> int:
        """How many are open."""
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        with psycopg.connect(self.url) as connection:
            found = connection.execute(count, [self.name]).fetchone()
        return found[0] if found else 0

    def run(self, statement: str, name: sql.Composable | None = None) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(name or sql.Identifier(self.name)))


@contextmanager
def encoded_database(server_url: str, encoding: str) -> Iterator[Database]:
    """An empty database that stores its text in `encoding`."""
    with postgres_copy(server_url) as database:
        server = Server(database.url)
        server.run("DROP DATABASE {}")
        server.run(
            "CREATE DATABASE {} TEMPLATE template0"
            f" ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        yield database
