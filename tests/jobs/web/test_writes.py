"""No page costs a write: every address is looked at, by everybody, and what it wrote is counted.

A new address fails `test_every_address_is_walked` until it stands here, and one that writes fails
until it stands in WRITERS with its reason.
"""

import asyncio
import uuid
from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache as site_cache
from django.test import AsyncClient, Client
from django.urls import URLPattern, get_resolver, reverse

from jobs.people.session_cache import TRUSTING
from jobs.people.snapshots import LASTS
from providers.calls.models import Gate
from quotas import accounts, alerts
from quotas.models import AlertKind, Grant
from quotas.ratelimit.limiter import limiter
from tests import caches, rows
from tests.jobs.conftest import HTMX
from tests.statements import Statements, recorded

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "enqueued", "cache")]

# By what an address is looked at with: its own job and picture, a provider, a call, a grant.
PAGES = {
    "home": ["/", "/?nothing=1"],
    "new_picture": ["/images/new", "/images/new?from={job}&form=0123456789abcdef"],
    "picture": ["/images/{picture}"],
    "picture_file": ["/images/{picture}/file", "/images/{picture}/file?download"],
    "picture_thumbnail": ["/images/{picture}/small"],
    "job": ["/jobs/{job}", "/jobs/{open}", "/jobs/{open}?seen=1", f"/jobs/{uuid.UUID(int=1)}"],
    "cancel_job": ["/jobs/{open}/cancel"],
    "stop_waiting": ["/jobs/{open}/stop-waiting"],
    "mail_notice": ["/jobs/{open}/mail"],
    "delete_result": ["/jobs/{job}/delete"],
    "gallery": ["/gallery", "/gallery?page=2", "/gallery?show=open", "/gallery?tiles={open}"],
    "set_theme": ["/theme"],
    "healthz": ["/healthz"],
    "readyz": ["/readyz"],
    "sign_in": ["/sign-in", "/sign-in?next=/gallery"],
    "sign_out": ["/sign-out"],
    "hook": ["/hooks/sandbox/nobody/", "/hooks/nobody/nothing/"],
    "static": ["/static/walked.css", "/static/gone.css"],
    "nowhere": ["/nowhere", "/admin/nowhere", "/images/{job}/file"],
}
STAFFS = {
    "admin:index": ["/admin/"],
    "admin:login": ["/admin/login/"],
    "admin:logout": ["/admin/logout/"],
    "admin:password_change": ["/admin/password_change/"],
    "admin:password_change_done": ["/admin/password_change/done/"],
    "admin:autocomplete": ["/admin/autocomplete/"],
    "admin:jsi18n": ["/admin/jsi18n/"],
    "admin:view_on_site": ["/admin/r/{type}/{user}/"],
    "admin:app_list": ["/admin/quotas/"],
    "admin:None": ["/admin/quotas/plan/1/", "/admin/nowhere/"],
    "admin:dashboard": ["/admin/dashboard/"],
    "admin:pause_provider": ["/admin/dashboard/sandbox/pause/"],
    "admin:resume_provider": ["/admin/dashboard/sandbox/resume/"],
    "admin:auth_user_password_change": ["/admin/auth/user/{user}/password/"],
    "admin:resume": ["/admin/jobs/job/resume/?job={open}"],
    "admin:check_now": ["/admin/providers/call/check-now/?call={call}"],
    "admin:give_back": ["/admin/providers/call/{call}/give-back/"],
    "admin:attach": ["/admin/providers/call/{call}/attach/"],
    "admin:deliver": ["/admin/providers/call/{made}/deliver/"],
    "admin:kept_file": ["/admin/providers/call/{made}/kept/{kept}/"],
    "admin:revoke": ["/admin/quotas/grant/{grant}/take-back/"],
}
NO_ADDRESS = {"static", "nowhere"}
# Read from its first event to its end, by a test of its own.
STREAMS = {"job_stream"}
SHAPES = ("changelist", "add", "history", "delete", "change")
METHODS = {"page": ("get", {}), "part": ("get", HTMX), "head": ("head", {})}

