"""Users and groups in the admin. Only superusers hand out permissions.

A permission to change users covers ordinary people: names, e-mail, password, whether they may sign
in. Only superusers change or delete staff and superusers or set their passwords: otherwise a
permission to manage accounts would be a permission to do everything.
"""

from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.actions import delete_selected
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import AbstractUser, AnonymousUser, Group, User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from jobs.people import deletion, deletion_texts

admin.site.unregister([User, Group])

POWERS = ("is_staff", "is_superuser", "groups", "user_permissions")


@admin.register(User)
class PeopleAdmin(UserAdmin):
    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and may_manage(request.user, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and may_manage(request.user, obj)

    actions = ("delete_selected",)
    delete_confirmation_template = "admin/delete_person.html"
    delete_selected_confirmation_template = "admin/delete_people.html"

    def render_delete_form(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        return super().render_delete_form(request, context | _what_is_said([context["object"]]))

    @admin.action(permissions=["delete"], description=_("Delete selected %(verbose_name_plural)s"))
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[User]) -> Any:
        answer = delete_selected(self, request, queryset)
        if isinstance(answer, TemplateResponse):
            answer.context_data = (answer.context_data or {}) | _what_is_said(list(queryset))
        return answer

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        _delete(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user in queryset:
            _delete(request, user)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None):
        fixed = super().get_readonly_fields(request, obj)
        return fixed if request.user.is_superuser else (*fixed, *POWERS)


@admin.register(Group)
class GroupsAdmin(GroupAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return request.user.is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return request.user.is_superuser


def may_manage(manager: AbstractUser | AnonymousUser, person: User | None) -> bool:
    """`person` is None where people in general are meant."""
    is_ordinary = person is None or not (person.is_staff or person.is_superuser)
    return is_ordinary or manager.is_superuser


def _delete(request: HttpRequest, person: User) -> None:
    said = _("Deleted in the admin")
    decider = deletion.Decider(cast(User, request.user), request.user.get_username(), str(said))
    remove = request.POST.get("remove") == "yes"
    deletion.delete_person(person, decider, timezone.now(), remove=remove)


def _what_is_said(people: list[User]) -> dict[str, Any]:
    had = deletion.count_belongings(people)
    return {
        "can_go": deletion_texts.what_can_go(had),
        "stays": deletion_texts.what_stays(had),
        "happens": deletion_texts.what_happens(had),
        "if_kept": deletion_texts.if_kept(),
    }
