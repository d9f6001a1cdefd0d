"""Webhooks against the whole running site, over real sockets, in each way of signing.

A request's answer is lost, its webhook comes: the picture is delivered and paid once. The sandbox
sends good and bad ones, and `tests/fault_ends.py` says how each must end.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from providers.sandbox.webhooks import HOOKED
from tests.fault_ends import expect
from tests.site_orders import Desk
from tests.site_process import Site, free_port

pytestmark = pytest.mark.site

STYLES = ("hint", "standard", "ed25519")
SCALED = {
    "SANDBOX_SECONDS": "1",
    "SANDBOX_MINUTE": "0.3",
    "POLL_EVERY": "0.5",
    "SLOW_POLL_EVERY": "600",
    "SEND_WITHIN": "20",
    "SANDBOX_ANSWER_TIMEOUT": "10",
    "WORKERS": "3",
}
# What is kept of each fault's webhooks where they are signed; unsigned, more is taken for a hint.
KEPT = HOOKED - {"hook_unknown"}
HOOKS = "SELECT work, is_signed FROM providers_hook h JOIN providers_call c ON c.id = h.call_id"
KEPT_SIGNED = KEPT - {"hook_bad_sig", "hook_stale"}


class Ends:
    """How every fault with a webhook ended in one site."""

    def __init__(self, folder: Path, style: str) -> None:
        self.style = style
        port = str(free_port())
        public = f"http://127.0.0.1:{port}"
        site = Site(
            folder, PORT=port, PUBLIC_URL=public, SANDBOX_HOOKS=style.upper(), **SCALED
        ).start()
        desk = Desk(site.env)
        try:
            self.jobs = desk.ask("place", *sorted(HOOKED))
            site.wait_until(lambda: self._read(desk, site), seconds=240)
            self.refused = self._send_nonsense(public, site)
            self.rows_after = desk.ask("report")
            self.audit = site.run("audit")
            self.bill = requests.get(f"{site.sandbox_url}/_ledger", timeout=60).json()
            self.log = site.logs()
        finally:
            desk.close()
            site.stop()

    def _read(self, desk: Desk, site: Site) -> bool:
        """True when everything has come and ended; the rows are kept either way."""
        self.rows = desk.ask("report")
        self.hooks = site.ask(HOOKS)
        kept = KEPT if self.style == "hint" else KEPT_SIGNED
        return len(self.hooks) >= len(kept) and all(
            self.of(name)["state"] == "ready" for name in HOOKED
        )

    def _send_nonsense(self, public: str, site: Site) -> dict[str, int]:
        """The status of each thing that a stranger or a broken provider might send."""
        ((token,),) = site.ask(
            "SELECT hook_token FROM providers_call WHERE work = ?", self.work("hook_ok")
        )
        right, wrong = f"{public}/hooks/sandbox/{token}/", f"{public}/hooks/sandbox/{'x' * 43}/"
        megabyte = b"x" * 2**20
        chunks = (megabyte[:10_000] for _ in range(100))
        sends = {
            "unknown token": lambda: requests.post(wrong, data=b"{}", timeout=60),
            "1 MB": lambda: requests.post(right, data=megabyte, timeout=60),
            "1 MB in chunks": lambda: requests.post(right, data=chunks, timeout=60),
            "1 MB to nobody": lambda: requests.post(wrong, data=megabyte, timeout=60),
            "read": lambda: requests.get(right, timeout=60),
        }
        return {name: send().status_code for name, send in sends.items()}

    def work(self, name: str) -> str:
        return f"image:{self.jobs[name]}"

    def of(self, name: str) -> dict:
        return self.rows[self.jobs[name]]


@pytest.fixture(scope="module")
def all_ends(tmp_path_factory) -> dict[str, Ends]:
    """A site of each style, at the same time."""
    folders = [tmp_path_factory.mktemp(style) for style in STYLES]
    with ThreadPoolExecutor() as pool:
        return dict(zip(STYLES, pool.map(Ends, folders, STYLES), strict=True))


@pytest.fixture(params=STYLES, scope="module")
def ends(request, all_ends) -> Ends:
    return all_ends[request.param]


@pytest.mark.parametrize("name", sorted(HOOKED))
def test_each_ends_as_the_table_says_of_a_site_with_webhooks(ends, name):
    expected, row = expect(name), ends.of(name)
    assert (row["calls"][-1], row["attempt"], row["state"], row["reason"]) == expected.hooked_end
    assert len(row["pictures"]) == 1


@pytest.mark.parametrize("name", sorted(HOOKED))
def test_each_was_executed_and_charged_once(ends, name):
    work = ends.work(name)
    assert ends.bill["works"][work] == {"executions": 1, "charges": 1}
    assert len(ends.bill["asked"][work]) == 1


def test_what_was_lost_was_in_doubt_first(ends):
    for name in ("hook_ok", "hook_dup", "hook_late"):
        events = ends.of(name)["events"]
        assert events.index("unknown") < events.index("accepted") < events.index("ready")


def test_each_webhook_is_kept_once_and_what_is_not_proved_not_at_all(ends):
    names = {ends.work(name): name for name in HOOKED}
    kept = sorted(names[work] for work, _ in ends.hooks)
    assert kept == sorted(KEPT if ends.style == "hint" else KEPT_SIGNED)
    assert {bool(is_signed) for _, is_signed in ends.hooks} == {ends.style != "hint"}


def test_nonsense_is_refused_and_changes_nothing(ends):
    assert ends.refused == {
        "unknown token": 404,
        "1 MB": 413,
        "1 MB in chunks": 413,
        "1 MB to nobody": 413,
        "read": 405,
    }
    assert ends.rows_after == ends.rows


def test_the_audit_finds_nothing(ends):
    assert ends.audit.returncode == 0, ends.audit.stdout + ends.audit.stderr


def test_no_token_stands_in_the_log(ends):
    assert "/hooks/" not in ends.log
