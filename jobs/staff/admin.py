"""Jobs, calls, gates and grants for staff: read only, with links to the actions that the reader may
take (`jobs.staff.actions`), and with the entries of past actions."""

import re
import uuid
from collections.abc import Callable
from secrets import token_urlsafe
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django_q.models import Schedule

from config.admin_base import ChoiceFilter, ReadOnlyAdmin, ReadOnlyInline
from jobs.core import leases
from jobs.core.models import ActionName, Event, Job, Picture, StaffAction, Stage
from jobs.core.states import JobState
from jobs.staff.actions import attach, check, deliver, give_back, resume_job
from jobs.staff.actions import grant as grants
from jobs.staff.actions.available import available_actions
from jobs.staff.actions.base import ActionRefused, Decision
from jobs.staff.actions.page import MOST_AT_ONCE
from providers import admin as providers_admin
from providers.calls.models import Call, Gate
from quotas import admin as quotas_admin
from quotas.days import utc_day
from quotas.models import Grant, Kind

UUID_BEGINNING = re.compile(r"[0-9a-f]{4,32}")

# The queue's schedules are fixed and made at each start; a malformed one would stop them all.
admin.site.unregister(Schedule)


class StateFilter(ChoiceFilter):
    title = _("state")
    parameter_name = "state__exact"
    choices_of_column = JobState.choices


class KindFilter(ChoiceFilter):
    title = _("kind")
    parameter_name = "kind"
    choices_of_column = Kind.choices


