"""Ordering a picture, looking at one, and its file: which goes out by a check of the owner, never
by its path."""

import math
import os
import uuid
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlencode

from django.conf import settings
from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from jobs.core.models import Job, Picture
from jobs.core.states import OPEN, JobState
from jobs.files import media
from jobs.people.own_rows import NotHere, find_neighbours, own_jobs, own_picture
from jobs.people.requests import SiteRequest
from jobs.pictures.forms import PictureForm, fresh_form, is_form_key
from jobs.pictures.orders import NotRetried, new_form_key, order_picture
from jobs.pictures.thumbnails import MEDIA_TYPE, make_thumbnail
from jobs.pictures.words import WORDS
from jobs.web.htmx import wants_part
from jobs.web.views.pages import see_other, show, tell
from jobs.words.quota import new_visitor_refused_in_words, refused_in_words
from jobs.words.wording import MessageName
from providers.wire.picture_files import TYPES
from quotas import ledger, new_visitors
from quotas.ledger import Refused
from quotas.models import Kind
from quotas.ratelimit.client_ip import find_quota_network

SHOWABLE = {media_type for media_type, _extension in TYPES.values()}


@require_http_methods(["GET", "HEAD", "POST"])
def new_picture(request: SiteRequest) -> HttpResponse:
    if request.method != "POST":
        return _open_form(request)
    form = PictureForm(request.POST)
    if not form.is_valid():
        return _form_page(request, form, status=422)
    try:
        answer = order_picture(
            account=request.account,
            order=form.order(),
            form_key=form.cleaned_data["form_key"],
            now=timezone.now(),
            retry_of=own_jobs(request).filter(pk=form.cleaned_data["retry_of"]).first(),
            network=find_quota_network(request),
        )
    except NotRetried as exc:
        return _explain_no_retry(request, form, exc.earlier)
    if isinstance(answer, Refused):
        now = timezone.now()
        status = 409 if answer.why == "closed" else 429
        response = _form_page(request, form, status=status, refused=refused_in_words(answer, now))
        if answer.why == "new_visitors" and settings.NEW_VISITORS_A_DAY:
            wait = answer.balance.renews_at - now
            response["Retry-After"] = str(math.ceil(wait.total_seconds()))
        return response
    return _go_to(request, reverse("job", args=[answer.pk]))


@require_safe
def picture_page(request: SiteRequest, picture_id: uuid.UUID) -> HttpResponse:
    picture = own_picture(request, picture_id)
    newer, older = find_neighbours(request, picture)
    context: dict[str, object] = {
        "picture": picture,
        "job": picture.job,
        "lasted": (picture.job.ended_at or picture.created_at) - picture.job.created_at,
        "newer": newer,
        "older": older,
    }
    return show(request, "picture.html", part="picture.html", context=context)


@require_safe
def picture_file(request: SiteRequest, picture_id: uuid.UUID) -> HttpResponseBase:
    """The original's bytes; `?download` makes the browser save them under a descriptive name."""
    picture = own_picture(request, picture_id)
    disposition = content_disposition_header("download" in request.GET, _file_name(picture))
    file = _open(picture)
    size = os.fstat(file.fileno()).st_size
    response = FileResponse(file, content_type=picture.media_type)
    response["Content-Length"] = str(size)
    response["Content-Disposition"] = str(disposition)
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["Cache-Control"] = "private, max-age=86400, immutable"
    return response


@require_safe
def picture_thumbnail(request: SiteRequest, picture_id: uuid.UUID) -> HttpResponseBase:
    """For lists; the original where none can be drawn."""
    picture = own_picture(request, picture_id)
    content = make_thumbnail(picture)
    if content is None:
        return redirect("picture_file", picture.pk)
    response = HttpResponse(content, content_type=MEDIA_TYPE)
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, max-age=86400, immutable"
    return response


def _open_form(request: SiteRequest) -> HttpResponse:
    """Put the form key in the URL. Back then shows the same form even if the browser reloads it,
    and sending it again finds the job that it created."""
    source = _source(request)
    if source and source.state in OPEN:
        tell(request, WORDS.message(MessageName.EARLIER_MAY_COME))
        return redirect("job", source.pk)
    form_key = request.GET.get("form", "")
    if is_form_key(form_key):
        return _form_page(request, fresh_form(form_key, source))
    kept = {"from": source.pk} if source else {}
    query = urlencode({**kept, "form": new_form_key()})
    return redirect(f"{reverse('new_picture')}?{query}")


def _source(request: SiteRequest) -> Job | None:
    """The job that `?from=` names, if it is one's own."""
    try:
        source = uuid.UUID(request.GET.get("from", ""))
    except ValueError:
        return None
    return own_jobs(request).filter(pk=source).first()


def _form_page(
    request: SiteRequest, form: PictureForm, *, status: int = 200, refused: str = ""
) -> HttpResponse:
    context: dict[str, object] = {
        "form": form,
        "refused": refused,
        "new_visitor_refusal": _new_visitor_refusal(request),
    }
    return show(
        request, "new_picture.html", part="_picture_form.html", context=context, status=status
    )


def _new_visitor_refusal(request: SiteRequest) -> str:
    """Why a visitor who is new could order nothing today; empty for everybody else."""
    account, now = request.account, timezone.now()
    if account.pk or not account.visitor:
        return ""
    day = ledger.utc_day(now)
    if new_visitors.has_room(find_quota_network(request), day):
        return ""
    return new_visitor_refused_in_words(ledger.read_balance(account, Kind.IMAGE, day), now)


def _explain_no_retry(request: SiteRequest, form: PictureForm, earlier: Job) -> HttpResponse:
    """Where the earlier try is ready, the form sent once more is an order of its own."""
    is_ready = earlier.state == JobState.READY
    if is_ready:
        fields = request.POST.copy()
        fields["retry_of"] = ""
        form = PictureForm(fields)
    context: dict[str, object] = {
        "form": form,
        "earlier": earlier,
        "not_retried": WORDS.message(
            MessageName.EARLIER_CAME if is_ready else MessageName.EARLIER_MAY_COME
        ).says,
    }
    return show(request, "new_picture.html", part="_picture_form.html", context=context, status=409)


def _go_to(request: SiteRequest, address: str) -> HttpResponse:
    if wants_part(request):
        return HttpResponseClientRedirect(address)
    return see_other(address)


def _open(picture: Picture) -> BinaryIO:
    """Only a file of a known type inside the media folder."""
    path = media.path_of(picture.file)
    if path is None or picture.media_type not in SHOWABLE:
        raise NotHere(_("We cannot show this picture."))
    try:
        return path.open("rb")
    except OSError:
        raise NotHere(
            _("We could not open this picture's file. Only staff can fix this.")
        ) from None


def _file_name(picture: Picture) -> str:
    words = slugify(picture.job.prompt)[:50].strip("-") or "picture"
    return f"{words}-{picture.pk.hex[:8]}{Path(picture.file).suffix}"
