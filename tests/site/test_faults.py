"""Every fault of the sandbox against the whole running site over http, and over TLS those of the
connection itself.

All faults of a scheme are ordered at once from a site with scaled times; `tests/fault_ends.py` says
how each must end, and the sandbox's own bill says what was executed and charged.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
import trustme

from tests.fault_ends import EXPECTED_FAULTS, ExpectedFault, expect
from tests.ports import free_port
from tests.site_orders import Desk
from tests.site_process import Site

pytestmark = pytest.mark.site

SCHEMES = ("http", "https")
SCALED = {
    "SANDBOX_SECONDS": "1",
    "SANDBOX_MINUTE": "0.4",
    "POLL_EVERY": "0.5",
    "SLOW_POLL_EVERY": "1",
    # Half of what the slow faults take, so that a busy machine too asks in between.
    "CALL_DEADLINE": "3",
    "SEND_WITHIN": "20",
    "SANDBOX_SILENCE_TIMEOUT": "5",
    "SANDBOX_ANSWER_TIMEOUT": "8",
    "POOL_WAIT": "4",
    "NO_OUTPUT_WAIT": "15",
    "SANDBOX_RESULT_RETENTION": "30",
    "LOST_RETENTION": "600",
    "WORKERS": "5",
}
# What differs on the wire: how a connection opens, is framed, stalls, breaks or leads elsewhere.
# The others are about a status, a header or a body, which are the same once they are decrypted.
OVER_TLS = [
    expect(name)
    for name in (
        *("ok", "refuse", "drop_before", "drop_after", "hang_after", "drip"),
        *("cut_body", "cut_chunked", "interim", "answer_no_end", "answer_too_long"),
        *("answer_called_gzip", "answer_twice", "answer_rest", "redirect_303", "html_502"),
        *("slow_14", "poll_flaky", "result_cut", "result_redirect", "result_private"),
        *("result_huge", "url_expires"),
    )
]
# What a person reads at the end, beside the chip's word.
WORDS = {
    "ready": "Ready",
    "failed": "Your slot was given back",
    "in_doubt": "Confirming",
}


def with_certificate(folder) -> dict[str, str]:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    port = str(free_port())
    return {
        "SANDBOX_PORT": port,
        "SANDBOX_URL": f"https://127.0.0.1:{port}",
        "SANDBOX_CERTFILE": str(folder / "cert.pem"),
        "SANDBOX_KEYFILE": str(folder / "key.pem"),
        "PROVIDER_CA_BUNDLE": str(folder / "ca.pem"),
    }


def sign_in(site: Site) -> requests.Session:
    session = requests.Session()
    session.get(f"{site.url}/admin/login/")
    form = {
        "username": "ana",
        "password": "ana",
        "csrfmiddlewaretoken": session.cookies["csrftoken"],
    }
    assert session.post(f"{site.url}/admin/login/", data=form).status_code == 200
    return session


def faults_over(scheme: str) -> list[ExpectedFault]:
    return list(EXPECTED_FAULTS) if scheme == "http" else OVER_TLS


class Ends:
    """How every fault ended in one site: our rows, the person's page, the provider's bill."""

    def __init__(self, folder, scheme: str) -> None:
        secure = with_certificate(folder) if scheme == "https" else {}
        self.faults = faults_over(scheme)
        site = Site(folder, **SCALED, **secure).start()
        desk = Desk(site.env)
        try:
            self.jobs = desk.ask("place", *[fault.name for fault in self.faults])
            site.wait_until(lambda: self._read(desk), seconds=240)
            self.audit = site.run("audit")
            with sign_in(site) as session:
                self.pages = {
                    name: session.get(f"{site.url}/jobs/{job}").text
                    for name, job in self.jobs.items()
                }
            bill = f"{site.sandbox_url.replace('http', scheme)}/_ledger"
            self.bill = requests.get(bill, verify=secure.get("PROVIDER_CA_BUNDLE", True)).json()
        finally:
            desk.close()
            site.stop()

    def _read(self, desk: Desk) -> bool:
        """True when every job stands where its fault must end; the rows are kept either way."""
        self.rows = desk.ask("report")
        return all(
            self.of(fault.name)["state"] == fault.job
            and (fault.job != "in_doubt" or fault.call == self.of(fault.name)["calls"][-1])
            for fault in self.faults
        )

    def of(self, name: str) -> dict:
        return self.rows[self.jobs[name]]

    def generations(self, name: str) -> list[dict]:
        work = f"image:{self.jobs[name]}"
        return [entry for entry in self.bill["generations"] if entry["work"] == work]


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> dict[str, Ends]:
    """A site of each scheme, at the same time."""
    folders = [tmp_path_factory.mktemp(scheme) for scheme in SCHEMES]
    with ThreadPoolExecutor() as pool:
        return dict(zip(SCHEMES, pool.map(Ends, folders, SCHEMES), strict=True))


@pytest.fixture(params=SCHEMES, scope="module")
def ends(request, both) -> Ends:
    return both[request.param]


@pytest.mark.parametrize(
    ("ends", "name"),
    [(scheme, fault.name) for scheme in SCHEMES for fault in faults_over(scheme)],
    indirect=["ends"],
)
def test_rows_page_and_bill_end_as_the_table_says(ends, name):
    fault, row = expect(name), ends.of(name)
    assert (row["calls"][-1], row["attempt"], row["state"], row["reason"]) == fault.end
    if fault.ends.in_doubt_first:
        assert "overdue" in row["events"]
    assert WORDS[fault.job] in ends.pages[name]
    assert len(row["pictures"]) == (1 if fault.job == "ready" else 0)
    generations = ends.generations(name)
    assert len(generations) == fault.executions
    assert sum(float(entry["charged"]) > 0 for entry in generations) == fault.charges
    assert not any(entry["key_leaked"] for entry in generations)


def test_no_work_was_executed_a_second_time(ends):
    for name in ends.jobs:
        generations = ends.generations(name)
        for earlier, later in itertools.pairwise(generations):
            assert earlier["failure_told_at"] is not None
            assert earlier["failure_told_at"] <= later["executed_at"]


def test_a_page_in_doubt_never_says_failed_nor_offers_another_try(ends):
    for fault in ends.faults:
        if fault.job == "in_doubt":
            assert "Failed" not in ends.pages[fault.name]
            assert "Try again" not in ends.pages[fault.name]


def test_the_audit_finds_nothing(ends):
    assert ends.audit.returncode == 0, ends.audit.stdout + ends.audit.stderr
