"""The call ledger for staff. Its rows are evidence, so they are read only."""

from decimal import Decimal
from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _

from config.admin_base import ChoiceFilter, ReadOnlyAdmin
from providers.adapters.registry import known_names
from providers.calls import money
from providers.calls.models import Call, CallQuerySet, Gate, SmokeTest
from providers.calls.money import Spend, format_amount
from providers.calls.states import CallState
from providers.reasons import Reason
from providers.routing import gates

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


class StateFilter(ChoiceFilter):
    title = _("state")
    parameter_name = "state__exact"
    choices_of_column = CallState.choices
    index_leaves_out = CallState.SUCCEEDED


class ProviderFilter(ChoiceFilter):
    title = _("provider")
    parameter_name = "provider"
    choices_of_column = [(name, name) for name in known_names()]


class WhyFilter(ChoiceFilter):
    title = _("reason")
    parameter_name = "why"
    choices_of_column = Reason.choices
    index_leaves_out = ""


class InDoubtFilter(admin.SimpleListFilter):
    title = _("in doubt")
    parameter_name = "in_doubt"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin):
        return [("yes", _("In doubt"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        calls = cast(CallQuerySet, queryset)
        return calls.in_doubt(timezone.now()) if self.value() == "yes" else calls


BY_TIME = ("state__exact", "provider")


class CallAdmin(ReadOnlyAdmin):
    """Registered in `jobs.staff.admin`, which adds the staff actions."""

    list_display = ("id", "work", "provider", "model", "state", "why", "reference",
                    "shown_cost", "shown_estimate", "sent_at", "ended_at")  # fmt: skip
    list_filter = (StateFilter, ProviderFilter, WhyFilter, InDoubtFilter)
    narrowest_first = ("q", "in_doubt", "state__exact", "why", "provider")
    most_rows_are = CallState.SUCCEEDED
    ordering = ("-id",)
    search_fields = ("work",)
    search_help_text = _("A work, the job id in it, or a provider id")

    class Media:
        css = {"all": ["admin.css"]}

    @admin.display(description=_("cost"))
    def shown_cost(self, call: Call) -> str:
        return _money(call.cost, call.currency)

    @admin.display(description=_("estimate"))
    def shown_estimate(self, call: Call) -> str:
        return _money(call.cost_estimate, call.currency)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Newest first, in the order of the index that they are found by."""
        return ("-sent_at",) if self.leader(request) in BY_TIME else self.ordering

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        """Whole values that an index answers; no LIKE over a million rows. The index on references
        begins with the provider, so all of them are named."""
        term = search_term.strip()
        if not term:
            return queryset, False
        referred = Q(provider__in=known_names(), reference=term)
        return queryset.filter(Q(work__in=[term, f"image:{term}"]) | referred), False


def _money(amount: Decimal | None, currency: str) -> str:
    if amount is None:
        return format_html('<span class="money">{}</span>', "–")
    return format_html('<span class="money">{} {}</span>', format_amount(amount), currency)


def _spend(spend: Spend, name: str, currency: str) -> str:
    amount = _money(getattr(spend, name), currency)
    unpriced = getattr(spend, f"{name}_unpriced", 0)
    words = _("%(count)s without a price") % {"count": unpriced}
    return format_html("{} {}", amount, words) if unpriced else amount


MONEY = {
    "today": _("spent today"),
    "at_risk": _("at risk"),
    "possibly_charged": _("possibly charged"),
}


def _money_column(name: str, title: "StrPromise", spends: dict[str, dict[str, Spend]]):
    """By provider and currency, since currencies are never added together."""

    @admin.display(description=title)
    def shown(gate: Gate) -> str:
        found = {} if gate.model else spends.get(gate.provider, {})
        said = ((_spend(spend, name, currency),) for currency, spend in found.items())
        return format_html_join(" ", "{}", said)

    shown.__name__ = name
    return shown


class GateAdmin(ReadOnlyAdmin):
    """The state of each provider and its money. The row without a model is the whole provider.
    Registered in `jobs.staff.admin`, which adds the staff actions."""

    list_display = ("provider", "model", "status", "why", "since", "polls", "cap")
    ordering = ("provider", "model")

    class Media:
        css = {"all": ["admin.css"]}

    def get_list_display(self, request: HttpRequest):
        """The money of all providers is read once for a page."""
        spends = money.sum_spend(known_names(), timezone.now())
        columns = [_money_column(name, title, spends) for name, title in MONEY.items()]
        return [*self.list_display, *columns]

    @admin.display(description=_("status"))
    def status(self, gate: Gate) -> str:
        if gate.blocked_until is None:
            return str(_("open"))
        if gate.why == gates.STAFF:
            return str(_("paused by staff"))
        if timezone.now() < gate.blocked_until:
            return _("paused until %(time)s UTC") % {"time": f"{gate.blocked_until:%d %b %H:%M:%S}"}
        return str(_("next request is a trial"))

    @admin.display(description=_("polls"))
    def polls(self, gate: Gate) -> str:
        until = gate.polls_paused_until
        if until is None or until <= timezone.now():
            return ""
        return _("paused until %(time)s UTC") % {"time": f"{until:%d %b %H:%M:%S}"}

    @admin.display(description=_("daily cap"))
    def cap(self, gate: Gate) -> str:
        account = settings.PROVIDER_ACCOUNTS.get(gate.provider)
        if gate.model or account is None or account.daily_cap is None:
            return ""
        return _money(*account.daily_cap)


@admin.register(SmokeTest)
class SmokeTestAdmin(ReadOnlyAdmin):
    list_display = ("provider", "model", "began_at", "ended_at", "is_good", "words")
    ordering = ("-began_at", "-pk")
