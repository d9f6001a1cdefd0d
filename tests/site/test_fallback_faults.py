"""Every fault of the sandbox with another account to fall back to, against the whole running site.

Whom we asked, in which order, and what was executed and charged is read from the sandbox's bill.
The faults themselves, without a fallback, are in `test_faults.py`.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.fault_ends import EXPECTED_FAULTS, ExpectedFault, expect
from tests.site.test_faults import SCALED, sign_in
from tests.site_orders import Desk
from tests.site_process import Site

pytestmark = pytest.mark.site

FIRST, SPARE = "test-picture", "spare-picture"
WITH_SPARE = {
    "MORE_PROVIDERS": "spare=sandbox",
    "IMAGE_FALLBACK": f"spare:{SPARE}",
    "IMAGE_PRICES": f"sandbox:{FIRST}=5.00 RUB,spare:{SPARE}=5.00 RUB",
}
TOLD_FREE = {"fail", "cancelled", "failed_then_completed"}
BILLED = {"fail_billed", "no_output", "text_only"}
# It answers too late to say "busy" only once: the other is asked at once.
BUSY_ONCE = {"http_429_once"}


def falls_back(fault: ExpectedFault, *, after_billed: bool) -> bool:
    """By the table: what surely was not executed, or ended without a cost by its own word."""
    return (
        fault.call == "rejected"
        or fault.name in TOLD_FREE | BUSY_ONCE
        or (after_billed and fault.name in BILLED)
    )


class Ends:
    def __init__(self, folder, *, after_billed: bool) -> None:
        self.after_billed = after_billed
        setting = {"FALLBACK_AFTER_BILLED": "yes"} if after_billed else {}
        site = Site(folder, **SCALED, **WITH_SPARE, **setting).start()
        desk = Desk(site.env)
        try:
            self.jobs = desk.ask("place", *[fault.name for fault in EXPECTED_FAULTS])
            site.wait_until(lambda: self._read(desk), seconds=240)
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
        return all(
            self.of(fault.name)["state"] == self.expected(fault) for fault in EXPECTED_FAULTS
        )

    def expected(self, fault: ExpectedFault) -> str:
        return "ready" if falls_back(fault, after_billed=self.after_billed) else fault.job

    def of(self, name: str) -> dict:
        return self.rows[self.jobs[name]]

    def asked(self, name: str) -> list[str]:
        """The models that the sandbox was asked for, in the order of its bill."""
        return self.bill["asked"].get(f"image:{self.jobs[name]}", [])

    def charged(self, name: str) -> list[str]:
        work = f"image:{self.jobs[name]}"
        rows = [entry for entry in self.bill["generations"] if entry["work"] == work]
        return [entry["model"] for entry in rows if float(entry["charged"]) > 0]


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> dict[bool, Ends]:
    """A site that never asks another after a bill, and one whose operator lets it."""
    settings = (False, True)
    folders = [tmp_path_factory.mktemp("site") for _ in settings]
    with ThreadPoolExecutor() as pool:
        run = zip(settings, folders, strict=True)
        return dict(
            zip(
                settings,
                pool.map(lambda each: Ends(each[1], after_billed=each[0]), run),
                strict=True,
            )
        )


@pytest.fixture(params=[False, True], ids=["never_after_billed", "after_billed"], scope="module")
def ends(request, both) -> Ends:
    return both[request.param]


@pytest.mark.parametrize("name", [fault.name for fault in EXPECTED_FAULTS])
def test_another_is_asked_exactly_where_the_table_says_so(ends, name):
    fault = expect(name)
    first = [] if name == "refuse" else [FIRST]
    asked, models = ends.asked(name), ends.of(name)["models"]
    if name == "http_429_after":
        # It named one second. On a slow machine that is over before the fallback is chosen.
        asked, models = list(dict.fromkeys(asked)), list(dict.fromkeys(models))
    if falls_back(fault, after_billed=ends.after_billed):
        assert asked == [*first, SPARE]
        assert models == [FIRST, SPARE]
        assert ends.of(name)["allowed_by"][-1] != ""
    else:
        assert asked == first
        assert models == [FIRST]


@pytest.mark.parametrize("name", [fault.name for fault in EXPECTED_FAULTS])
def test_what_was_charged_is_what_the_person_got(ends, name):
    fault, row = expect(name), ends.of(name)
    first = [FIRST] * (0 if name in BUSY_ONCE else fault.charges)
    if falls_back(fault, after_billed=ends.after_billed):
        assert ends.charged(name) == [*first, SPARE]
        assert (row["state"], row["attempt"], len(row["pictures"])) == ("ready", "success", 1)
        assert "Made with spare, spare-picture because sandbox, test-picture" in ends.pages[name]
    else:
        assert ends.charged(name) == first
        assert (row["state"], row["attempt"]) == (fault.job, fault.attempt)


def test_nobody_is_charged_twice_but_for_contradictions_and_by_the_setting(ends):
    twice = {name for name in ends.jobs if len(ends.charged(name)) > 1}
    contradicted = {"json_5xx_executed", "failed_then_completed"}
    assert twice == contradicted | (BILLED if ends.after_billed else set())


def test_the_audit_finds_nothing(ends):
    assert ends.audit.returncode == 0, ends.audit.stdout + ends.audit.stderr
