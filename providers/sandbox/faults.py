"""The one table of faults: what the sandbox does on the wire, and how everything must end.

Read by the sandbox (by name, `executions` and `charges`), by the new-picture form and by the
tests. The ends are those of a site without fallback, webhooks and the search for lost submits;
`hooked` is that of a site that webhooks reach, `found` that of a site that may search for lost
requests: its key is its own alone, and it knows after how long a run is listed.
A fault travels as the header `X-Sandbox-Fault`, the work it is for as `X-Sandbox-Work`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


class End(NamedTuple):
    call: str
    attempt: str
    job: str
    reason: str


DELIVERED = End("succeeded", "success", "ready", "")
NOT_EXECUTED = End("rejected", "failed", "failed", "transport")


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    title: StrPromise
    says: StrPromise
    call: str
    attempt: str
    job: str
    reason: str
    executions: int
    charges: int
    # Past the deadline for a while, so the job shows in_doubt before its end.
    in_doubt_first: bool = False
    # The end where webhooks reach the site; None where it is the same.
    hooked: End | None = None
    # The end where lost requests are searched for; None where it is the same.
    found: End | None = None

    def end(self, *, hooked: bool = False) -> End:
        plain = End(self.call, self.attempt, self.job, self.reason)
        return self.hooked or plain if hooked else plain


def _ready(
    name: str, title: StrPromise, says: StrPromise, *, in_doubt_first: bool = False
) -> Fault:
    return Fault(name, title, says, "succeeded", "success", "ready", "", 1, 1, in_doubt_first)


def _rejected(
    name: str,
    title: StrPromise,
    says: StrPromise,
    *,
    reason: str,
    executions: int = 0,
    hooked: End | None = None,
) -> Fault:
    end = ("rejected", "failed", "failed", reason)
    return Fault(name, title, says, *end, executions, executions, hooked=hooked)


def _unknown(
    name: str,
    title: StrPromise,
    says: StrPromise,
    *,
    reason: str = "transport",
    executions: int,
    hooked: End | None = None,
    is_found: bool = True,
) -> Fault:
    end = ("unknown", "pending", "in_doubt", reason)
    found = (DELIVERED if executions else NOT_EXECUTED) if is_found else None
    return Fault(name, title, says, *end, executions, executions, hooked=hooked, found=found)


def _failed(
    name: str,
    title: StrPromise,
    says: StrPromise,
    *,
    reason: str = "provider",
    charges: int,
    hooked: End | None = None,
) -> Fault:
    return Fault(name, title, says, "failed", "failed", "failed", reason, 1, charges, False, hooked)


def _not_fetched(name: str, title: StrPromise, says: StrPromise) -> Fault:
    return Fault(name, title, says, "succeeded", "failed", "failed", "not_fetched", 1, 1)


FAULTS = (
    _ready("ok", _("No fault"), _("Draws the picture and delivers it.")),
    # It never takes the request
    _rejected(
        "refuse",
        _("Connection refused"),
        _("Does not answer the door: nothing is sent."),
        reason="transport",
    ),
    _rejected(
        "http_401",
        _("Key refused (401)"),
        _("Refuses the site's key before any work is done."),
        reason="auth",
    ),
    _rejected(
        "http_402",
        _("No balance (402)"),
        _("Says that the site's account has run out of money."),
        reason="balance",
    ),
    _rejected(
        "http_422",
        _("Prompt refused (422)"),
        _("Refuses to draw what the prompt asks for, before any work is done."),
        reason="content",
    ),
    _rejected(
        "http_429",
        _("Always too busy (429)"),
        _("Is too busy, every time, and does not say for how long."),
        reason="rate",
    ),
    _rejected(
        "http_429_after",
        _("Always too busy, names a wait (429)"),
        _("Is too busy, every time, and asks to come back in a second."),
        reason="rate",
    ),
    _ready(
        "http_429_once",
        _("Too busy once (429)"),
        _("Is too busy the first time, and draws the picture when asked again."),
    ),
    _rejected(
        "json_5xx",
        _("Own error (500)"),
        _("Reports an error of its own and does not start the work."),
        reason="provider",
    ),
    _rejected(
        "json_5xx_executed",
        _("Own error, yet executed (500)"),
        _("Reports an error of its own, yet draws the picture and bills it."),
        reason="provider",
        executions=1,
        hooked=End("rejected", "failed", "ready", ""),
    ),
    # Its answer names the run before it is lost
    _ready(
        "header_id",
        _("Half an answer, the id in its headers"),
        _("Names the run in its headers, hangs up, and lists a second run that looks like it."),
    ),
    # Its answer to the request says nothing
    _unknown(
        "drop_before",
        _("Line dropped, not executed"),
        _("Reads the request and drops the line without starting the work."),
        executions=0,
    ),
    _unknown(
        "drop_after",
        _("Line dropped, executed"),
        _("Starts the work and drops the line before answering."),
        executions=1,
    ),
    _unknown(
        "hang_after",
        _("Silence, executed"),
        _("Starts the work and never answers."),
        executions=1,
    ),
    _unknown(
        "cut_body",
        _("Half an answer, executed"),
        _("Starts the work and hangs up in the middle of its answer."),
        executions=1,
    ),
    _unknown(
        "cut_chunked",
        _("Half an answer in chunks, executed"),
        _("Starts the work and hangs up before the last chunk of its answer."),
        executions=1,
    ),
    _unknown(
        "drip",
        _("A byte a second, executed"),
        _("Starts the work and answers so slowly that nobody can wait for it."),
        executions=1,
    ),
    _unknown(
        "http_409",
        _("Conflict, executed (409)"),
        _("Starts the work and answers that the request conflicts with another."),
        reason="provider",
        executions=1,
    ),
    _unknown(
        "redirect_303",
        _("Sent elsewhere (303)"),
        _("Sends the request to another address and does not start the work."),
        reason="provider",
        executions=0,
    ),
    _unknown(
        "html_502",
        _("Gateway error, not executed (502)"),
        _("Shows a gateway's error page; the work was not started."),
        reason="provider",
        executions=0,
    ),
    _unknown(
        "html_502_executed",
        _("Gateway error, executed (502)"),
        _("Shows a gateway's error page, although the work was started."),
        reason="provider",
        executions=1,
    ),
    _unknown(
        "html_504",
        _("Gateway timeout, not executed (504)"),
        _("Shows a gateway's timeout page; the work was not started."),
        reason="provider",
        executions=0,
    ),
    _unknown(
        "html_504_executed",
        _("Gateway timeout, executed (504)"),
        _("Shows a gateway's timeout page, although the work was started."),
        reason="provider",
        executions=1,
    ),
    _unknown(
        "html_524",
        _("CDN timeout, not executed (524)"),
        _("Shows a content network's timeout page; the work was not started."),
        reason="provider",
        executions=0,
    ),
    _unknown(
        "html_524_executed",
        _("CDN timeout, executed (524)"),
        _("Shows a content network's timeout page, although the work was started."),
        reason="provider",
        executions=1,
    ),
    # Its answer is lost, and its list of runs is a riddle
    _unknown(
        "list_lag",
        _("Line dropped, listed late"),
        _("Starts the work, drops the line, and lists the run only three minutes later."),
        executions=1,
    ),
    _unknown(
        "list_fails",
        _("Line dropped, list broken twice"),
        _("Starts the work, drops the line, and fails to list its runs the first two times."),
        executions=1,
    ),
    _unknown(
        "list_two",
        _("Line dropped, two runs look alike"),
        _("Starts the work, drops the line, and lists a second run that looks just like it."),
        executions=1,
        is_found=False,
    ),
    # Its answer is lost; where the site has an address to report to, it reports by itself
    _unknown(
        "hook_ok",
        _("Lost answer, then a webhook"),
        _("Drops the line, and reports the finished picture to the site by itself."),
        executions=1,
        hooked=DELIVERED,
    ),
    _unknown(
        "hook_dup",
        _("Lost answer, then a webhook three times"),
        _("Drops the line, and reports the finished picture three times at once."),
        executions=1,
        hooked=DELIVERED,
    ),
    _unknown(
        "hook_early",
        _("Webhook, then a lost answer"),
        _("Reports the work before it would answer, and then drops the line."),
        executions=1,
        hooked=DELIVERED,
    ),
    _unknown(
        "hook_late",
        _("Lost answer, then a late webhook"),
        _("Drops the line, and reports the picture only 20 minutes later."),
        executions=1,
        hooked=DELIVERED,
    ),
    # It takes the request; its report to the site is worth nothing
    _ready(
        "hook_bad_sig",
        _("Forged webhook"),
        _("Draws the picture, while a forged report names another one."),
    ),
    _ready(
        "hook_stale",
        _("Webhook of an hour ago"),
        _("Draws the picture, and reports it under the time of an hour ago."),
    ),
    _ready(
        "hook_unknown",
        _("Webhook to a wrong address"),
        _("Draws the picture, and reports it to an address that does not exist."),
    ),
    # It takes the request and reports how the work went
    _ready(
        "slow_14",
        _("Slow: 14 minutes"),
        _("Draws the picture in 14 minutes, just before the deadline."),
    ),
    _ready(
        "slow_16",
        _("Slow: 16 minutes"),
        _("Draws the picture in 16 minutes, just after the deadline."),
        in_doubt_first=True,
    ),
    _ready(
        "slow_40",
        _("Slow: 40 minutes"),
        _("Draws the picture in 40 minutes, long after the deadline."),
        in_doubt_first=True,
    ),
    _ready(
        "poll_flaky",
        _("Muddled answers"),
        _("Answers every second question about the picture with nonsense, then delivers it."),
    ),
    _ready(
        "status_new",
        _("Unknown status word"),
        _("Reports for a while a status that nobody knows, then delivers the picture."),
    ),
    _failed("fail", _("Failure"), _("Reports that the work failed, at no charge."), charges=0),
    _failed(
        "fail_billed",
        _("Failure, billed"),
        _("Reports that the work failed, and bills it."),
        charges=1,
    ),
    _failed(
        "cancelled",
        _("Cancelled by the provider"),
        _("Cancels the work by itself, at no charge."),
        reason="cancelled",
        charges=0,
    ),
    _failed(
        "failed_then_completed",
        _("Failure, later taken back"),
        _("Reports a failure, and would say later that the picture is there and billed."),
        charges=1,
        hooked=End("failed", "failed", "ready", ""),
    ),
    _failed(
        "no_output",
        _("Finished without a picture"),
        _("Reports success and bills it, but there is no picture."),
        reason="no_output",
        charges=1,
    ),
    _failed(
        "text_only",
        _("Words instead of a picture"),
        _("Reports success and bills it, but answers with words only."),
        reason="no_output",
        charges=1,
    ),
    # The picture is made; fetching it is another matter
    _ready(
        "result_cut",
        _("File cut twice"),
        _("Hangs up in the middle of the file the first two times, then sends it whole."),
    ),
    _not_fetched(
        "result_gone",
        _("File gone (404)"),
        _("Draws and bills the picture, but its file is gone."),
    ),
    _not_fetched(
        "result_forbidden",
        _("File forbidden (403)"),
        _("Draws and bills the picture, but does not let anyone fetch it."),
    ),
    _not_fetched(
        "result_redirect",
        _("File elsewhere (302)"),
        _("Draws and bills the picture, but points from its file to a private address."),
    ),
    _not_fetched(
        "result_private",
        _("File at a private address"),
        _("Draws and bills the picture, but names a private address for its file."),
    ),
    _not_fetched(
        "result_huge",
        _("Endless file"),
        _("Draws and bills the picture, but its file never ends."),
    ),
    _not_fetched(
        "result_wrong_type",
        _("Not a picture"),
        _("Draws and bills the picture, but sends a web page in its place."),
    ),
)

_BY_NAME = {fault.name: fault for fault in FAULTS}


def fault_named(name: str) -> Fault:
    """Raises KeyError for a name that is not in the table."""
    return _BY_NAME[name]
