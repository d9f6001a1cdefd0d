"""Home and gallery: what is in progress, what came of it, page by page."""

from datetime import timedelta

import pytest

from jobs import outcomes
from jobs.core.models import Job
from quotas.models import Grant
from tests import rows
from tests.configured import set_provider_key
from tests.jobs.conftest import HTMX, text_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def grant(account, now, count: int) -> None:
    Grant.objects.create(
        account=account, kind="image", day=now.date(), slots=count, reason="test", granted_at=now
    )


def many_ready(account, now, count: int) -> list[Job]:
    """The newest last."""
    grant(account, now, count)
    start = now - timedelta(minutes=count)
    return [
        rows.ready(account, start + timedelta(minutes=number), prompt=f"Harbour {number}.")
        for number in range(count)
    ]


def test_home_of_a_newcomer_shows_the_quota_and_the_way(client):
    text = text_of(client.get("/"))
    assert "3 of 3 slots left today" in text
    assert "0 used · 0 on hold · 3 left Renews in 12 h 0 min, at 00:00 UTC" in text
    assert "In progress" not in text
    assert "Latest results" not in text


def test_header_says_left_and_on_hold(ana_client, account, now):
    rows.ready(account, now)
    rows.lost(account, now)
    assert "8 of 10 slots left today · 1 on hold" in text_of(ana_client.get("/"))


def test_quota_numbers_add_up_to_the_allowance(ana_client, account, now):
    for make in (rows.ready, rows.failed, rows.lost, rows.queued):
        make(account, now)
    assert "1 used · 2 on hold · 7 left" in text_of(ana_client.get("/"))


def test_bar_has_three_parts(ana_client, account, now):
    rows.ready(account, now)
    rows.lost(account, now)
    shown = ana_client.get("/").content.decode()
    assert '<rect class="meter-used" width="10%"' in shown
    assert 'x="10%" width="10%"' in shown


def test_home_shows_what_is_in_progress(ana_client, account, now):
    rows.lost(account, now, prompt="Lost harbour")
    text = text_of(ana_client.get("/"))
    assert "In progress" in text
    assert "Confirming Lost harbour" in text


def test_home_shows_the_last_eight_results(ana_client, account, now):
    many_ready(account, now, 9)
    shown = ana_client.get("/").content.decode()
    assert shown.count('class="tile"') == 8
    assert "Harbour 0." not in shown


def test_home_is_polled_only_while_something_runs(ana_client, account, now):
    job = rows.queued(account, now)
    assert 'hx-trigger="every 5s"' in ana_client.get("/").content.decode()
    assert ana_client.get("/", headers=HTMX).status_code == 200
    outcomes.cancel(job.pk, now)
    assert 'hx-trigger="every 5s"' not in ana_client.get("/").content.decode()
    assert ana_client.get("/", headers=HTMX).status_code == 286


def test_home_shows_nothing_of_another(ben_client, account, now):
    rows.ready(account, now)
    rows.queued(account, now)
    assert "baker" not in ben_client.get("/").content.decode()


def test_site_without_a_key_says_what_it_makes(client):
    text = text_of(client.get("/gallery"))
    assert "No provider key is set, so this site makes test pictures only." in text


def test_sandbox_beside_a_key_is_called_the_sandbox(client, settings):
    set_provider_key(settings, "a key")
    text = text_of(client.get("/gallery"))
    assert "This site uses the built-in test provider" in text
    assert "a key" not in text


def test_real_provider_needs_no_notice(client, settings):
    settings.IMAGE_MODELS = ["polza:some/model"]
    assert "test pictures" not in text_of(client.get("/gallery"))


def test_empty_gallery_shows_the_way(client):
    assert "No pictures yet. Make your first picture" in text_of(client.get("/gallery"))


def test_gallery_shows_twenty_four_newest_first(ana_client, account, now):
    many_ready(account, now, 25)
    shown = ana_client.get("/gallery").content.decode()
    assert shown.count('class="tile"') == 24
    assert shown.index("Harbour 24.") < shown.index("Harbour 1.")
    assert "Harbour 0." not in shown


def test_load_more_is_a_link_to_a_whole_page(ana_client, account, now):
    many_ready(account, now, 25)
    assert 'href="?show=all&amp;page=2"' in ana_client.get("/gallery").content.decode()
    shown = ana_client.get("/gallery?show=all&page=2").content.decode()
    assert "<html" in shown
    assert shown.count('class="tile"') == 1
    assert "Load more" not in shown


