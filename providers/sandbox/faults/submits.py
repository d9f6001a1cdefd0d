"""Faults of the answer to the request itself."""

from django.utils.translation import gettext_lazy as _

from providers.sandbox.faults.kinds import not_executed, picture

SUBMIT_FAULTS = (
    picture(
        "ok",
        _("No fault"),
        _("Draws the picture and delivers it."),
    ),
    # The request is not accepted.
    not_executed(
        "refuse",
        _("Connection refused"),
        _("Refuses the connection, so nothing is sent."),
    ),
    not_executed(
        "http_401",
        _("Key refused (401)"),
        _("Refuses the site's key before any work is done."),
    ),
    not_executed(
        "http_402",
        _("No balance (402)"),
        _("Reports that the site's account has run out of money."),
    ),
    not_executed(
        "http_422",
        _("Prompt refused (422)"),
        _("Refuses to draw what the prompt asks for, before any work is done."),
    ),
    not_executed(
        "http_429",
        _("Always too busy (429)"),
        _("Is always too busy and does not say for how long."),
    ),
    not_executed(
        "http_429_after",
        _("Always too busy, with a wait (429)"),
        _("Is always too busy and asks the site to come back in a second."),
    ),
    picture(
        "http_429_once",
        _("Too busy once (429)"),
        _("Is too busy the first time, and draws the picture the second time."),
    ),
    not_executed(
        "json_5xx",
        _("Provider error, picture not made (500)"),
        _("Reports an error of its own and does not start the work."),
    ),
    picture(
        "json_5xx_executed",
        _("Provider error, picture made anyway (500)"),
        _("Reports an error of its own, yet draws the picture and bills it."),
    ),
    # The answer names the run before it is lost.
    picture(
        "header_id",
        _("Half an answer, id in its headers"),
        _("Names the run in its headers, hangs up, and lists a second run that looks like it."),
    ),
    # Every byte of the answer arrives, framed in an odd way.
    picture(
        "interim",
        _("Interim answers (102, 103)"),
        _("Sends two interim answers before each real one, and delivers the picture."),
    ),
    picture(
        "answer_no_end",
        _("Whole answer, no end mark"),
        _("Answers in full, but never sends the mark that ends a chunked answer."),
    ),
    picture(
        "answer_too_long",
        _("Whole answer, length too long"),
        _("Answers in full, but announces two bytes more than it sends."),
    ),
    picture(
        "answer_called_gzip",
        _("Plain answer, labelled as compressed"),
        _("Answers in plain text, but labels it as compressed."),
    ),
    picture(
        "answer_twice",
        _("Each answer twice"),
        _("Sends each answer twice on the same connection."),
    ),
    picture(
        "answer_rest",
        _("Stray bytes after the answer"),
        _("Sends a few stray bytes after each answer."),
    ),
    # The answer to the request proves nothing.
    not_executed(
        "drop_before",
        _("Connection dropped, picture not made"),
        _("Reads the request and drops the connection without starting the work."),
    ),
    picture(
        "drop_after",
        _("Connection dropped, picture made"),
        _("Starts the work and drops the connection before answering."),
    ),
    picture(
        "hang_after",
        _("No answer, picture made"),
        _("Starts the work and never answers."),
    ),
    picture(
        "cut_body",
        _("Half an answer, picture made"),
        _("Starts the work and hangs up in the middle of its answer."),
    ),
    picture(
        "cut_chunked",
        _("Half a chunked answer, picture made"),
        _("Starts the work and hangs up before the last chunk of its answer."),
    ),
    picture(
        "drip",
        _("One byte a second, picture made"),
        _("Starts the work and answers too slowly for anyone to wait."),
    ),
    picture(
        "http_409",
        _("Conflict, picture made (409)"),
        _("Starts the work and answers that the request conflicts with another."),
    ),
    not_executed(
        "redirect_303",
        _("Redirected (303)"),
        _("Sends the request to another address and does not start the work."),
    ),
    not_executed(
        "html_502",
        _("Gateway error, picture not made (502)"),
        _("Shows a gateway's error page; the work was not started."),
    ),
    picture(
        "html_502_executed",
        _("Gateway error, picture made (502)"),
        _("Shows a gateway's error page, although the work was started."),
    ),
    not_executed(
        "html_504",
        _("Gateway timeout, picture not made (504)"),
        _("Shows a gateway's timeout page; the work was not started."),
    ),
    picture(
        "html_504_executed",
        _("Gateway timeout, picture made (504)"),
        _("Shows a gateway's timeout page, although the work was started."),
    ),
    not_executed(
        "html_524",
        _("CDN timeout, picture not made (524)"),
        _("Shows a content network's timeout page; the work was not started."),
    ),
    picture(
        "html_524_executed",
        _("CDN timeout, picture made (524)"),
        _("Shows a content network's timeout page, although the work was started."),
    ),
    # The answer is lost, and the list of runs is hard to read.
    picture(
        "list_lag",
        _("Connection dropped, run listed late"),
        _("Starts the work, drops the connection, and lists the run three minutes later."),
    ),
    picture(
        "list_fails",
        _("Connection dropped, list fails twice"),
        _("Starts the work, drops the connection, and fails the first two requests for its list."),
    ),
    picture(
        "list_two",
        _("Connection dropped, two similar runs"),
        _("Starts the work, drops the connection, and lists a second run that looks the same."),
    ),
    picture(
        "list_foreign",
        _("Connection dropped, list of something else"),
        _("Starts the work, drops the connection, and lists another page and day at first."),
    ),
    # The answer is lost. A webhook follows where the site has a public address.
    picture(
        "hook_ok",
        _("Lost answer, then a webhook"),
        _("Drops the connection, and reports the finished picture by webhook."),
    ),
    picture(
        "hook_dup",
        _("Lost answer, then a webhook three times"),
        _("Drops the connection, and sends three webhooks about the finished picture at once."),
    ),
    picture(
        "hook_early",
        _("Webhook, then a lost answer"),
        _("Sends a webhook before it would answer, then drops the connection."),
    ),
    picture(
        "hook_late",
        _("Lost answer, then a late webhook"),
        _("Drops the connection, and sends a webhook 20 minutes later."),
    ),
)
