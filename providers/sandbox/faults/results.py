"""Faults that begin after the request was accepted."""

from django.utils.translation import gettext_lazy as _

from providers.sandbox.faults.kinds import free_failure, no_picture, picture

RESULT_FAULTS = (
    # The request is accepted. The webhook proves nothing.
    picture(
        "hook_bad_sig",
        _("Forged webhook"),
        _("Draws the picture, and sends a forged webhook that names another one."),
    ),
    picture(
        "hook_stale",
        _("Webhook of an hour ago"),
        _("Draws the picture, and dates its webhook an hour back."),
    ),
    picture(
        "hook_unknown",
        _("Webhook to a wrong address"),
        _("Draws the picture, and sends its webhook to an address that does not exist."),
    ),
    # The request is accepted, and status checks report on the work.
    picture(
        "slow_14",
        _("Slow: 14 minutes"),
        _("Draws the picture in 14 minutes, just before the deadline."),
    ),
    picture(
        "slow_16",
        _("Slow: 16 minutes"),
        _("Draws the picture in 16 minutes, just after the deadline."),
    ),
    picture(
        "slow_40",
        _("Slow: 40 minutes"),
        _("Draws the picture in 40 minutes, long after the deadline."),
    ),
    picture(
        "poll_flaky",
        _("Nonsense between answers"),
        _("Answers every second status check with nonsense, then delivers the picture."),
    ),
    picture(
        "status_new",
        _("Unknown status"),
        _("Reports an unknown status for a while, then delivers the picture."),
    ),
    picture(
        "wrong_id",
        _("Answers about another picture"),
        _("Answers some status checks with another person's picture, then delivers its own."),
    ),
    picture(
        "no_id",
        _("Answers without an id"),
        _("Leaves out at first which picture an answer is about, then delivers it."),
    ),
    picture(
        "poll_429",
        _("Too busy for status checks (429)"),
        _("Is too busy for status checks at first, then delivers the picture."),
    ),
    picture(
        "poll_429_after",
        _("Too busy for status checks, with a wait (429)"),
        _("Refuses two status checks for two seconds each, then delivers the picture."),
    ),
    free_failure(
        "fail",
        _("Failure"),
        _("Reports that the work failed, at no charge."),
    ),
    no_picture(
        "fail_billed",
        _("Failure, billed"),
        _("Reports that the work failed, and bills it."),
    ),
    free_failure(
        "cancelled",
        _("Cancelled by the provider"),
        _("Cancels the work at no charge."),
    ),
    picture(
        "failed_then_completed",
        _("Failure, later taken back"),
        _("Reports a failure. Asked again later, says that the picture was made and billed."),
    ),
    no_picture(
        "no_output",
        _("Finished without a picture"),
        _("Reports success and bills it, but there is no picture."),
    ),
    no_picture(
        "text_only",
        _("Text instead of a picture"),
        _("Reports success and bills it, but answers with words only."),
    ),
    picture(
        "late_output",
        _("Finished before its picture is listed"),
        _("Reports success three times without a picture, then lists it."),
    ),
    no_picture(
        "odd_shape",
        _("Finished, picture in an unknown form"),
        _("Reports success and bills it, but describes the picture in an unknown way."),
    ),
    # The picture is made. Its file is at fault.
    picture(
        "result_cut",
        _("File cut twice"),
        _("Hangs up in the middle of the file the first two times, then sends it whole."),
    ),
    picture(
        "url_expires",
        _("File address expires"),
        _("Fails once, then refuses the old address of the file and gives a new one on request."),
    ),
    picture(
        "png_text",
        _("PNG with a very long text"),
        _("Sends a picture that carries more than a megabyte of text."),
    ),
    picture(
        "png_checksum",
        _("PNG with a wrong checksum"),
        _("Sends a picture whose comment has a wrong checksum."),
    ),
    picture(
        "png_16_bits",
        _("PNG with 16 bits"),
        _("Sends a grey picture with 16 bits for each pixel."),
    ),
    picture(
        "jpeg_end",
        _("JPEG without its end mark"),
        _("Sends a picture without its last two bytes, which carry no pixels."),
    ),
    picture(
        "bitmap",
        _("Bitmap in place of a PNG"),
        _("Sends the picture in a format that was not requested."),
    ),
    no_picture(
        "result_gone",
        _("File gone (404)"),
        _("Draws and bills the picture, but its file is gone."),
    ),
    no_picture(
        "result_forbidden",
        _("File forbidden (403)"),
        _("Draws and bills the picture, but does not let anyone fetch it."),
    ),
    no_picture(
        "result_redirect",
        _("File elsewhere (302)"),
        _("Draws and bills the picture, but points from its file to a private address."),
    ),
    no_picture(
        "result_private",
        _("File at a private address"),
        _("Draws and bills the picture, but names a private address for its file."),
    ),
    no_picture(
        "result_huge",
        _("Endless file"),
        _("Draws and bills the picture, but its file never ends."),
    ),
    no_picture(
        "result_wrong_type",
        _("Not a picture"),
        _("Draws and bills the picture, but sends a web page in its place."),
    ),
)
