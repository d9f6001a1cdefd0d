"""How a picture job of the site must end after each fault of the sandbox.

The plain end is that of a site without fallback, webhooks and recovery of lost requests; `hooked`
is the end at a site that webhooks reach; `found` is the end at a site that may search for lost
requests, because its key is exclusive and it knows after how long a run is listed.
"""

from dataclasses import dataclass
from typing import NamedTuple

from providers.sandbox.faults import FAULTS, Fault


class End(NamedTuple):
    call: str
    attempt: str
    job: str
    reason: str


@dataclass(frozen=True)
class ExpectedEnds:
    plain: End
    in_doubt_first: bool = False
    """The deadline passes first, so the job is in doubt before its end."""
    hooked: End | None = None
    """None where it is the same as `plain`; likewise `found`."""
    found: End | None = None


def refused(reason: str) -> End:
    return End("rejected", "failed", "failed", reason)


def in_doubt(reason: str) -> End:
    return End("unknown", "pending", "in_doubt", reason)


def failed(reason: str) -> End:
    return End("failed", "failed", "failed", reason)


DELIVERED = End("succeeded", "success", "ready", "")
NOT_EXECUTED = refused("transport")
NOT_FETCHED = End("succeeded", "failed", "failed", "not_fetched")

EXPECTED_ENDS = {
    "ok": ExpectedEnds(DELIVERED),
    "refuse": ExpectedEnds(refused("transport")),
    "http_401": ExpectedEnds(refused("auth")),
    "http_402": ExpectedEnds(refused("balance")),
    "http_422": ExpectedEnds(refused("content")),
    "http_429": ExpectedEnds(refused("rate")),
    "http_429_after": ExpectedEnds(refused("rate")),
    "http_429_once": ExpectedEnds(DELIVERED),
    "json_5xx": ExpectedEnds(refused("provider")),
    "json_5xx_executed": ExpectedEnds(
        refused("provider"), hooked=End("rejected", "failed", "ready", "")
    ),
    "header_id": ExpectedEnds(DELIVERED),
    "interim": ExpectedEnds(DELIVERED),
    "answer_no_end": ExpectedEnds(DELIVERED),
    "answer_too_long": ExpectedEnds(DELIVERED),
    "answer_called_gzip": ExpectedEnds(DELIVERED),
    "answer_twice": ExpectedEnds(DELIVERED),
    "answer_rest": ExpectedEnds(DELIVERED),
    "drop_before": ExpectedEnds(in_doubt("transport"), found=NOT_EXECUTED),
    "drop_after": ExpectedEnds(in_doubt("transport"), found=DELIVERED),
    "hang_after": ExpectedEnds(in_doubt("transport"), found=DELIVERED),
    "cut_body": ExpectedEnds(in_doubt("transport"), found=DELIVERED),
    "cut_chunked": ExpectedEnds(in_doubt("transport"), found=DELIVERED),
    "drip": ExpectedEnds(in_doubt("transport"), found=DELIVERED),
    "http_409": ExpectedEnds(in_doubt("provider"), found=DELIVERED),
    "redirect_303": ExpectedEnds(in_doubt("provider"), found=NOT_EXECUTED),
    "html_502": ExpectedEnds(in_doubt("provider"), found=NOT_EXECUTED),
    "html_502_executed": ExpectedEnds(in_doubt("provider"), found=DELIVERED),
    "html_504": ExpectedEnds(in_doubt("provider"), found=NOT_EXECUTED),
    "html_504_executed": ExpectedEnds(in_doubt("provider"), found=DELIVERED),
    "html_524": ExpectedEnds(in_doubt("provider"), found=NOT_EXECUTED),
    "html_524_executed": ExpectedEnds(in_doubt("provider"), found=DELIVERED),
    "list_lag": ExpectedEnds(in_doubt("transport"), found=DELIVERED),
    "list_fails": ExpectedEnds(in_doubt("transport"), found=DELIVERED),
    "list_two": ExpectedEnds(in_doubt("transport")),
    "list_foreign": ExpectedEnds(in_doubt("transport"), found=DELIVERED),
    "hook_ok": ExpectedEnds(in_doubt("transport"), hooked=DELIVERED, found=DELIVERED),
    "hook_dup": ExpectedEnds(in_doubt("transport"), hooked=DELIVERED, found=DELIVERED),
    "hook_early": ExpectedEnds(in_doubt("transport"), hooked=DELIVERED, found=DELIVERED),
    "hook_late": ExpectedEnds(in_doubt("transport"), hooked=DELIVERED, found=DELIVERED),
    "hook_bad_sig": ExpectedEnds(DELIVERED),
    "hook_stale": ExpectedEnds(DELIVERED),
    "hook_unknown": ExpectedEnds(DELIVERED),
    "slow_14": ExpectedEnds(DELIVERED),
    "slow_16": ExpectedEnds(DELIVERED, in_doubt_first=True),
    "slow_40": ExpectedEnds(DELIVERED, in_doubt_first=True),
    "poll_flaky": ExpectedEnds(DELIVERED),
    "status_new": ExpectedEnds(DELIVERED),
    "wrong_id": ExpectedEnds(DELIVERED),
    "no_id": ExpectedEnds(DELIVERED),
    "poll_429": ExpectedEnds(DELIVERED),
    "poll_429_after": ExpectedEnds(DELIVERED),
    "fail": ExpectedEnds(failed("provider")),
    "fail_billed": ExpectedEnds(failed("provider")),
    "cancelled": ExpectedEnds(failed("cancelled")),
    "failed_then_completed": ExpectedEnds(
        failed("provider"), hooked=End("failed", "failed", "ready", "")
    ),
    "no_output": ExpectedEnds(failed("no_output")),
    "text_only": ExpectedEnds(failed("no_output")),
    "late_output": ExpectedEnds(DELIVERED),
    "odd_shape": ExpectedEnds(NOT_FETCHED),
    "result_cut": ExpectedEnds(DELIVERED),
    "url_expires": ExpectedEnds(DELIVERED),
    "png_text": ExpectedEnds(DELIVERED),
    "png_checksum": ExpectedEnds(DELIVERED),
    "png_16_bits": ExpectedEnds(DELIVERED),
    "jpeg_end": ExpectedEnds(DELIVERED),
    "bitmap": ExpectedEnds(DELIVERED),
    "result_gone": ExpectedEnds(NOT_FETCHED),
    "result_forbidden": ExpectedEnds(NOT_FETCHED),
    "result_redirect": ExpectedEnds(NOT_FETCHED),
    "result_private": ExpectedEnds(NOT_FETCHED),
    "result_huge": ExpectedEnds(NOT_FETCHED),
    "result_wrong_type": ExpectedEnds(NOT_FETCHED),
}


@dataclass(frozen=True)
class ExpectedFault:
    """A fault of the sandbox with the ends that it must lead to."""

    fault: Fault
    ends: ExpectedEnds

    @property
    def name(self) -> str:
        return self.fault.name

    @property
    def executions(self) -> int:
        return self.fault.executions

    @property
    def charges(self) -> int:
        return self.fault.charges

    @property
    def end(self) -> End:
        return self.ends.plain

    @property
    def call(self) -> str:
        return self.end.call

    @property
    def attempt(self) -> str:
        return self.end.attempt

    @property
    def job(self) -> str:
        return self.end.job

    @property
    def reason(self) -> str:
        return self.end.reason

    @property
    def hooked_end(self) -> End:
        return self.ends.hooked or self.end

    @property
    def found_end(self) -> End:
        return self.ends.found or self.end


EXPECTED_FAULTS = tuple(ExpectedFault(fault, EXPECTED_ENDS[fault.name]) for fault in FAULTS)
_BY_NAME = {expected.name: expected for expected in EXPECTED_FAULTS}


def expect(name: str) -> ExpectedFault:
    """Raises KeyError for a name that is not in the table."""
    return _BY_NAME[name]
