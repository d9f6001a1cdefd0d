"""What the staff's pages over big tables have in common: rows to be read, never edited, and no
query that grows with the table."""

import re
import uuid
from collections.abc import Sequence
from typing import cast

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

MOST_COUNTED = 5000
UUID_BEGINNING = re.compile(r"[0-9a-f]{4,32}")


class BoundedPaginator(Paginator):
    """Counts at most MOST_COUNTED rows: staff filter before they turn a fiftieth page."""

    @cached_property
    def count(self) -> int:
        rows = cast(QuerySet, self.object_list)
        return rows.order_by()[:MOST_COUNTED].count()


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


class ReadOnlyInline(_ReadOnly, admin.TabularInline):
    extra = 0
    can_delete = False


class ChoiceFilter(admin.SimpleListFilter):
    """A filter by a known list; Django's own asks the table for its DISTINCT values."""

    choices_of_column: Sequence[tuple[str, object]] = ()

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin):
        return self.choices_of_column

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if not self.value():
            return queryset
        return queryset.filter(**{str(self.parameter_name): self.value()})


def uuids_from(beginning: str) -> tuple[uuid.UUID, uuid.UUID] | None:
    """The first and the last id that begin so; None for what cannot begin one."""
    digits = beginning.replace("-", "")
    if not UUID_BEGINNING.fullmatch(digits):
        return None
    return uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))
