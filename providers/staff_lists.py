"""What the staff's pages over big tables have in common: rows to be read, never edited, and no
query that grows with the table."""

import re
import uuid
from collections.abc import Sequence
from typing import Any, ClassVar, cast

from django.contrib import admin
from django.core.exceptions import BadRequest, ValidationError
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

MOST_COUNTED = 5000
UUID_BEGINNING = re.compile(r"[0-9a-f]{4,32}")


class BoundedPaginator(Paginator):
    """Counts at most MOST_COUNTED rows: staff filter before they turn a fiftieth page. In the order
    of the list, so that they are found where the list finds its own."""

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


class ReadOnlyAdmin(_ReadOnly, admin.ModelAdmin):
    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    sortable_by = ()
    # Filters that have an index, in the order of how few rows they leave.
    narrowest_first: Sequence[str] = ()
    most_rows_are: str = ""
    """A state that leaves next to all of them."""

    def leader(self, request: HttpRequest) -> str | None:
        """The filter that finds the rows; all others are applied to those."""
        leads_nowhere = ("", self.most_rows_are)
        asked = (
            name for name in self.narrowest_first if request.GET.get(name, "") not in leads_nowhere
        )
        return next(asked, None)

    def response_action(self, request: HttpRequest, *given: Any, **named: Any):
        """A row that was chosen by what cannot be its key is no fault of ours."""
        try:
            return super().response_action(request, *given, **named)
        except (ValueError, OverflowError, ValidationError) as exc:
            raise BadRequest("no key of a row") from exc


class ReadOnlyInline(_ReadOnly, admin.TabularInline):
    extra = 0
    can_delete = False


class ChoiceFilter(admin.SimpleListFilter):
    """A filter by a known list; Django's own asks the table for its DISTINCT values.

    SQLite has no statistics of the values and uses the index of any filtered column, even if it
    holds half of the table. A column that does not lead is therefore filtered by a double
    negation: SQLite then ignores its index, PostgreSQL reads through it.
    """

    choices_of_column: Sequence[tuple[str, object]] = ()
    index_leaves_out: ClassVar[str | None] = None

    def __init__(self, request: HttpRequest, params, model, model_admin: "ReadOnlyAdmin") -> None:
        super().__init__(request, params, model, model_admin)
        self.leads = model_admin.leader(request) == self.parameter_name

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin):
        return self.choices_of_column

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if not self.value():
            return queryset
        asked = Q(**{str(self.parameter_name): self.value()})
        if not self.leads:
            return queryset.exclude(~asked)
        if self.index_leaves_out is not None:
            asked &= ~Q(**{str(self.parameter_name): self.index_leaves_out})
        return queryset.filter(asked)


def uuids_from(beginning: str) -> tuple[uuid.UUID, uuid.UUID] | None:
    """The first and the last id that begin so; None for what cannot begin one."""
    digits = beginning.replace("-", "")
    if not UUID_BEGINNING.fullmatch(digits):
        return None
    return uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))
