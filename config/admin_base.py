"""What the admin lists over big tables share: read-only rows, a bounded count, and a filter by
known choices. No query grows with the table. Imports nothing of ours: every app may import it.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from django.contrib import admin
from django.core.exceptions import BadRequest, ValidationError
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils.functional import cached_property

MOST_COUNTED = 5000


class BoundedPaginator(Paginator):
    """Counts at most MOST_COUNTED rows; staff filter before they turn a hundredth page. It counts
    in the order of the list, so that the database uses the same index."""

    @cached_property
    def count(self) -> int:
        rows = cast(QuerySet, self.object_list)
        return rows[:MOST_COUNTED].count()


class _ReadOnly:
    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class BigTableAdmin(admin.ModelAdmin):
    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    ordering: ClassVar[tuple[str | Combinable, ...]] = ("-pk",)
    sortable_by = ()
    # Parameters of the address that have an index, in the order of how few rows they leave.
    narrowest_first: Sequence[str] = ()
    most_rows_are: str = ""
    """A state of nearly all rows: filtering by it leaves the table as large as it is."""

    def leader(self, request: HttpRequest) -> str | None:
        """The parameter that finds the rows by its index. Others are checked on the rows found."""
        leads_nowhere = ("", self.most_rows_are)
        given = (
            name for name in self.narrowest_first if request.GET.get(name, "") not in leads_nowhere
        )
        return next(given, None)

    def response_action(self, request: HttpRequest, *given: Any, **named: Any):
        try:
            return super().response_action(request, *given, **named)
        except (ValueError, OverflowError, ValidationError) as exc:
            # A selected row is named by something that cannot be a key.
            raise BadRequest("no key of a row") from exc


class ReadOnlyAdmin(_ReadOnly, BigTableAdmin):
    pass


class ReadOnlyInline(_ReadOnly, admin.TabularInline):
    extra = 0
    can_delete = False


class ChoiceFilter(admin.SimpleListFilter):
    """A filter by known choices. Django's own would read the distinct values of the table.

    SQLite has no statistics of the values and uses the index of any column in the condition, even
    where it leaves half the table. A column that does not lead is therefore written as a double
    negation: SQLite then ignores its index, and PostgreSQL simplifies it.
    """

    choices_of_column: Sequence[tuple[str, object]] = ()
    index_leaves_out: ClassVar[str | None] = None
    is_of_small_table: ClassVar[bool] = False
    """Then the condition is written as it is."""

    def __init__(self, request: HttpRequest, params, model, model_admin: admin.ModelAdmin) -> None:
        super().__init__(request, params, model, model_admin)
        big_table = cast(BigTableAdmin, model_admin)
        self.leads = self.is_of_small_table or big_table.leader(request) == self.parameter_name

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin):
        return self.choices_of_column

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if not self.value():
            return queryset
        chosen = Q(**{str(self.parameter_name): self.value()})
        if not self.leads:
            return queryset.exclude(~chosen)
        if self.index_leaves_out is not None:
            chosen &= ~Q(**{str(self.parameter_name): self.index_leaves_out})
        return queryset.filter(chosen)
