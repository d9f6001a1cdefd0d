"""Each person gets their own picture, even if requests and answers get out of step."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from tests.cases.odd_provider import OddProvider, after_hints, colour_of, of_another
from tests.site_orders import Desk
from tests.site_process import Site

pytestmark = pytest.mark.site

PEOPLE = 24
SETTINGS = {
    "POLZA_API_KEY": "the-key",
    "IMAGE_MODELS": "polza:brush",
    "POLL_EVERY": "0.5",
    "SEND_WITHIN": "60",
}


class Crowd:
    """Everybody orders one picture; what each of them got when all runs were over."""

    def __init__(self, folder: Path, provider: OddProvider, *, seconds: float = 120) -> None:
        site = Site(folder, POLZA_BASE_URL=provider.url, **SETTINGS).start()
        desk = Desk(site.env)
        try:
            self.jobs = desk.ask("place", *[f"p{number}" for number in range(PEOPLE)])
            try:
                site.wait_until(lambda: self._read(desk), seconds=seconds)
            except AssertionError:
                self._read(desk)
            self.alerts = site.ask("SELECT kind, subject FROM quotas_alert")
            self.audit = site.run("audit")
            self.got = {name: self._colours(site, job) for name, job in self.jobs.items()}
        finally:
            desk.close()
            site.stop()

    def _read(self, desk: Desk) -> bool:
        self.rows = desk.ask("report")
        return Counter(row["state"] for row in self.rows.values()) == {"ready": PEOPLE}

    def _colours(self, site: Site, job: str) -> list:
        media = Path(site.settings["DATA_DIR"]) / "media"
        return [
            Image.open(media / file).convert("RGB").getpixel((0, 0))
            for file in self.rows[job]["pictures"]
        ]

    def counts(self) -> tuple[int, int]:
        """How many have their own picture, and how many have somebody else's."""
        own = sum(colours == [colour_of(name)] for name, colours in self.got.items())
        wrong = sum(set(colours) - {colour_of(name)} != set() for name, colours in self.got.items())
        return own, wrong


GATEWAYS = {"hints": (after_hints, 4.0), "others": (of_another, 2.0)}


@pytest.fixture(scope="module")
def crowds(tmp_path_factory):
    """A site behind each gateway, at the same time."""

    def gather(name):
        answer_poll, takes = GATEWAYS[name]
        with OddProvider(answer_poll, takes=takes) as provider:
            return Crowd(tmp_path_factory.mktemp(name), provider)

    with ThreadPoolExecutor() as pool:
        return dict(zip(GATEWAYS, pool.map(gather, GATEWAYS), strict=True))


def test_behind_a_gateway_that_sends_hints_each_gets_their_own(crowds):
    crowd = crowds["hints"]
    assert crowd.counts() == (PEOPLE, 0)
    assert crowd.alerts == []
    assert crowd.audit.returncode == 0, crowd.audit.stdout


def test_answers_about_other_runs_give_nobody_a_picture_and_tell_staff(crowds):
    crowd = crowds["others"]
    assert crowd.counts() == (PEOPLE, 0)
    assert ("other_run", "polza") in crowd.alerts
    assert crowd.audit.returncode == 0, crowd.audit.stdout
