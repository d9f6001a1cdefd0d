"""Staff who may manage accounts gain no other power, by form, link or bulk action."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db

EVERY_RIGHT = [f"auth.{verb}_{what}" for verb in ("add", "change", "delete", "view")
               for what in ("user", "group")]  # fmt: skip
NEW = {"password1": "a good Pass phrase", "password2": "a good Pass phrase",
       "usable_password": "true", "set_usable_password": "true"}  # fmt: skip


@pytest.fixture
def manager(member) -> Client:
    """Mo, who may do all that a permission about users and groups allows."""
    return member(*EVERY_RIGHT)


@pytest.fixture
def other_staff(db) -> User:
    return User.objects.create_user("kim", is_staff=True)


def address(what: str, user: User) -> str:
    return reverse(f"admin:auth_user_{what}", args=[user.pk])


def form_of(user: User, **changes: object) -> dict[str, object]:
    joined = {"date_joined_0": "2026-03-01", "date_joined_1": "12:00:00"}
    active = {"is_active": "on"} if user.is_active else {}
    return {"username": user.username, "email": user.email, **joined, **active, **changes}


def powers_of(user: User) -> tuple:
    user = User.objects.get(pk=user.pk)
    return user.is_staff, user.is_superuser, user.password, user.get_all_permissions()


@pytest.mark.parametrize("who", ["mo", "ana", "kim", "staff"])
def test_no_form_hands_out_a_power(manager, ana, staff, other_staff, who):
    group = Group.objects.create(name="everything")
    group.permissions.set(Permission.objects.all())
    user = User.objects.get(username=who)
    before = powers_of(user)
    rights = {"groups": [group.pk], "user_permissions": [Permission.objects.first().pk]}
    for power, said in {"is_superuser": "on", "is_staff": "on", **rights}.items():
        manager.post(address("change", user), form_of(user, **{power: said}))
        assert powers_of(user) == before, power


@pytest.mark.parametrize("who", ["kim", "staff", "mo"])
def test_no_password_of_staff_is_set(manager, staff, other_staff, who):
    user = User.objects.get(username=who)
    before = powers_of(user)
    answers = [manager.get(address("password_change", user)).status_code,
               manager.post(address("password_change", user), NEW).status_code]  # fmt: skip
    assert (answers, powers_of(user)) == ([403, 403], before)


@pytest.mark.parametrize("who", ["kim", "staff"])
def test_no_mail_address_or_name_of_staff_is_changed(manager, staff, other_staff, who):
    user = User.objects.get(username=who)
    sent = form_of(user, email="mo@example.org", username="x")
    assert manager.post(address("change", user), sent).status_code == 403
    user.refresh_from_db()
    assert (user.username, user.email) == (who, "")


@pytest.mark.parametrize("who", ["kim", "staff", "mo"])
def test_no_staff_are_deleted(manager, staff, other_staff, who):
    user = User.objects.get(username=who)
    manager.post(address("delete", user), {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": [user.pk], "post": "yes"}
    manager.post(reverse("admin:auth_user_changelist"), chosen)
    assert User.objects.filter(pk=user.pk).exists()


def test_a_bulk_action_with_one_of_staff_in_it_deletes_nobody(manager, ana, ben, staff):
    chosen = [ana.pk, ben.pk, staff.pk]
    sent = {"action": "delete_selected", "_selected_action": chosen, "post": "yes"}
    manager.post(reverse("admin:auth_user_changelist"), sent)
    assert User.objects.filter(pk__in=chosen).count() == 3


def test_a_new_person_is_an_ordinary_one(manager):
    sent = {"username": "new", **NEW, "is_superuser": "on", "is_staff": "on"}
    assert manager.post(reverse("admin:auth_user_add"), sent).status_code == 302
    assert powers_of(User.objects.get(username="new"))[:2] == (False, False)


def test_whoever_may_only_add_adds_nobody(member):
    sent = {"username": "new", **NEW, "is_superuser": "on"}
    assert member("auth.add_user").post(reverse("admin:auth_user_add"), sent).status_code == 403
    assert not User.objects.filter(username="new").exists()


def test_no_group_is_made_or_changed_or_deleted(manager):
    group = Group.objects.create(name="lookers")
    User.objects.get(username="mo").groups.add(group)
    sent = {"name": "lookers", "permissions": list(Permission.objects.values_list("pk", flat=True))}
    for page, at in [("add", []), ("change", [group.pk]), ("delete", [group.pk])]:
        answer = manager.post(reverse(f"admin:auth_group_{page}", args=at), sent | {"post": "yes"})
        assert answer.status_code == 403
    assert (Group.objects.count(), group.permissions.count()) == (1, 0)


def test_they_manage_ordinary_people_and_each_change_leaves_an_entry(manager, ana):
    sent = form_of(ana, email="ana@example.org", is_active="")
    assert manager.post(address("change", ana), sent).status_code == 302
    assert manager.post(address("password_change", ana), NEW).status_code == 302
    ana.refresh_from_db()
    assert (ana.email, ana.is_active) == ("ana@example.org", False)
    assert ana.check_password(NEW["password1"])
    assert LogEntry.objects.filter(user__username="mo", object_id=str(ana.pk)).count() == 2


def test_superusers_hand_out_powers(staff_client, ana):
    permission = Permission.objects.get(codename="view_call")
    sent = form_of(ana, is_staff="on", user_permissions=[permission.pk])
    assert staff_client.post(address("change", ana), sent).status_code == 302
    assert powers_of(ana)[0]
    assert powers_of(ana)[3] == {"providers.view_call"}
    assert LogEntry.objects.filter(object_id=str(ana.pk)).exists()
