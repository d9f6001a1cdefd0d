"""Spoiled requests within this process: no view and no middleware raises, with the limits on."""

from random import Random
from urllib.parse import unquote_to_bytes

import pytest
from django.test import Client

from quotas.ratelimit.limiter import limiter
from tests import rows
from tests.fuzz.addresses import all_addresses
from tests.fuzz.requests import Request, plain, spoil

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued", "media")]

MANY = 400
# Of the connection, which a test client has none of.
LEFT_OUT = {b"host", b"content-length", b"transfer-encoding"}


@pytest.fixture
def values(account, now, ben) -> dict[str, list[str]]:
    job = rows.ready(account, now)
    ids = {"job_id": job.pk, "picture_id": job.pictures.get().pk, "object_id": ben.pk, "id": ben.pk}
    return {name: [str(value)] for name, value in ids.items()} | {"provider": ["sandbox"]}


def send(client: Client, request: Request):
    """As WSGI has it: percent escapes of the path are decoded, and all bytes are Latin-1."""
    target = unquote_to_bytes(b"".join(request.path)).decode("latin-1")
    cookies = b"; ".join(cookie for cookie in request.cookies if cookie).decode("latin-1")
    headers = {
        f"HTTP_{name.decode().upper().replace('-', '_')}": value.decode("latin-1")
        for name, value in request.headers
        if name.lower() not in LEFT_OUT and name.lower() != b"content-type"
    }
    kept = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    return client.generic(
        request.method.decode(),
        "/",
        b"&".join(map(b"=".join, request.fields)),
        "application/x-www-form-urlencoded",
        **headers,
        HTTP_COOKIE="; ".join(filter(None, (kept, cookies))),
        PATH_INFO=target,
        QUERY_STRING=b"&".join(request.query).decode("latin-1"),
    )


@pytest.mark.parametrize("seed", range(2))
def test_nothing_raises(client, visitor_client, ana_client, staff_client, values, seed):
    dice, addresses = Random(seed), all_addresses()
    people = [client, visitor_client, ana_client, staff_client, staff_client]
    for number in range(MANY):
        if number % 50 == 0:
            limiter.cache_clear()
        address = dice.choice(addresses)
        # They would end the sessions of the other requests.
        if address.name in ("logout", "sign_out", "job_stream"):
            continue
        request = plain(address, values, "", dice)
        spoil(request, dice)
        answer = send(dice.choice(people), request)
        answer.close()
        assert answer.status_code < 500 or address.name == "readyz", request
