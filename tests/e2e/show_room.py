"""Every page in every state, to be looked at: rows of all kinds, and the web process alone, so
that nothing moves.

room = ShowRoom(tmp_path).open()
room.sights["job-queued"].path, room.sessions[room.sights["job-queued"].person]
room.close()
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from tests.site_process import ROOT, Site, free_port, wait_until

PROMPTS = {
    "queued": "A paper boat on a canal at dawn",
    "sending": "A blue door in a white wall, noon light",
    "busy": "An owl reading a newspaper, woodcut",
    "generating": "A portrait of a baker in soft window light",
    "unwanted": "A ladder against an apple tree, gouache",
    "lost": "A harbour town in winter, seen from the sea, with boats and one red lighthouse",
    "overdue": "A glass of tea on a windowsill",
    "silent": "Three pears on a linen cloth, in the manner of an old still life",
    "saving": "A tram climbing a hill in the rain",
    "ready": "A lighthouse above a quiet bay, early morning",
    "deleted": "A kite over dunes, pencil",
    "failed": "A poster for a play about a lost umbrella",
    "failed_billed": "A greenhouse at night, lit from within",
    "not_fetched": "A cat asleep on a stack of maps",
    "unread_result": "A balloon over rooftops, etching",
    "cancelled": "A long table set for twelve in an orchard",
    "not_confirmed": "A bridge in fog",
    "given_back": "Two chairs on an empty beach",
    "ready_late": "Hills in autumn, ink and wash",
}
ENDLESS = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
# How long before now each begins, where the default does not let it get there.
LONG_AGO = {
    "overdue": timedelta(minutes=19),
    "silent": timedelta(minutes=31),
    "not_confirmed": timedelta(days=1, minutes=5),
    "ready": timedelta(minutes=2),
}


@dataclass(frozen=True)
class Sight:
    """A page as one person sees it; nobody is a visitor who comes for the first time."""

    path: str
    person: str = "nobody"


class ShowRoom:
    def __init__(self, folder: Path) -> None:
        self.site = Site(folder)
        self.url = self.site.url
        self.sights: dict[str, Sight] = {}
        self.sessions: dict[str, str] = {}
        self.web: subprocess.Popen[bytes] | None = None

    def open(self) -> "ShowRoom":
        self.site.prepare()
        made = json.loads(self._child("-m", "tests.e2e.show_room").communicate()[0])
        self.sights = {name: Sight(**sight) for name, sight in made["sights"].items()}
        self.sessions = made["sessions"]
        self.web = self._serve(self.site.settings["PORT"])
        return self

    def close(self) -> None:
        if self.web:
            self.web.terminate()
            self.web.communicate()

    @contextmanager
    def limiting(self) -> Iterator[str]:
        """The address of a second web process over the same rows, which limits."""
        port = str(free_port())
        web = self._serve(port, RATE_LIMITS="MEMORY")
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            web.terminate()
            web.communicate()

    def cookies(self, person: str) -> list[dict[str, str]]:
        if person not in self.sessions:
            return []
        return [{"name": "sessionid", "value": self.sessions[person], "url": self.url}]

    def html(self, sight: Sight) -> str:
        """The page as it is sent, before any script has run."""
        import requests

        cookies = {cookie["name"]: cookie["value"] for cookie in self.cookies(sight.person)}
        return requests.get(self.url + sight.path, cookies=cookies, timeout=60).text

    def _serve(self, port: str, **settings: str) -> subprocess.Popen[bytes]:
        options = ("--interface", "asginl", "--port", port, "--log-level", "warning")
        web = self._child("-m", "granian", *options, "config.asgi:application", **settings)
        wait_until(lambda: _answers(f"http://127.0.0.1:{port}/"))
        return web

    def _child(self, *arguments: str, **settings: str) -> subprocess.Popen[bytes]:
        command, environment = [sys.executable, *arguments], self.site.env | settings
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE)


def _answers(url: str) -> bool:
    import requests

    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False


def furnish() -> dict[str, dict]:
    """Write the rows; what there is to see, and a session for each who sees it."""
    from django.utils import timezone

    from jobs.core.models import Heartbeat

    now = timezone.now()
    # Far ahead, as if the workers and the ticker lived while the pages are looked at.
    for name in ("worker", "ticker"):
        Heartbeat.objects.create(name=name, beat_at=now + timedelta(days=1))
    sessions = {name: _session_of(name) for name in ("ana", "ben", "cy", "staff")}
    sights = _sights_of_everyone() | _sights_of_ana(now) | _sights_of_ben(now) | _sights_of_cy(now)
    return {"sights": {n: asdict(sight) for n, sight in sights.items()}, "sessions": sessions}


def _session_of(name: str) -> str:
    from django.contrib.auth import get_user_model
    from django.test import Client

    user = get_user_model().objects.create_user(name, f"{name}@example.org", name)
    user.is_staff = user.is_superuser = name == "staff"
    user.save()
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


def _sights_of_everyone() -> dict[str, Sight]:
    return {
        "home-new": Sight("/"),
        "new": Sight("/images/new"),
        "gallery-empty": Sight("/gallery"),
        "sign-in": Sight("/sign-in"),
        "not-here": Sight("/jobs/00000000-0000-0000-0000-000000000000"),
        "home-staff": Sight("/", "staff"),
    }


def _sights_of_ana(now) -> dict[str, Sight]:
    """Who has been through everything."""
    from tests import rows

    account = _account_of("ana", "paid", now)
    sights = {}
    for number, lead in enumerate(rows.EVERY_STATE):
        name = lead.__name__
        began = now - LONG_AGO.get(name, timedelta(seconds=40 + 7 * number))
        if name == "ready":
            job = _ready_with_picture(account, began, PROMPTS[name], "16:9")
            sights["picture"] = Sight(f"/images/{job.pictures.get().pk}", "ana")
            sights["reuse"] = Sight(f"/images/new?from={job.pk}", "ana")
        else:
            job = lead(account, began, prompt=PROMPTS[name])
        sights[f"job-{name}"] = Sight(f"/jobs/{job.pk}", "ana")
    studies = [
        _ready_with_picture(account, now - timedelta(hours=hours), f"A study in {ratio}", ratio)
        for hours, ratio in ((2, "1:1"), (3, "9:16"), (4, "16:9"), (5, "2:3"))
    ]
    endless = rows.generating(account, now - timedelta(minutes=2), prompt=ENDLESS)
    return sights | {
        "job-endless": Sight(f"/jobs/{endless.pk}", "ana"),
        "confirm-stop": Sight(f"/jobs/{endless.pk}/stop-waiting", "ana"),
        "confirm-delete": Sight(f"/jobs/{studies[1].pk}/delete", "ana"),
        "picture-between": Sight(f"/images/{studies[1].pictures.get().pk}", "ana"),
        "home": Sight("/", "ana"),
        "gallery": Sight("/gallery", "ana"),
        "gallery-failed": Sight("/gallery?show=failed", "ana"),
    }


def _sights_of_ben(now) -> dict[str, Sight]:
    """Who has used up his day."""
    from tests import rows

    account = _account_of("ben", "visitor", now)
    rows.lost(account, now - timedelta(minutes=4), prompt=PROMPTS["lost"])
    for number, prompt in enumerate(("A red kite", "A blue kite")):
        _ready_with_picture(account, now - timedelta(minutes=2 + number), prompt, "1:1")
    return {
        "home-full": Sight("/", "ben"),
        "new-full": Sight("/images/new", "ben"),
        "gallery-nothing": Sight("/gallery?show=failed", "ben"),
    }


def _sights_of_cy(now) -> dict[str, Sight]:
    """Whose gallery has more than a page of ends."""
    from jobs.web.views.gallery import A_PAGE
    from tests import rows

    account = _account_of("cy", "paid", now)
    for number in range(A_PAGE + 2):
        rows.failed(account, now - timedelta(minutes=number + 1), prompt=f"Try {number + 1}")
    return {"gallery-long": Sight("/gallery", "cy")}


def _account_of(name: str, plan: str, now):
    from quotas import accounts
    from quotas.models import Account, Plan

    account = accounts.ensure_saved(accounts.account_named(name), now=now)
    Account.objects.filter(pk=account.pk).update(plan=Plan.objects.get(name=plan))
    return accounts.account_named(name)


def _ready_with_picture(account, began, prompt: str, ratio: str):
    from providers.sandbox.drawing import draw_picture
    from tests import rows

    job = rows.saving(account, began, prompt=prompt, aspect_ratio=ratio)
    picture = draw_picture(prompt, ratio)
    return rows.delivered(job, began + 6 * rows.SECOND, picture=picture)


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps(furnish()))
