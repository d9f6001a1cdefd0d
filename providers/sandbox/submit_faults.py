"""The part of the table of faults in which the answer to the request itself is at fault."""

from django.utils.translation import gettext_lazy as _

from providers.sandbox.fault_kinds import DELIVERED, End, ready, rejected, unknown

SUBMIT_FAULTS = (
    ready("ok", _("No fault"), _("Draws the picture and delivers it.")),
    # It never takes the request
    rejected(
        "refuse",
        _("Connection refused"),
        _("Does not answer the door: nothing is sent."),
        reason="transport",
    ),
    rejected(
        "http_401",
        _("Key refused (401)"),
        _("Refuses the site's key before any work is done."),
        reason="auth",
    ),
    rejected(
        "http_402",
        _("No balance (402)"),
        _("Says that the site's account has run out of money."),
        reason="balance",
    ),
    rejected(
        "http_422",
        _("Prompt refused (422)"),
        _("Refuses to draw what the prompt asks for, before any work is done."),
        reason="content",
    ),
    rejected(
        "http_429",
        _("Always too busy (429)"),
        _("Is too busy, every time, and does not say for how long."),
        reason="rate",
    ),
    rejected(
        "http_429_after",
        _("Always too busy, names a wait (429)"),
        _("Is too busy, every time, and asks to come back in a second."),
        reason="rate",
    ),
    ready(
        "http_429_once",
        _("Too busy once (429)"),
        _("Is too busy the first time, and draws the picture when asked again."),
    ),
    rejected(
        "json_5xx",
        _("Own error (500)"),
        _("Reports an error of its own and does not start the work."),
        reason="provider",
    ),
    rejected(
        "json_5xx_executed",
        _("Own error, yet executed (500)"),
        _("Reports an error of its own, yet draws the picture and bills it."),
        reason="provider",
        executions=1,
        hooked=End("rejected", "failed", "ready", ""),
    ),
    # Its answer names the run before it is lost
    ready(
        "header_id",
        _("Half an answer, the id in its headers"),
        _("Names the run in its headers, hangs up, and lists a second run that looks like it."),
    ),
    # Every byte of its answers arrives, wrapped in an odd way
    ready(
        "interim",
        _("Interim answers (102, 103)"),
        _("Sends two interim answers before each real one, and delivers the picture."),
    ),
    ready(
        "answer_no_end",
        _("Whole answer, end mark missing"),
        _("Answers in full, but never sends the mark that ends an answer in chunks."),
    ),
    ready(
        "answer_too_long",
        _("Whole answer, announced too long"),
        _("Answers in full, but announces two bytes more than it sends."),
    ),
    ready(
        "answer_called_gzip",
        _("Plain answer, called compressed"),
        _("Answers in plain text, but calls the text compressed."),
    ),
    ready(
        "answer_twice",
        _("Each answer twice"),
        _("Sends each answer twice on the same connection."),
    ),
    ready(
        "answer_rest",
        _("Stray bytes after the answer"),
        _("Sends a few bytes that belong to nothing after each answer."),
    ),
    # Its answer to the request says nothing
    unknown(
        "drop_before",
        _("Line dropped, not executed"),
        _("Reads the request and drops the line without starting the work."),
        executions=0,
    ),
    unknown(
        "drop_after",
        _("Line dropped, executed"),
        _("Starts the work and drops the line before answering."),
        executions=1,
    ),
    unknown(
        "hang_after",
        _("Silence, executed"),
        _("Starts the work and never answers."),
        executions=1,
    ),
    unknown(
        "cut_body",
        _("Half an answer, executed"),
        _("Starts the work and hangs up in the middle of its answer."),
        executions=1,
    ),
    unknown(
        "cut_chunked",
        _("Half an answer in chunks, executed"),
        _("Starts the work and hangs up before the last chunk of its answer."),
        executions=1,
    ),
    unknown(
        "drip",
        _("A byte a second, executed"),
        _("Starts the work and answers so slowly that nobody can wait for it."),
        executions=1,
    ),
    unknown(
        "http_409",
        _("Conflict, executed (409)"),
        _("Starts the work and answers that the request conflicts with another."),
        reason="provider",
        executions=1,
    ),
    unknown(
        "redirect_303",
        _("Sent elsewhere (303)"),
        _("Sends the request to another address and does not start the work."),
        reason="provider",
        executions=0,
    ),
    unknown(
        "html_502",
        _("Gateway error, not executed (502)"),
        _("Shows a gateway's error page; the work was not started."),
        reason="provider",
        executions=0,
    ),
    unknown(
        "html_502_executed",
        _("Gateway error, executed (502)"),
        _("Shows a gateway's error page, although the work was started."),
        reason="provider",
        executions=1,
    ),
    unknown(
        "html_504",
        _("Gateway timeout, not executed (504)"),
        _("Shows a gateway's timeout page; the work was not started."),
        reason="provider",
        executions=0,
    ),
    unknown(
        "html_504_executed",
        _("Gateway timeout, executed (504)"),
        _("Shows a gateway's timeout page, although the work was started."),
        reason="provider",
        executions=1,
    ),
    unknown(
        "html_524",
        _("CDN timeout, not executed (524)"),
        _("Shows a content network's timeout page; the work was not started."),
        reason="provider",
        executions=0,
    ),
    unknown(
        "html_524_executed",
        _("CDN timeout, executed (524)"),
        _("Shows a content network's timeout page, although the work was started."),
        reason="provider",
        executions=1,
    ),
    # Its answer is lost, and its list of runs is a riddle
    unknown(
        "list_lag",
        _("Line dropped, listed late"),
        _("Starts the work, drops the line, and lists the run only three minutes later."),
        executions=1,
    ),
    unknown(
        "list_fails",
        _("Line dropped, list broken twice"),
        _("Starts the work, drops the line, and fails to list its runs the first two times."),
        executions=1,
    ),
    unknown(
        "list_two",
        _("Line dropped, two runs look alike"),
        _("Starts the work, drops the line, and lists a second run that looks just like it."),
        executions=1,
        is_found=False,
    ),
    unknown(
        "list_foreign",
        _("Line dropped, list of something else"),
        _("Starts the work, drops the line, and lists another page and another day at first."),
        executions=1,
    ),
    # Its answer is lost; where the site has an address to report to, it reports by itself
    unknown(
        "hook_ok",
        _("Lost answer, then a webhook"),
        _("Drops the line, and reports the finished picture to the site by itself."),
        executions=1,
        hooked=DELIVERED,
    ),
    unknown(
        "hook_dup",
        _("Lost answer, then a webhook three times"),
        _("Drops the line, and reports the finished picture three times at once."),
        executions=1,
        hooked=DELIVERED,
    ),
    unknown(
        "hook_early",
        _("Webhook, then a lost answer"),
        _("Reports the work before it would answer, and then drops the line."),
        executions=1,
        hooked=DELIVERED,
    ),
    unknown(
        "hook_late",
        _("Lost answer, then a late webhook"),
        _("Drops the line, and reports the picture only 20 minutes later."),
        executions=1,
        hooked=DELIVERED,
    ),
)