# Forms that write, and why. What else may be sent writes nothing.
WRITERS = {
    "new_picture": "the order",
    "cancel_job": "a wish, noted",
    "stop_waiting": "a wish, noted",
    "mail_notice": "a wish, noted",
    "delete_result": "a wish, noted",
    "sign_in": "the session's row, and when the user last came",
    "sign_out": "the session's row goes",
}
# Looks that write, and why: at most once a second, and it is rolled back.
TRIES = {"/readyz": "it tries what an order needs"}
# Whether a mail can be offered is read from the address as it is now.
MAILABLE = "/jobs/{open}"


def of_models() -> dict[str, list[str]]:
    """Each model of the admin in each shape: of its first row, or of one that is not there."""
    found = {}
    for model in admin.site._registry:
        row = model._default_manager.first()
        for shape in SHAPES:
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{shape}"
            args = [] if shape in ("changelist", "add") else [row.pk if row else 1]
            found[name] = [reverse(name, args=args)]
    return found


def names_in(resolver, within: str = "") -> Iterator[str]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLPattern):
            yield f"{within}{entry.name}"
        else:
            inner = f"{within}{entry.namespace}:" if entry.namespace else within
            yield from names_in(entry, inner)


@pytest.fixture
def cache(settings):
    settings.CACHES = {"default": {"BACKEND": "tests.caches.WatchedCache", "LOCATION": "walk"}}
    caches.writes.clear()
    return caches.writes


