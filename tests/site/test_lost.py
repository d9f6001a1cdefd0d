"""Every fault that leaves a request in doubt, at a site whose operator has said that its key is its
own alone and after how long a run is listed.

Each fault has a model of its own, so that nothing but the fault itself leaves a doubt.
"""

import pytest
import requests

from tests.fault_ends import EXPECTED_FAULTS, End
from tests.site.test_faults import SCALED, WORDS, sign_in
from tests.site_orders import Desk
from tests.site_process import Site

pytestmark = pytest.mark.site

IN_DOUBT = [fault for fault in EXPECTED_FAULTS if fault.call == "unknown"]
SEARCHING = SCALED | {
    "SANDBOX_KEY_EXCLUSIVE": "yes",
    # Three of the sandbox's minutes are twelve seconds.
    "SANDBOX_MINUTE": "4",
    "SANDBOX_LIST_LAG": "14",
    "SEND_WITHIN": "10",
    "IMAGE_MODELS": ",".join(f"sandbox:{fault.name}" for fault in IN_DOUBT),
}


class Ends:
    def __init__(self, folder) -> None:
        site = Site(folder, **SEARCHING).start()
        desk = Desk(site.env)
        try:
            self.jobs = desk.ask("place", *[fault.name for fault in IN_DOUBT])
            site.wait_until(lambda: self._read(desk), seconds=300)
            self.audit = site.run("audit")
            with sign_in(site) as session:
                self.pages = {
                    name: session.get(f"{site.url}/jobs/{job}").text
                    for name, job in self.jobs.items()
                }
            self.bill = requests.get(f"{site.sandbox_url}/_ledger", timeout=60).json()
        finally:
            desk.close()
            site.stop()

    def _read(self, desk: Desk) -> bool:
        self.rows = desk.ask("report")
        return all(self.end_of(fault.name) == fault.found_end for fault in IN_DOUBT)

    def of(self, name: str) -> dict:
        return self.rows[self.jobs[name]]

    def end_of(self, name: str) -> End:
        row = self.of(name)
        return End((row["calls"] or [""])[-1], row["attempt"], row["state"], row["reason"])

    def generations(self, name: str) -> list[dict]:
        work = f"image:{self.jobs[name]}"
        return [entry for entry in self.bill["generations"] if entry["work"] == work]


@pytest.fixture(scope="module")
def ends(tmp_path_factory) -> Ends:
    return Ends(tmp_path_factory.mktemp("searching"))


@pytest.mark.parametrize("fault", IN_DOUBT, ids=lambda fault: fault.name)
def test_what_was_lost_ends_as_the_table_says(ends, fault):
    row = ends.of(fault.name)
    assert ends.end_of(fault.name) == fault.found_end
    assert WORDS[row["state"]] in ends.pages[fault.name]
    assert len(row["pictures"]) == (1 if row["state"] == "ready" else 0)
    assert len(ends.generations(fault.name)) == fault.executions
    assert (row["rules"] == ["not_executed"]) == (fault.executions == 0)


@pytest.mark.parametrize("fault", IN_DOUBT, ids=lambda fault: fault.name)
def test_it_was_in_doubt_before_and_sent_once(ends, fault):
    assert "unknown" in ends.of(fault.name)["events"]
    assert len(ends.of(fault.name)["calls"]) == 1


def test_the_audit_finds_nothing(ends):
    assert ends.audit.returncode == 0, ends.audit.stdout + ends.audit.stderr
