"""The page of a staff action: what we know, what will happen, and a form for the reason.

GET shows it, POST runs the action; no script is needed. Where the state forbids the action, the
page shows why in place of the form. The admin checks who may enter (`jobs.staff.admin`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.staff.actions.base import ActionRefused, Decision
from jobs.staff.actions.tables import Table
from providers.calls.models import Call

MOST_AT_ONCE = 50


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy(
            "Other staff can read this, with your name and the time. Do not include the prompt."
        ),
    )


@dataclass(frozen=True)
class Back:
    """The page that led to the action, and that follows it."""

    words: str
    address: str


@dataclass(frozen=True)
class ActionPage:
    title: str
    yes: str
    known: Table
    will: Sequence[str]
    refused: str
    back: Back
    form: type[ReasonForm] = ReasonForm
    kept: object = None
    """Unreadable results, to be shown and downloaded."""


Run = Callable[[Decision, dict[str, Any]], str]


def requires(*permissions: str):
    def guard(view: Callable[..., HttpResponse]):
        @wraps(view)
        def guarded(request: HttpRequest, **address: Any) -> HttpResponse:
            if not request.user.has_perms(permissions):
                raise PermissionDenied
            return view(request, **address)

        return guarded

    return guard


def handle(request: HttpRequest, page: ActionPage, run: Run) -> HttpResponse:
    """`run` gets the decision and the form's data, and returns the text of its success."""
    form = page.form(request.POST or None, request.FILES or None)
    refused, status = page.refused, 200
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            by = cast(User, request.user)
            success = run(Decision(by, data["reason"], timezone.now()), data)
        except ActionRefused as refusal:
            refused, status = str(refusal), 409
        else:
            messages.success(request, success)
            return redirect(page.back.address)
    return render_confirmation(request, page, form, refused=refused, status=status)


def render_confirmation(
    request: HttpRequest,
    page: ActionPage,
    form: ReasonForm,
    *,
    refused: str,
    status: int,
    **more: object,
) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": page.title,
        "page": page,
        "form": form,
        "refused": refused,
        "is_final": bool(page.refused),
        **more,
    }
    return TemplateResponse(request, "admin/staff_action.html", context, status=status)


def back_to_call(call: Call) -> Back:
    address = reverse("admin:providers_call_change", args=[call.pk])
    return Back(_("Call %(number)s") % {"number": call.pk}, address)
