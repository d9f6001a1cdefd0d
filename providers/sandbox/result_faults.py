"""The part of the table of faults that begins after the request was accepted."""

from django.utils.translation import gettext_lazy as _

from providers.sandbox.fault_kinds import End, failed, not_fetched, ready

RESULT_FAULTS = (
    # It takes the request; its report to the site is worth nothing
    ready(
        "hook_bad_sig",
        _("Forged webhook"),
        _("Draws the picture, while a forged report names another one."),
    ),
    ready(
        "hook_stale",
        _("Webhook of an hour ago"),
        _("Draws the picture, and reports it under the time of an hour ago."),
    ),
    ready(
        "hook_unknown",
        _("Webhook to a wrong address"),
        _("Draws the picture, and reports it to an address that does not exist."),
    ),
    # It takes the request and reports how the work went
    ready(
        "slow_14",
        _("Slow: 14 minutes"),
        _("Draws the picture in 14 minutes, just before the deadline."),
    ),
    ready(
        "slow_16",
        _("Slow: 16 minutes"),
        _("Draws the picture in 16 minutes, just after the deadline."),
        in_doubt_first=True,
    ),
    ready(
        "slow_40",
        _("Slow: 40 minutes"),
        _("Draws the picture in 40 minutes, long after the deadline."),
        in_doubt_first=True,
    ),
    ready(
        "poll_flaky",
        _("Muddled answers"),
        _("Answers every second question about the picture with nonsense, then delivers it."),
    ),
    ready(
        "status_new",
        _("Unknown status word"),
        _("Reports for a while a status that nobody knows, then delivers the picture."),
    ),
    ready(
        "wrong_id",
        _("Answers about another picture"),
        _("Answers some questions with the state of another person's picture, then delivers it."),
    ),
    ready(
        "no_id",
        _("Answers that name no picture"),
        _("Leaves out at first which picture it speaks of, then delivers it."),
    ),
    ready(
        "poll_429",
        _("Too busy to be asked (429)"),
        _("Is too busy to say how the work goes, then delivers the picture."),
    ),
    ready(
        "poll_429_after",
        _("Too busy to be asked, names a wait (429)"),
        _("Asks twice not to be asked for two seconds, then delivers the picture."),
    ),
    failed("fail", _("Failure"), _("Reports that the work failed, at no charge."), charges=0),
    failed(
        "fail_billed",
        _("Failure, billed"),
        _("Reports that the work failed, and bills it."),
        charges=1,
    ),
    failed(
        "cancelled",
        _("Cancelled by the provider"),
        _("Cancels the work by itself, at no charge."),
        reason="cancelled",
        charges=0,
    ),
    failed(
        "failed_then_completed",
        _("Failure, later taken back"),
        _("Reports a failure, and would say later that the picture is there and billed."),
        charges=1,
        hooked=End("failed", "failed", "ready", ""),
    ),
    failed(
        "no_output",
        _("Finished without a picture"),
        _("Reports success and bills it, but there is no picture."),
        reason="no_output",
        charges=1,
    ),
    failed(
        "text_only",
        _("Words instead of a picture"),
        _("Reports success and bills it, but answers with words only."),
        reason="no_output",
        charges=1,
    ),
    ready(
        "late_output",
        _("Finished before its picture is listed"),
        _("Reports success three times without a picture, then lists it."),
    ),
    not_fetched(
        "odd_shape",
        _("Finished, picture in an unknown form"),
        _("Reports success and bills it, but describes the picture in an unknown way."),
    ),
    # The picture is made; fetching it is another matter
    ready(
        "result_cut",
        _("File cut twice"),
        _("Hangs up in the middle of the file the first two times, then sends it whole."),
    ),
    ready(
        "url_expires",
        _("File address expires"),
        _("Fails once, forbids the file at the old address, and gives a new one when asked."),
    ),
    ready(
        "png_text",
        _("PNG with a very long text"),
        _("Sends a picture that carries more than a megabyte of text."),
    ),
    ready(
        "png_checksum",
        _("PNG with a wrong checksum"),
        _("Sends a picture whose comment has a wrong checksum."),
    ),
    ready(
        "png_16_bits",
        _("PNG with 16 bits"),
        _("Sends a grey picture with 16 bits for each pixel."),
    ),
    ready(
        "jpeg_end",
        _("JPEG without its end mark"),
        _("Sends a picture without its last two bytes, which carry no pixels."),
    ),
    ready(
        "bitmap",
        _("Bitmap in place of a PNG"),
        _("Sends the picture in a format that was not requested."),
    ),
    not_fetched(
        "result_gone",
        _("File gone (404)"),
        _("Draws and bills the picture, but its file is gone."),
    ),
    not_fetched(
        "result_forbidden",
        _("File forbidden (403)"),
        _("Draws and bills the picture, but does not let anyone fetch it."),
    ),
    not_fetched(
        "result_redirect",
        _("File elsewhere (302)"),
        _("Draws and bills the picture, but points from its file to a private address."),
    ),
    not_fetched(
        "result_private",
        _("File at a private address"),
        _("Draws and bills the picture, but names a private address for its file."),
    ),
    not_fetched(
        "result_huge",
        _("Endless file"),
        _("Draws and bills the picture, but its file never ends."),
    ),
    not_fetched(
        "result_wrong_type",
        _("Not a picture"),
        _("Draws and bills the picture, but sends a web page in its place."),
    ),
)
