"""The call ledger for staff. Its rows are evidence: to be read, never edited."""

from typing import cast, get_args

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from providers.answers import Kind
from providers.models import Call, CallQuerySet
from providers.registry import known_names
from providers.staff import ChoiceFilter, ReadOnlyAdmin


class ProviderFilter(ChoiceFilter):
    title = _("provider")
    parameter_name = "provider"
    choices_of_column = [(name, name) for name in known_names()]


class WhyFilter(ChoiceFilter):
    title = _("reason")
    parameter_name = "why"
    choices_of_column = [(kind, kind) for kind in get_args(Kind)]


class InDoubtFilter(admin.SimpleListFilter):
    title = _("in doubt")
    parameter_name = "in_doubt"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin):
        return [("yes", _("In doubt"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        calls = cast(CallQuerySet, queryset)
        return calls.in_doubt(timezone.now()) if self.value() == "yes" else calls


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    list_display = ("id", "work", "provider", "model", "state", "why", "reference",
                    "shown_cost", "shown_estimate", "sent_at", "ended_at")  # fmt: skip
    list_filter = ("state", ProviderFilter, WhyFilter, InDoubtFilter)
    ordering = ("-id",)
    search_fields = ("work",)
    search_help_text = _("A work, the job's id in it, or the provider's id")

    class Media:
        css = {"all": ["admin.css"]}

    @admin.display(description=_("cost"), ordering="cost")
    def shown_cost(self, call: Call) -> str:
        return _money(call.cost, call.currency)

    @admin.display(description=_("estimate"), ordering="cost_estimate")
    def shown_estimate(self, call: Call) -> str:
        return _money(call.cost_estimate, call.currency)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        """Whole values that an index answers; no LIKE over a million rows."""
        term = search_term.strip()
        if not term:
            return queryset, False
        works = [term, *(f"{kind}:{term}" for kind in ("image", "clause"))]
        return queryset.filter(Q(work__in=works) | Q(reference=term)), False


def _money(amount: object, currency: str) -> str:
    if amount is None:
        return format_html('<span class="money">{}</span>', "–")
    return format_html('<span class="money">{} {}</span>', f"{amount:.2f}", currency)
