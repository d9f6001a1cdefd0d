"""A printed page is the page without its controls, with nothing cut and each link spelled out."""

import re

import pytest

pytestmark = [pytest.mark.chromium, pytest.mark.site]

# A4 without its margins, in px.
PAPER = {"width": 680, "height": 1009}
PRINTED = ("job-ready", "job-lost", "job-endless", "picture", "gallery")
CONTROLS = "nav, header, footer, button, .button, dialog"
CUT = """[...document.querySelectorAll('main, main *')]
    .filter(e => e.getClientRects().length && !e.closest('.visually-hidden, svg'))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1
        || getComputedStyle(e).overflow !== 'visible' && e.scrollHeight > e.clientHeight + 1)
    .map(e => e.outerHTML.slice(0, 90))"""
NOT_SPELLED_OUT = """[...document.querySelectorAll('main a[href]')]
    .filter(a => a.getClientRects().length)
    .filter(a => !getComputedStyle(a, '::after').content.includes(a.getAttribute('href')))
    .map(a => a.outerHTML.slice(0, 90))"""


@pytest.fixture
def paper(visit, room):
    """paper("gallery") is that page as it is printed by somebody who has it dark."""

    def print_out(name: str):
        page = visit(room.sights[name].person, color_scheme="dark", viewport=PAPER)
        page.goto(room.sights[name].path, wait_until="load")
        page.emulate_media(media="print")
        return page

    return print_out


@pytest.mark.parametrize("name", PRINTED)
def test_paper_has_no_controls(paper, name):
    controls = paper(name).locator(CONTROLS)
    assert controls.count()
    assert not [control for control in controls.all() if control.is_visible()]


@pytest.mark.parametrize("name", PRINTED)
def test_nothing_is_cut(paper, name):
    assert paper(name).evaluate(CUT) == []


@pytest.mark.parametrize("name", PRINTED)
def test_links_are_spelled_out_below_the_address_of_the_page(paper, room, name):
    page = paper(name)
    assert page.evaluate(NOT_SPELLED_OUT) == []
    address = room.url + room.sights[name].path
    assert f"Printed from {address}, " in page.locator(".printed").inner_text()


@pytest.mark.parametrize("name", PRINTED)
def test_paper_is_white(paper, name):
    body = "getComputedStyle(document.body)"
    assert paper(name).evaluate(f"{body}.backgroundColor") == "rgb(255, 255, 255)"
    assert paper(name).evaluate(f"{body}.color") == "rgb(27, 31, 36)"


def test_folded_steps_are_printed(paper):
    page = paper("job-ready")
    steps = page.locator("#steps .steps")
    assert steps.is_visible()
    page.emulate_media(media="screen")
    assert not steps.is_visible()


@pytest.mark.parametrize(("name", "most"), [("job-ready", 2), ("job-lost", 2), ("picture", 2)])
def test_a_job_takes_two_sheets_at_most(paper, name, most):
    pdf = paper(name).pdf(format="A4")
    assert 0 < len(re.findall(rb"/Type /Page\b", pdf)) <= most


def test_the_address_is_on_paper_alone(paper):
    page = paper("gallery")
    page.emulate_media(media="screen")
    assert not page.locator(".printed").is_visible()
