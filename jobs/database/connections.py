"""The connections that a request holds."""

from django.db import connections


def give_back_connections() -> bool:
    """To be called before something slow that needs no database: the next query takes a connection
    again. False inside a transaction, which keeps its own."""
    opened = connections.all(initialized_only=True)
    if any(each.in_atomic_block for each in opened):
        return False
    for each in opened:
        each.close()
    return True
