"""A session of PostgreSQL that is over is replaced before the next statement, by itself."""

import dj_database_url
import pytest
from django.db import InternalError, OperationalError, ProgrammingError, transaction
from django.db.utils import ConnectionHandler

from config.db import options
from config.db.postgresql import pool as pools
from tests.postgres_server import Server

pytestmark = pytest.mark.postgres


@pytest.fixture
def connect(postgres_database, django_db_blocker):
    """connect(pool_size) is a connection of the site's own kind, to a database of the test."""
    opened = []

    def connect(pool_size: int = 0):
        database = dj_database_url.parse(postgres_database.url)
        settings = options.postgresql(dict(database), pool_size=pool_size, max_age=60)
        opened.append(ConnectionHandler({"default": settings})["default"])
        return opened[-1]

    with django_db_blocker.unblock():
        yield connect
        for each in opened:
            each.close()
            each.close_pool()


@pytest.fixture
def server(postgres_database) -> Server:
    return Server(postgres_database.url)


def ask(connection, statement: str = "SELECT pg_backend_pid()"):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0] if cursor.description else None


@pytest.fixture
def atomic(monkeypatch):
    """transaction.atomic() of a connection that is not among the site's."""

    def of(connection) -> transaction.Atomic:
        monkeypatch.setattr(transaction, "get_connection", lambda using=None: connection)
        return transaction.atomic()

    return of


def test_a_session_that_refused_a_write_is_replaced_though_the_error_was_handled(
    connect, server, atomic
):
    connection = connect()
    server.set("default_transaction_read_only", "on")
    first = ask(connection)
    with pytest.raises(InternalError), atomic(connection):
        ask(connection, "CREATE TABLE refused ()")
    server.set("default_transaction_read_only", "off")
    assert ask(connection) != first
    ask(connection, "CREATE TABLE taken ()")


def test_a_session_that_the_server_ended_is_replaced_before_it_is_used(connect, server):
    connection = connect()
    first = ask(connection)
    server.end_sessions()
    assert ask(connection) != first


def test_a_transaction_begins_in_a_session_that_lives(connect, server, atomic):
    connection = connect()
    ask(connection)
    server.end_sessions()
    with atomic(connection):
        assert ask(connection, "SELECT 1") == 1


def test_within_a_transaction_no_session_is_replaced(connect, server, atomic):
    """Earlier writes of the transaction would be lost silently."""
    connection = connect()
    with pytest.raises(OperationalError), atomic(connection):
        [ask(connection), server.end_sessions(), ask(connection)]
    assert ask(connection, "SELECT 1") == 1


@pytest.mark.parametrize(
    "statement",
    ["SELECT nothing", "SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(5)"],
)
def test_an_error_of_one_statement_costs_no_session(connect, statement):
    connection = connect()
    first = ask(connection)
    with pytest.raises((ProgrammingError, OperationalError)):
        ask(connection, statement)
    assert ask(connection) == first


def test_a_notice_of_the_server_costs_no_session(connect):
    """It arrives unrequested, as the message of an end does."""
    connection = connect()
    first = ask(connection)
    ask(connection, "LISTEN anything")
    ask(connect(), "NOTIFY anything")
    assert ask(connection) == first


def test_the_pool_uses_a_read_only_session_for_a_moment_only(connect, server, monkeypatch):
    server.set("default_transaction_read_only", "on")
    connection = connect(pool_size=1)
    first = ask(connection)
    connection.close()
    assert ask(connection) == first
    connection.close()
    monkeypatch.setattr(pools, "READ_ONLY_LASTS", 0)
    assert ask(connection) != first


def test_one_ended_session_has_all_idle_ones_replaced(connect, server):
    many = [connect(pool_size=4) for _ in range(4)]
    before = {ask(connection) for connection in many}
    for connection in many:
        connection.close()
    server.end_sessions()
    after = {ask(connection) for connection in many}
    assert len(before) == len(after) == 4
    assert not before & after
