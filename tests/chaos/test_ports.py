"""A port that was given out is nobody else's, though nobody listens on it yet."""

import socket

import pytest

from tests.ports import free_port


def test_nobody_else_can_have_it():
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", free_port()))


def test_a_server_may_listen_on_it_again_and_again():
    port = free_port()
    for _ in range(2):
        with socket.create_server(("127.0.0.1", port)):
            socket.create_connection(("127.0.0.1", port)).close()


def test_until_then_nobody_is_answered():
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", free_port()))
