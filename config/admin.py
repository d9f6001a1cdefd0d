"""Users and groups in the admin. Only superusers hand out permissions.

Whoever may change users manages ordinary people: names, e-mail, password, whether they may sign in.
Staff and superusers are changed, deleted and given a password by superusers alone, or a permission
to manage accounts would be a permission to do everything.
"""

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import AbstractUser, AnonymousUser, Group, User
from django.http import HttpRequest

admin.site.unregister([User, Group])

POWERS = ("is_staff", "is_superuser", "groups", "user_permissions")


@admin.register(User)
class PeopleAdmin(UserAdmin):
    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and may_manage(request.user, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_delete_permission(request, obj) and may_manage(request.user, obj)

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
    """None stands for people in general."""
    is_ordinary = person is None or not (person.is_staff or person.is_superuser)
    return is_ordinary or manager.is_superuser