class SetAsideFilter(admin.SimpleListFilter):
    title = _("set aside")
    parameter_name = "aside"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin):
        return [("yes", _("Set aside"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() != "yes":
            return queryset
        aside = leases.set_aside(timezone.now())
        return queryset.filter(pk__in=aside.values("job_id"))


class StageInline(ReadOnlyInline):
    model = Stage
    fields = ("name", "due_at", "leased_until", "lease_holder", "tries", "waiting_since", "done_at")
    ordering = ("pk",)


class EventInline(ReadOnlyInline):
    model = Event
    fields = ("at", "name", "facts")
    ordering = ("pk",)


class PictureInline(ReadOnlyInline):
    model = Picture
    fields = ("position", "file", "media_type", "width", "height", "size")
    ordering = ("position",)


class StaffActionInline(ReadOnlyInline):
    model = StaffAction
    fields = ("at", "action", "by_name", "reason", "facts")
    ordering = ("pk",)


class WithActions(admin.ModelAdmin):
    """The page of a row links to the actions that its reader may take about it."""

    change_form_template = "admin/with_actions.html"

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, object_id)
        actions = available_actions(request, row) if row else []
        return super().change_view(request, object_id, form_url, {"staff_actions": actions})


@admin.register(Job)
class JobAdmin(WithActions, ReadOnlyAdmin):
    list_display = ("id", "kind", "state", "reason", "account_id", "attempt_id", "offer",
                    "earlier_try", "unwanted_at", "result_deleted_at", "created_at",
                    "ended_at")  # fmt: skip
    list_filter = (StateFilter, KindFilter, SetAsideFilter)
    narrowest_first = ("q", "aside", "state__exact")
    most_rows_are = JobState.READY
    ordering = ("-created_at",)
    search_help_text = _("A job id or the start of one, or an account number")
    search_fields = ("id",)
    fields = ("id", "kind", "state", "reason", "version", "account_id", "attempt_id", "prompt",
              "params", "try_number", "earlier_try", "created_at", "changed_at", "ended_at",
              "unwanted_at", "result_deleted_at")  # fmt: skip
    inlines = (StageInline, EventInline, PictureInline, StaffActionInline)
    actions = ("resume",)

    @admin.display(description=_("offer"))
    def offer(self, job: Job) -> str:
        return f"{job.params.get('provider', '')}:{job.params.get('model', '')}"

    @admin.display(description=_("try of"), empty_value="-")
    def earlier_try(self, job: Job) -> str | None:
        return _link_to_job(job.retry_of_id)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        """Ranges and equalities that an index answers; no LIKE over a million rows."""
        term = search_term.strip().lower()
        if not term:
            return queryset, False
        found = Q(pk__in=[])
        if term.isascii() and term.isdecimal() and len(term) < 19:
            found |= Q(account_id=int(term))
        if between := _ids_that_begin_with(term):
            found |= Q(pk__range=between)
        return queryset.filter(found), False

    @admin.action(description=_("Resume stages that were set aside"), permissions=["resume"])
    def resume(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse | None:
        return _open_page(self, request, queryset, name="resume", param="job")

    def has_resume_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(resume_job.PERMISSION)

    def get_urls(self):
        return [path("resume/", _guard(resume_job.page), name="resume"), *super().get_urls()]


@admin.register(Call)
class CallAdmin(WithActions, providers_admin.CallAdmin):
    inlines = (StaffActionInline,)
    actions = ("check_now",)

    @admin.action(description=_("Check now"), permissions=["check"])
    def check_now(self, request: HttpRequest, queryset: QuerySet) -> HttpResponse | None:
        return _open_page(self, request, queryset, name="check_now", param="call")

    def has_check_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(check.PERMISSION)

    def get_urls(self):
        return [
            path("check-now/", _guard(check.page), name="check_now"),
            path("<int:pk>/give-back/", _guard(give_back.page), name="give_back"),
            path("<int:pk>/attach/", _guard(attach.page), name="attach"),
            path("<int:pk>/deliver/", _guard(deliver.page), name="deliver"),
            path("<int:pk>/kept/<int:kept>/", _guard(deliver.kept_file), name="kept_file"),
            *super().get_urls(),
        ]


@admin.register(Gate)
class GateAdmin(WithActions, providers_admin.GateAdmin):
    inlines = (StaffActionInline,)


class GrantForm(forms.ModelForm):
    key = forms.CharField(max_length=64, widget=forms.HiddenInput, initial=token_urlsafe)

    class Meta:
        model = Grant
        fields = ("account", "kind", "day", "slots", "reason")

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        account, day = said.get("account"), said.get("day")
        if account and account.closed_at:
            self.add_error("account", _("This account is closed and can use no slots."))
        if day and day < utc_day(timezone.now()):
            self.add_error("day", _("This day is over, so a grant for it has no effect."))
        return said


@admin.register(Grant)
class GrantAdmin(WithActions, quotas_admin.GrantAdmin):
    """Given by its form, taken back on a page that asks for a reason."""

    form = GrantForm

    def add_view(
        self,
        request: HttpRequest,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        try:
            return super().add_view(request, form_url, extra_context)
        except ActionRefused as refusal:
            self.message_user(request, str(refusal), messages.WARNING)
            return redirect("admin:quotas_grant_changelist")

    def get_fields(self, request: HttpRequest, obj: Grant | None = None):
        shown = super().get_fields(request, obj)
        return shown if obj else (*shown, "key")

    def save_model(self, request: HttpRequest, obj: Grant, form: Any, change: bool) -> None:
        obj.form_key = form.cleaned_data["key"]
        decision = Decision(cast(User, request.user), obj.reason, timezone.now())
        grants.run_grant(obj, decision)

    def has_delete_permission(self, request: HttpRequest, obj: Grant | None = None) -> bool:
        return False

    def get_urls(self):
        revoke = path("<int:pk>/take-back/", _guard(grants.revoke_page), name="revoke")
        return [revoke, *super().get_urls()]


class DeedFilter(ChoiceFilter):
    title = _("what")
    parameter_name = "action"
    choices_of_column = ActionName.choices


@admin.register(StaffAction)
class StaffActionAdmin(ReadOnlyAdmin):
    list_display = ("at", "action", "by_name", "reason", "subject", "seen_at_job")
    list_filter = (DeedFilter,)
    ordering = ("-pk",)
    fields = ("at", "action", "by_name", "reason", "subject", "facts", "call", "job", "account",
              "gate")  # fmt: skip
    actions = None

    @admin.display(description=_("job"), empty_value="-")
    def seen_at_job(self, entry: StaffAction) -> str | None:
        return _link_to_job(entry.job_id)


def _link_to_job(job_id: uuid.UUID | None) -> str | None:
    """By how its id begins."""
    if job_id is None:
        return None
    address = reverse("admin:jobs_job_change", args=[job_id])
    return format_html('<a href="{}">{}</a>', address, str(job_id)[:8])


def _ids_that_begin_with(beginning: str) -> tuple[uuid.UUID, uuid.UUID] | None:
    """The first and the last one; None for a text that cannot begin an id."""
    digits = beginning.replace("-", "")
    if not UUID_BEGINNING.fullmatch(digits):
        return None
    return uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))


def _open_page(
    model_admin: admin.ModelAdmin, request: HttpRequest, rows: QuerySet, *, name: str, param: str
) -> HttpResponse | None:
    """Go to the action's page, with the chosen rows in its address."""
    most = MOST_AT_ONCE
    chosen = list(rows.order_by("pk").values_list("pk", flat=True)[: most + 1])
    if len(chosen) > most:
        said = _("At most %(count)s at once.") % {"count": most}
        model_admin.message_user(request, said, messages.WARNING)
        return None
    return redirect(f"{reverse(f'admin:{name}')}?{urlencode({param: chosen}, doseq=True)}")


def _guard(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    return admin.site.admin_view(view)
