"""Jobs for staff: to be read, and set going again where a stage was set aside."""

import uuid

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django_q.models import Schedule

from jobs import changes, leases, queue
from jobs.models import Event, Job, Picture, Stage
from providers.staff import ChoiceFilter, ReadOnlyAdmin, ReadOnlyInline, uuids_from
from quotas.models import Kind

# The queue's schedules are fixed and made at each start; a malformed one would stop them all.
admin.site.unregister(Schedule)


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
        aside = Stage.objects.unfinished().filter(
            lease_token=None, tries__gte=leases.DEATHS_BEFORE_DELAY
        )
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


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ("id", "kind", "state", "reason", "account_id", "attempt_id", "offer",
                    "earlier_try", "unwanted_at", "result_deleted_at", "created_at",
                    "ended_at")  # fmt: skip
    list_filter = ("state", KindFilter, SetAsideFilter)
    ordering = ("-created_at",)
    search_help_text = _("A job's id or how it begins, or an account's number")
    search_fields = ("id",)
    fields = ("id", "kind", "state", "reason", "version", "account_id", "attempt_id", "prompt",
              "params", "try_number", "earlier_try", "created_at", "changed_at", "ended_at",
              "unwanted_at", "result_deleted_at")  # fmt: skip
    inlines = (StageInline, EventInline, PictureInline)
    actions = ("resume",)

    @admin.display(description=_("offer"))
    def offer(self, job: Job) -> str:
        return f"{job.params.get('provider', '')}:{job.params.get('model', '')}"

    @admin.display(description=_("try of"), empty_value="-")
    def earlier_try(self, job: Job) -> str | None:
        """The job it tries again, by how its id begins."""
        if job.retry_of_id is None:
            return None
        address = reverse("admin:jobs_job_change", args=[job.retry_of_id])
        return format_html('<a href="{}">{}</a>', address, str(job.retry_of_id)[:8])

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
        if between := uuids_from(term):
            found |= Q(pk__range=between)
        return queryset.filter(found), False

    @admin.action(description=_("Resume: run what was set aside now"), permissions=["resume"])
    def resume(self, request: HttpRequest, queryset: QuerySet) -> None:
        ids = queryset.order_by().values_list("pk", flat=True)
        resumed = sum(_resume(job_id, str(request.user)) for job_id in ids)
        said = ngettext("%(count)s job goes on.", "%(count)s jobs go on.", resumed)
        level = messages.SUCCESS if resumed else messages.WARNING
        self.message_user(request, said % {"count": resumed}, level)

    def has_resume_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("jobs.change_stage")


def _resume(job_id: uuid.UUID, by: str) -> bool:
    now = timezone.now()
    if not leases.resume(job_id, now):
        return False
    changes.note(job_id, event="resumed", now=now, by=by)
    queue.enqueue(job_id)
    return True
