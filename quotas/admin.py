"""Plans, accounts, grants, the ledger, new visitors and alerts for staff.

The ledger is read only: staff show goodwill by a grant. No query here grows with the tables.
"""

from datetime import timedelta
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth import get_user_model
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.timesince import timesince
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base import BigTableAdmin, ChoiceFilter, ReadOnlyAdmin
from quotas.accounts import NEEDED_PLANS
from quotas.balances import read_balances
from quotas.days import utc_day
from quotas.ledger import Balance, read_balance
from quotas.models import (
    Account,
    Alert,
    AlertKind,
    Allowance,
    Attempt,
    Grant,
    Kind,
    Newcomer,
    Plan,
    Unmeasured,
)
from quotas.states import AttemptState

MOST_USERS_FOUND = 100


class DayFilter(admin.SimpleListFilter):
    title = _("UTC day")
    parameter_name = "on"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin):
        return [("today", _("Today")), ("yesterday", _("Yesterday")), ("week", _("Last 7 days"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        today = utc_day(timezone.now())
        if self.value() == "today":
            return queryset.filter(day=today)
        if self.value() == "yesterday":
            return queryset.filter(day=today - timedelta(days=1))
        if self.value() == "week":
            return queryset.filter(day__gt=today - timedelta(days=7))
        return queryset


class StateFilter(ChoiceFilter):
    title = _("state")
    parameter_name = "state__exact"
    choices_of_column = AttemptState.choices


class AllowanceInline(admin.TabularInline):
    model = Allowance
    extra = 0
    max_num = len(Kind.values)


@admin.register(Plan)
class PlanAdmin(admin.ModelAdmin):
    list_display = ("name", "slots")
    ordering = ("pk",)
    inlines = (AllowanceInline,)
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return super().get_queryset(request).prefetch_related("allowances")

    @admin.display(description=_("slots a day"))
    def slots(self, plan: Plan) -> str:
        return ", ".join(f"{row.get_kind_display()}: {row.slots}" for row in plan.allowances.all())

    def get_readonly_fields(self, request: HttpRequest, obj: Plan | None = None):
        return ("name",) if obj and obj.name in NEEDED_PLANS else ()

    def has_delete_permission(self, request: HttpRequest, obj: Plan | None = None) -> bool:
        """False for a plan of new accounts, and for one that any account is on."""
        if obj and (obj.name in NEEDED_PLANS or obj.account_set.exists()):
            return False
        return super().has_delete_permission(request, obj)


class AccountList(ChangeList):
    """Reads the balances of today for the accounts of one page."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        today = utc_day(timezone.now())
        self.result_list = list(self.result_list)
        balances = read_balances(self.result_list, today)
        for account in self.result_list:
            account.balances = {kind: balances[account.pk, kind] for kind in Kind.values}


@admin.register(Account)
class AccountAdmin(BigTableAdmin):
    """The first reservation makes an account. Its attempts keep it, so it is never deleted."""

    list_display = ("__str__", "username", "plan", "pictures", "contracts", "created_at",
                    "closed_at")  # fmt: skip
    list_filter = ("plan", ("closed_at", admin.EmptyFieldListFilter))
    list_select_related = ("plan", "user")
    search_fields = ("name",)
    search_help_text = _("Start of a name, username or visitor id, or an account number")
    fields = ("user", "visitor", "name", "plan", "created_at", "closed_at", "moved_to", "today",
              "links")  # fmt: skip
    readonly_fields = tuple(field for field in fields if field != "plan")

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        return AccountList

    @admin.display(description=_("user"))
    def username(self, account: Account) -> str:
        return account.user.get_username() if account.user else ""

    @admin.display(description=_("pictures today"))
    def pictures(self, account: Account) -> str:
        return _sentence(account.balances[Kind.IMAGE])  # type: ignore[attr-defined]

    @admin.display(description=_("contracts today"))
    def contracts(self, account: Account) -> str:
        return _sentence(account.balances[Kind.CONTRACT])  # type: ignore[attr-defined]

    @admin.display(description=_("today"))
    def today(self, account: Account) -> str:
        day = utc_day(timezone.now())
        kinds = ((kind.label, read_balance(account, kind, day)) for kind in Kind)
        return "; ".join(f"{label}: {_sentence(balance)}" for label, balance in kinds)

    @admin.display(description=_("see also"))
    def links(self, account: Account) -> str:
        mine, new = {"account__id__exact": account.pk}, {"account": account.pk}
        return format_html(
            '<a href="{}">{}</a> · <a href="{}">{}</a> · <a href="{}">{}</a>',
            _address("attempt_changelist", mine), _("Attempts"),
            _address("grant_changelist", mine), _("Grants"),
            _address("grant_add", new), _("Grant extra slots"),
        )  # fmt: skip

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        users = get_user_model().objects.filter(username__startswith=term)
        found = Q(name__startswith=term) | Q(visitor__startswith=term)
        found |= Q(user__in=list(users.values_list("pk", flat=True)[:MOST_USERS_FOUND]))
        if term.isascii() and term.isdecimal() and len(term) < 19:
            found |= Q(pk=int(term))
        return queryset.filter(found), False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Account | None = None) -> bool:
        return False


class GrantAdmin(BigTableAdmin):
    """Given or taken back as a whole. Registered in `jobs.staff.admin`, which adds the actions."""

    list_display = ("__str__", "account", "kind", "day", "slots", "reason", "granted_by",
                    "granted_at")  # fmt: skip
    list_filter = ("kind", DayFilter)
    list_select_related = ("account", "granted_by")
    raw_id_fields = ("account",)
    fields = ("account", "kind", "day", "slots", "reason")
    actions = None

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, str | list[str]]:
        start = {"day": utc_day(timezone.now()).isoformat(), "kind": Kind.IMAGE.value}
        return start | super().get_changeform_initial_data(request)

    def get_fields(self, request: HttpRequest, obj: Grant | None = None):
        return (*self.fields, "granted_by", "granted_at") if obj else self.fields

    def has_change_permission(self, request: HttpRequest, obj: Grant | None = None) -> bool:
        return False


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    list_display = ("id", "account", "kind", "day", "slot", "allowed", "state", "cost_nothing",
                    "reserved_at", "settled_at")  # fmt: skip
    list_filter = (StateFilter, "kind", DayFilter)
    list_select_related = ("account",)
    # An account has fewer attempts than a state.
    narrowest_first = ("account__id__exact", "state__exact")
    most_rows_are = AttemptState.SUCCESS

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Newest first, in the order of the index on state and day where that leads."""
        leads_by_state = self.leader(request) == "state__exact"
        return ("-day", "-pk") if leads_by_state else ("-pk",)


@admin.register(Newcomer)
class NewVisitorAdmin(ReadOnlyAdmin):
    """Housekeeping deletes the rows of days that are over."""

    list_display = ("id", "network", "day", "number", "allowed", "account", "taken_at")
    list_filter = (DayFilter,)
    list_select_related = ("account",)


@admin.register(Unmeasured)
class UnmeasuredAdmin(ReadOnlyAdmin):
    """Requests per day that the rate limiter let through uncounted."""

    list_display = ("id", "day", "why", "requests", "last_at")
    list_filter = (DayFilter,)


class AlertKindFilter(ChoiceFilter):
    title = _("kind")
    parameter_name = "kind"
    choices_of_column = AlertKind.choices
    is_of_small_table = True


class OpenFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "is"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin):
        return [("open", _("Open")), ("closed", _("Closed"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if self.value() in ("open", "closed"):
            return queryset.filter(closed_at__isnull=self.value() == "open")
        return queryset


@admin.register(Alert)
class AlertAdmin(ReadOnlyAdmin):
    """An alert closes by itself once its cause is gone."""

    list_display = ("kind", "subject", "words", "age", "opened_at", "seen_at", "closed_at")
    list_filter = (OpenFilter, AlertKindFilter)
    ordering = (F("closed_at").desc(nulls_first=True), "-opened_at", "-pk")
    fields = (*list_display, "mailed_at", "posted_at")

    @admin.display(description=_("open for"))
    def age(self, alert: Alert) -> str:
        return timesince(alert.opened_at, alert.closed_at or timezone.now())


def _sentence(balance: Balance) -> str:
    said = gettext("%(left)s left, %(on_hold)s on hold, %(used)s used of %(allowed)s")
    return said % {
        "left": balance.left,
        "on_hold": balance.on_hold,
        "used": balance.used,
        "allowed": balance.allowed,
    }


def _address(page: str, query: dict[str, int]) -> str:
    return f"{reverse(f'admin:quotas_{page}')}?{urlencode(query)}"
