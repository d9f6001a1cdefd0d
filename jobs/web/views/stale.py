"""A form that was opened before its sender signed in or out: refused, with what was typed kept."""

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.csrf import csrf_failure

from jobs.people.requests import SiteRequest
from jobs.pictures.forms import PictureForm
from jobs.web.htmx import wants_part
from jobs.web.views.limited import bare_limited_page, limited_page
from jobs.web.views.pages import show


def not_sent(request: SiteRequest, reason: str = "") -> HttpResponse:
    """Only if nothing but the token was wrong: another site's form is not shown as one of ours."""
    is_ours = request.path == reverse("new_picture") and reason.startswith("CSRF token")
    if limited := getattr(request, "limited", None):
        page = limited_page if is_ours else bare_limited_page
        return page(request, limited)
    if not is_ours:
        return csrf_failure(request, reason)
    context: dict[str, object] = {
        "form": PictureForm(request.POST),
        "refused": _(
            "This form is out of date. You may have signed in or out since you opened it. "
            "Send it again."
        ),
    }
    status = 409 if wants_part(request) else 403
    return show(
        request, "new_picture.html", part="_picture_form.html", context=context, status=status
    )
