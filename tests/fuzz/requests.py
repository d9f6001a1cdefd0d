"""One spoiled request: an address, a person, and one to three places that no browser fills so."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.fuzz import pieces
from tests.fuzz.addresses import Address

TOKEN = b"t" * 32
BOUNDARY = b"b0undary"


@dataclass
class Request:
    method: bytes
    path: list[bytes]
    """Text and values in turn, as in `Address.parts`."""
    cookies: list[bytes]
    query: list[bytes] = field(default_factory=list)
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    fields: list[tuple[bytes, bytes]] = field(default_factory=list)
    is_multipart: bool = False

    def bytes(self, host: bytes) -> bytes:
        body = self._multipart() if self.is_multipart else b"&".join(map(b"=".join, self.fields))
        named = {name.lower() for name, _ in self.headers}
        headers = [] if b"host" in named else [(b"Host", host)]
        cookies = [cookie for cookie in self.cookies if cookie]
        headers += [(b"Cookie", b"; ".join(cookies))] if cookies else []
        headers += self.headers
        if self.method not in (b"GET", b"HEAD"):
            kind = b"application/x-www-form-urlencoded"
            kind = b"multipart/form-data; boundary=" + BOUNDARY if self.is_multipart else kind
            headers += [] if b"content-type" in named else [(b"Content-Type", kind)]
            headers += [(b"Content-Length", str(len(body)).encode())]
        target = b"".join(self.path) + (b"?" + b"&".join(self.query) if self.query else b"")
        lines = [self.method + b" " + target + b" HTTP/1.1"]
        lines += [name + b": " + value for name, value in headers]
        return b"\r\n".join([*lines, b"", body if self.method not in (b"GET", b"HEAD") else b""])

    def _multipart(self) -> bytes:
        parts = (
            b'--%b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
            % (BOUNDARY, name, value)
            for name, value in self.fields
        )
        return b"".join(parts) + b"--" + BOUNDARY + b"--\r\n"


def plain(address: Address, values: dict[str, list[str]], cookie: str, dice: Random) -> Request:
    path = [
        part.encode() if number % 2 == 0 else dice.choice(values.get(part, ["1"])).encode()
        for number, part in enumerate(address.parts)
    ]
    request = Request(dice.choice(pieces.METHODS), path, [cookie.encode()])
    if request.method != b"GET":
        # As a form of the site: so it comes as far as the view.
        request.cookies.append(b"csrftoken=" + TOKEN)
        request.headers.append((b"X-CSRFToken", TOKEN))
        request.fields = [(name, b"1") for name in dice.sample(pieces.FIELDS, 3)]
        request.is_multipart = dice.random() < 0.3
    if dice.random() < 0.2:
        request.headers.append((b"HX-Request", b"true"))
    return request


def spoil(request: Request, dice: Random) -> None:
    ways = [*WAYS, spoil_path] if len(request.path) > 1 else list(WAYS)
    for way in dice.choices(ways, k=dice.choice((1, 1, 1, 2, 3))):
        way(request, dice)


def spoil_path(request: Request, dice: Random) -> None:
    request.path[dice.randrange(1, len(request.path), 2)] = _escaped(dice)


def _lengthen_path(request: Request, dice: Random) -> None:
    request.path.append(_escaped(dice) + dice.choice((b"", b"/", b"/change/", b"/history/")))


def _spoil_query(request: Request, dice: Random) -> None:
    name = dice.choice((*pieces.PARAMETERS, *pieces.PARAMETERS, _escaped(dice)))
    request.query += [name + b"=" + _escaped(dice)] * dice.choice((1, 1, 2, 1200))


def _spoil_cookie(request: Request, dice: Random) -> None:
    odd = dice.choice((*pieces.QUOTED, *pieces.RAW, *pieces.WORDS))
    name = dice.choice(pieces.COOKIES)
    # The first or the last of that name counts.
    request.cookies.insert(dice.randrange(len(request.cookies) + 1), name + b"=" + odd)


def _spoil_header(request: Request, dice: Random) -> None:
    odd = dice.choice((*pieces.VALUES, *pieces.VALUES, *pieces.RAW, *pieces.WORDS))
    request.headers += [(dice.choice(pieces.HEADERS), odd)] * dice.choice((1, 1, 1, 2, 60))


def _spoil_field(request: Request, dice: Random) -> None:
    if request.method == b"GET":
        _spoil_query(request, dice)
        return
    name = dice.choice((*pieces.FIELDS, *pieces.FIELDS, dice.choice(pieces.BODIES)))
    request.fields += [(name, dice.choice(pieces.BODIES))] * dice.choice((1, 1, 2, 1200))


def _escaped(dice: Random) -> bytes:
    """A space would end the target."""
    return dice.choice((*pieces.ESCAPES, *pieces.WORDS)).replace(b" ", b"+")


Way = Callable[[Request, Random], None]
WAYS: tuple[Way, ...] = (_lengthen_path, _spoil_query, _spoil_cookie, _spoil_header, _spoil_field)
