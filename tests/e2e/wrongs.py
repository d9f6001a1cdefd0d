"""Pages that no address leads to: what the form refuses, and the error pages."""

import re

import requests
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.test import RequestFactory

from jobs.web.views import errors
from tests.e2e.show_room import ShowRoom

GOOD = {"prompt": "A green kite", "aspect_ratio": "1:1", "fault": "ok"}
HIDDEN = re.compile(r'name="(csrfmiddlewaretoken|form_key)" value="([^"]+)"')


def wrongs(room: ShowRoom) -> dict[str, str]:
    """HTML by name. The ones with a frame are the room's own answers."""
    return {
        "form-empty": answer(room, "ana", 422, prompt=""),
        "form-too-long": answer(room, "ana", 422, prompt="long " * 500),
        "form-unknown-choices": answer(room, "ana", 422, aspect_ratio="7:1", fault="none such"),
        "form-full": answer(room, "ben", 429),
        "form-stale": answer(room, "ana", 403, csrfmiddlewaretoken=""),
        "not-sent": answer(room, "ana", 403, "/theme", csrfmiddlewaretoken=""),
        "not-signed-in": answer(room, "nobody", 422, "/sign-in", username="ana", password="wrong"),
        "not-understood": answer(room, "ana", 400, **{f"field{n}": "" for n in range(1001)}),
        "not-allowed": errors.forbidden(RequestFactory().get("/"), PermissionDenied()).text,
        "broken": errors.broken(RequestFactory().get("/")).text,
        "outage": outage(),
        **limited(room),
    }


def answer(
    room: ShowRoom, person: str, status: int, path: str = "/images/new", **fields: str
) -> str:
    """To a form as that person sends it, once filled in well and then with these fields."""
    with requests.Session() as session:
        session.cookies.set("sessionid", room.sessions.get(person, ""))
        page = session.get(f"{room.url}/images/new", timeout=60)
        hidden = dict(HIDDEN.findall(page.text))
        sent = session.post(room.url + path, {**hidden, **GOOD, **fields}, timeout=60)
    assert sent.status_code == status
    return sent.text


def limited(room: ShowRoom) -> dict[str, str]:
    with room.limiting() as url:
        return {
            "limited-order": until_limited(url, "/images/new", prompt=""),
            "limited-sign-in": until_limited(url, "/sign-in", username="ana", password="wrong"),
            "limited-form": until_limited(url, "/theme", theme="dark"),
        }


def until_limited(url: str, path: str, **fields: str) -> str:
    """Somebody new sends the same form until it is refused."""
    with requests.Session() as session:
        page = session.get(f"{url}/images/new", timeout=60)
        form = {**dict(HIDDEN.findall(page.text)), **fields}
        for _ in range(102):
            sent = session.post(url + path, form, timeout=60, allow_redirects=False)
            if sent.status_code == 429:
                return sent.text
    raise AssertionError(f"{path} is not limited")


def outage() -> str:
    try:
        raise OperationalError("attempt to write a readonly database")
    except OperationalError:
        return errors.broken(RequestFactory().get("/")).text