def test_htmx_gets_only_the_tiles_and_focus_on_the_first_new_one(ana_client, account, now):
    many_ready(account, now, 25)
    shown = ana_client.get("/gallery?page=2", headers=HTMX).content.decode()
    assert "<html" not in shown
    assert shown.lstrip().startswith('<li class="tile"')
    assert shown.count(" autofocus") == 1


def test_exactly_full_page_offers_no_more(ana_client, account, now):
    many_ready(account, now, 24)
    assert "Load more" not in ana_client.get("/gallery").content.decode()


@pytest.mark.parametrize("page", ["0", "-1", "x", "", "²", "9999999", "1.5"])
def test_page_that_is_no_number_is_the_first(ana_client, account, now, page):
    rows.ready(account, now)
    assert "baker" in text_of(ana_client.get("/gallery", {"page": page}))


@pytest.mark.parametrize("show", ["all", "ready", "open"])
def test_page_beyond_the_last_says_so_and_leads_to_the_first(ana_client, account, now, show):
    rows.ready(account, now)
    response = ana_client.get("/gallery", {"show": show, "page": 7})
    assert "This page does not exist. Go to page 1" in text_of(response)
    assert f'<a href="?show={show}">Go to page 1</a>' in response.content.decode()


def test_all_that_is_in_progress_can_be_reached(ana_client, account, now):
    grant(account, now, 25)
    titles = {f"Kite {number:02}" for number in range(25)}
    for number, title in enumerate(sorted(titles)):
        rows.queued(account, now + timedelta(seconds=number), prompt=title)
    shown, found = ana_client.get("/gallery").content.decode(), set()
    assert "Kite 00" not in shown
    for address in ("/gallery", "/gallery?show=open&page=2"):
        shown = ana_client.get(address).content.decode()
        found |= {title for title in titles if title in shown}
        assert ('href="?show=open&amp;page=2"' in shown) == (address == "/gallery")
    assert found == titles


def test_later_pages_of_all_repeat_nothing_in_progress(ana_client, account, now):
    many_ready(account, now, 25)
    rows.queued(account, now, prompt="Kite")
    assert "Kite" not in ana_client.get("/gallery?page=2").content.decode()


@pytest.mark.parametrize(
    ("show", "titles"),
    [
        ("all", {"Ready", "Failed", "Queued"}),
        ("ready", {"Ready"}),
        ("open", {"Queued"}),
        ("failed", {"Failed"}),
        ("nonsense", {"Ready", "Failed", "Queued"}),
    ],
)
def test_gallery_is_filtered_by_state(ana_client, account, now, show, titles):
    for make, name in ((rows.ready, "Ready"), (rows.failed, "Failed"), (rows.queued, "Queued")):
        make(account, now, prompt=f"{name} harbour")
    shown = ana_client.get("/gallery", {"show": show}).content.decode()
    assert {name for name in ("Ready", "Failed", "Queued") if f"{name} harbour" in shown} == titles


def test_filter_without_a_match_says_so(ana_client, account, now):
    rows.ready(account, now)
    assert "Nothing matches this filter." in text_of(ana_client.get("/gallery?show=failed"))


def test_running_tiles_are_polled_until_all_have_ended(ana_client, account, now):
    job = rows.saving(account, now)
    address = f"/gallery?tiles={job.pk},"
    assert address in ana_client.get("/gallery").content.decode()
    assert ana_client.get(address, headers=HTMX).status_code == 200
    job = rows.delivered(job, now + timedelta(seconds=6))
    response = ana_client.get(address, headers=HTMX)
    assert response.status_code == 286
    assert f"/images/{job.pictures.get().pk}/small" in response.content.decode()


def test_polled_tiles_bring_the_quota_along(ana_client, account, now):
    job = rows.queued(account, now)
    assert "1 on hold" in text_of(ana_client.get("/gallery"))
    outcomes.cancel(job.pk, now)
    response = ana_client.get(f"/gallery?tiles={job.pk}", headers=HTMX)
    assert '<p id="quota" hx-swap-oob="true">' in response.content.decode()
    assert "10 of 10 slots left today" in text_of(response)


def test_polling_for_tiles_of_another_shows_none(ben_client, account, now):
    job = rows.queued(account, now)
    response = ben_client.get(f"/gallery?tiles={job.pk},nonsense", headers=HTMX)
    assert "baker" not in response.content.decode()
