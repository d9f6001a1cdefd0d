"""A site with something in it, and who looks at it: run in a child process, prints JSON.

`cookies` has many of each person, since signing out ends a session.
"""

import json
from importlib import import_module

SESSIONS = 40


def main() -> None:
    import django

    django.setup()

    from django.conf import settings
    from django.contrib.auth import get_user_model

    settings.MEDIA_ROOT.mkdir(parents=True, exist_ok=True)
    # The first, whose number is in every list: what is sent may change or delete it.
    ben = get_user_model().objects.create_user("ben", password="ben's password")
    ana = get_user_model().objects.create_user("ana", password="ana's password")
    staff = get_user_model().objects.create_superuser("staff", password="staff's password")
    cookies = {
        "anonymous": [""],
        "visitor": [visitor_cookie()],
        "user": session_cookies(ana),
        "staff": session_cookies(staff),
    }
    print(json.dumps({"cookies": cookies, "values": values_of_addresses(ana, ben)}))


def session_cookies(user) -> list[str]:
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

    store = import_module(settings.SESSION_ENGINE).SessionStore
    made = []
    for _ in range(SESSIONS):
        session = store()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        made.append(f"sessionid={session.session_key}")
    return made


def visitor_cookie() -> str:
    from django.core import signing
    from django.utils import timezone

    from jobs.people.visitors import COOKIE, COOKIE_SALT
    from quotas import accounts

    account = accounts.account_of_visitor("visitor-of-the-fuzz")
    visitor = accounts.ensure_saved(account, now=timezone.now())
    signed = signing.get_cookie_signer(COOKIE + COOKIE_SALT).sign(visitor.visitor)
    return f"{COOKIE}={signed}"


def values_of_addresses(owner, other) -> dict[str, list[str]]:
    """By the name of a place in an address; `owner` has the jobs."""
    from django.utils import timezone

    from quotas import accounts
    from tests import rows

    now = timezone.now()
    account = accounts.ensure_saved(accounts.account_of_user(owner), now=now)
    job, doubt = rows.ready(account, now), rows.lost(account, now)
    return {
        "job_id": [str(job.pk), str(doubt.pk)],
        "picture_id": [str(job.pictures.get().pk)],
        "provider": ["sandbox"],
        "token": ["nobody"],
        "object_id": ["1", str(other.pk), str(job.pk), str(rows.call_of(doubt).pk)],
        "app_label": ["jobs", "quotas", "providers"],
        "content_type_id": ["1"],
        "pk": ["1"],
        "url": ["nowhere"],
        "id": [str(other.pk)],
    }


if __name__ == "__main__":
    main()
