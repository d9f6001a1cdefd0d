"""The staff's board, and the two decisions about a provider that are taken from it.

Looking writes nothing. The part that changes comes by itself where its reader wished so.
"""

from collections.abc import Callable
from typing import cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.board.whole import board_at, use_at
from jobs.views.pages import show, wants_part
from providers import gates
from providers.models import Gate
from providers.registry import known_names

VIEW = "jobs.view_dashboard"
DECIDE = "providers.change_gate"
EVERY = 15
"""Seconds between two looks of a board that refreshes itself."""


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=200,
        help_text=gettext_lazy("Kept with your name and the time, for other staff to read."),
    )


@permission_required(VIEW, raise_exception=True)
def board(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    context: dict[str, object] = {
        "board": board_at(now),
        "every": EVERY if request.GET.get("refresh") == str(EVERY) else 0,
        "wished": EVERY,
        "may_decide": request.user.has_perm(DECIDE),
    }
    if not wants_part(request):
        context |= {**admin.site.each_context(request), "title": _("Dashboard"), "use": use_at(now)}
    return show(request, "admin/board.html", part="admin/_board.html", context=context)


@permission_required((VIEW, DECIDE), raise_exception=True)
def pause(request: HttpRequest, provider: str) -> HttpResponse:
    return _decide(
        request,
        provider,
        act=lambda: gates.pause(provider, timezone.now()),
        entry="Paused by staff: %s",
        words={
            "title": _("Pause %(provider)s?") % {"provider": provider},
            "says": _(
                "Nothing new is sent to it until somebody lets requests in again. What is on its "
                "way goes on. Work that nobody else may do waits its turn, and fails with its slot "
                "given back when that takes too long."
            ),
            "yes": _("Pause it"),
            "done": _("Paused: %(provider)s.") % {"provider": provider},
            "undone": _("Paused already: %(provider)s.") % {"provider": provider},
        },
    )


@permission_required((VIEW, DECIDE), raise_exception=True)
def resume(request: HttpRequest, provider: str) -> HttpResponse:
    return _decide(
        request,
        provider,
        act=lambda: gates.resume(provider),
        entry="Resumed by staff: %s",
        words={
            "title": _("Let requests in to %(provider)s again?") % {"provider": provider},
            "says": _(
                "Whatever paused it or one of its models ends now. If it still refuses, the next "
                "request pauses it again."
            ),
            "yes": _("Let requests in"),
            "done": _("Takes requests again: %(provider)s.") % {"provider": provider},
            "undone": _("Nothing was paused: %(provider)s.") % {"provider": provider},
        },
    )


def _decide(
    request: HttpRequest,
    provider: str,
    *,
    act: Callable[[], bool],
    entry: str,
    words: dict[str, str],
) -> HttpResponse:
    """Asked by GET, done by POST with a reason."""
    if provider not in known_names():
        raise Http404
    form = ReasonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        done = _act_and_write_down(request, provider, act, entry % form.cleaned_data["reason"])
        level = messages.SUCCESS if done else messages.WARNING
        messages.add_message(request, level, words["done" if done else "undone"])
        return redirect("admin:dashboard")
    context = {**admin.site.each_context(request), **words, "form": form}
    status = 422 if form.is_bound else 200
    return render(request, "admin/board_decide.html", context, status=status)


@transaction.atomic
def _act_and_write_down(
    request: HttpRequest, provider: str, act: Callable[[], bool], entry: str
) -> bool:
    if not act():
        return False
    gate, _made = Gate.objects.get_or_create(provider=provider, model=gates.WHOLE)
    rows = Gate.objects.filter(pk=gate.pk)
    user = cast(User, request.user)
    LogEntry.objects.log_actions(user.pk, rows, CHANGE, entry, single_object=True)
    return True