@pytest.fixture(autouse=True)
def static(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()
    (settings.STATIC_ROOT / "walked.css").write_text("body {}")


@pytest.fixture
def things(now, staff, alive):
    """things(account) fills the site and returns what its owner's addresses are made of."""

    def things(account) -> dict[str, object]:
        alive()
        account.plan.allowances.update(slots=10)
        job = rows.ready(account, now)
        waiting, doubt = rows.generating(account, now), rows.lost(account, now)
        unread = rows.unread_result(account, now)
        grant = {"account": account, "kind": "image", "day": now.date(), "slots": 5}
        alerts.open_alert(kind=AlertKind.SILENT, subject="ticker", now=now)
        Gate.objects.get_or_create(provider="sandbox", model="")
        return {
            "job": job.pk,
            "open": waiting.pk,
            "picture": job.pictures.get().pk,
            "call": rows.call_of(doubt).pk,
            "made": rows.call_of(unread).pk,
            "kept": unread.unread_results.get().pk,
            "grant": Grant.objects.create(**grant, reason="walk", granted_at=now).pk,
            "user": staff.pk,
            "type": ContentType.objects.get_for_model(staff).pk,
        }

    return things


@pytest.fixture
def people(ana_client, staff_client, visitor_client, visitor, account, staff, now):
    """Each with the account whose addresses they look at."""
    return {
        "newcomer": (Client(), account),
        "visitor": (visitor_client, visitor),
        "user": (ana_client, account),
        "staff": (staff_client, accounts.ensure_saved(accounts.account_of_user(staff), now=now)),
    }


def look(client: Client, address: str, method: str = "page") -> Statements:
    verb, headers = METHODS[method]
    limiter.cache_clear()
    with recorded() as asked:
        answer = getattr(client, verb)(address, headers=headers)
        b"".join(answer) if answer.streaming else answer.content
    # Neither broken nor limited, or there was nothing to count.
    assert answer.status_code < 429, (address, answer.status_code)
    return asked


def writes_of_walk(client: Client, pages: dict[str, list[str]], own: dict, method: str) -> dict:
    walked = {}
    for address in (one.format(**own) for addresses in pages.values() for one in addresses):
        caches.writes.clear()
        walked[address] = look(client, address, method).writes() + caches.writes
    return {
        address: written for address, written in walked.items() if written and address not in TRIES
    }


def test_every_address_is_walked():
    listed = set(PAGES) - NO_ADDRESS | STREAMS | set(STAFFS) | set(of_models())
    assert set(names_in(get_resolver())) == listed


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("person", ["newcomer", "visitor", "user", "staff"])
def test_a_look_at_a_page_writes_nothing(people, things, person, method):
    client, account = people[person]
    assert writes_of_walk(client, PAGES, things(account), method) == {}


@pytest.mark.parametrize("method", METHODS)
def test_a_look_at_the_staffs_pages_writes_nothing(people, things, method):
    client, account = people["staff"]
    own = things(account)
    assert writes_of_walk(client, STAFFS | of_models(), own, method) == {}


def test_who_may_not_see_the_staffs_pages_writes_nothing_there(people, things):
    client, account = people["user"]
    own = things(account)
    assert writes_of_walk(client, STAFFS | of_models(), own, "page") == {}


@pytest.mark.parametrize(
    "sql",
    [
        'INSERT INTO "a" VALUES (1)',
        'WITH old AS (DELETE FROM "a" RETURNING *) SELECT * FROM old',
        'SELECT 1 FROM "a" FOR UPDATE',
        'SAVEPOINT "s1"',
        "BEGIN IMMEDIATE",
        "SELECT pg_notify('jobs', '7')",
    ],
)
def test_what_writes_is_told_from_what_reads(sql):
    reads = [
        'SELECT "update" FROM "a"',
        "(SELECT 1) UNION (SELECT 2)",
        "WITH a AS (SELECT 1) SELECT",
    ]
    assert Statements([*reads, sql]).writes() == [sql]


def test_a_write_to_the_database_or_to_the_cache_would_be_found(people, monkeypatch):
    """Planted: the walk is no walk if it lets them pass."""
    client, account = people["user"]

    def plant(request) -> list[str]:
        site_cache.set("last_look", 1)
        type(account).objects.filter(pk=account.pk).update(name="ana")
        return []

    monkeypatch.setattr("jobs.web.views.home.missing_for", plant)
    [written] = writes_of_walk(client, {"home": ["/"]}, {}, "page").values()
    assert written[0].startswith('UPDATE "quotas_account"')
    assert written[1:] == ["set"]


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.usefixtures("watcher")
def test_a_stream_writes_nothing(ana, account, now):
    """From its first event to its end, in whichever thread."""
    job = rows.ready(account, now)
    client = AsyncClient()
    client.force_login(ana)

    async def read() -> bytes:
        answer = await client.get(f"/jobs/{job.pk}/stream")
        return b"".join([part async for part in answer])

    with recorded() as asked:
        events = asyncio.run(read())
    assert b"event: state" in events
    assert b"event: close" in events
    assert asked.writes() == []


def test_a_static_file_asks_the_database_nothing(ana_client):
    assert b"".join(ana_client.get("/static/walked.css")) == b"body {}"
    assert look(ana_client, "/static/walked.css") == []


def test_the_session_of_an_old_password_is_removed_when_it_is_met(ana, ana_client):
    """The one look that writes, once: whoever stole it is out for good."""
    ana.set_password("another")
    ana.save()
    assert look(ana_client, "/gallery").tables_written() == {"django_session"}
    assert look(ana_client, "/gallery").writes() == []


class TestForms:
    """What is sent may write, and says why."""

    @pytest.fixture
    def forms(self, ana, ana_client, account, now) -> dict[str, tuple[str, dict]]:
        ana.email = "ana@example.org"
        ana.save()
        job = rows.ready(account, now)
        order = {"prompt": "a fox", "aspect_ratio": "1:1", "form_key": "0123456789abcdef"}
        filled = {
            "new_picture": ("/images/new", order),
            "cancel_job": (f"/jobs/{rows.queued(account, now).pk}/cancel", {}),
            "stop_waiting": (f"/jobs/{rows.generating(account, now).pk}/stop-waiting", {}),
            "mail_notice": (f"/jobs/{rows.generating(account, now).pk}/mail", {}),
            "delete_result": (f"/jobs/{job.pk}/delete", {}),
            "sign_in": ("/sign-in", {"username": "ana", "password": "ana's password"}),
        }
        own = {"job": job.pk, "open": job.pk, "picture": job.pictures.get().pk}
        rest = {name: (addresses[0].format(**own), {}) for name, addresses in PAGES.items()}
        return rest | filled

    def sent(self, client: Client, form: tuple[str, dict]) -> Statements:
        with recorded() as asked:
            client.post(*form)
        return asked

    @pytest.mark.parametrize("name", PAGES)
    def test_a_form_writes_only_where_it_is_listed(self, ana_client, forms, name, cache):
        """Who is signed in is led on by the sign-in page, and writes nothing there."""
        client = Client() if name == "sign_in" else ana_client
        assert bool(self.sent(client, forms[name]).writes()) == (name in WRITERS)
        assert cache == []

    def test_signing_in_writes_session_and_user_alone(self, forms):
        asked = self.sent(Client(), forms["sign_in"])
        assert asked.tables_written() == {"django_session", "auth_user"}

    def test_a_wrong_password_writes_nothing(self, ana):
        form = {"username": "ana", "password": "wrong"}
        assert self.sent(Client(), ("/sign-in", form)).writes() == []

    def test_choosing_a_theme_and_a_strangers_report_write_nothing(self, ana_client):
        assert self.sent(ana_client, ("/theme", {"theme": "dark"})).writes() == []
        assert self.sent(Client(), ("/hooks/sandbox/nobody/", {"id": "x"})).writes() == []

    def test_each_writer_has_its_reason(self):
        assert all(WRITERS.values())
        assert WRITERS.keys() <= PAGES.keys()


class TestReads:
    """Who is signed in is read once a minute, whatever is looked at."""

    def reads_of(self, client, address, method="page") -> tuple[int, int]:
        asked = look(client, address, method)
        return asked.reads_of("django_session"), asked.reads_of("auth_user")

    def addresses(self, own: dict) -> list[str]:
        usual = [address for name in PAGES if name in TRUSTING for address in PAGES[name]]
        usual = [address for address in usual if not address.startswith(MAILABLE)]
        return [address.format(**own) for address in (*usual, "/nowhere")]

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("person", ["user", "staff", "visitor", "newcomer"])
    def test_within_the_minute_no_page_reads_session_or_user(
        self, people, things, person, method, clock, now
    ):
        client, account = people[person]
        own = things(account)
        look(client, "/gallery")
        clock.move_to(now + LASTS * 0.99)
        reads = {one: self.reads_of(client, one, method) for one in self.addresses(own)}
        assert set(reads.values()) == {(0, 0)}, reads

    def test_after_it_the_next_page_reads_each_once(self, people, things, clock, now):
        """But for one that only leads on, whoever it is."""
        client, account = people["user"]
        reads = {}
        asking = [one for one in self.addresses(things(account)) if one != "/images/new"]
        for number, address in enumerate(asking):
            clock.move_to(now + number * LASTS)
            reads[address] = self.reads_of(client, address), self.reads_of(client, address)
        assert set(reads.values()) == {((1, 1), (0, 0))}, reads

    def test_a_job_in_progress_reads_only_the_address_that_mail_would_go_to(self, people, things):
        client, account = people["user"]
        own = things(account)
        look(client, "/gallery")
        assert self.reads_of(client, MAILABLE.format(**own)) == (0, 1)

    def test_the_staffs_pages_read_both_each_time(self, people, things):
        client, account = people["staff"]
        things(account)
        look(client, "/gallery")
        assert [self.reads_of(client, "/admin/quotas/plan/") for _ in range(2)] == [(1, 1)] * 2
