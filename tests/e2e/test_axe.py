"""axe has nothing to say against any page in any state, in both themes, narrow and wide."""

from itertools import product

import pytest

from tests.e2e.checkers import need_axe
from tests.e2e.scenes import SCENES
from tests.e2e.wrongs import wrongs

pytestmark = [pytest.mark.chromium, pytest.mark.site]

LOOKS = list(product(("light", "dark"), (1180, 320)))
FAULTS = """async () => {
    const options = {
        resultTypes: ["violations"], preload: false, rules: {"target-size": {enabled: true}},
    };
    const {violations} = await axe.run(document, options);
    return violations.map(({id, nodes}) => `${id}: ${nodes.map(n => n.html.slice(0, 120))}`);
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    return need_axe()


@pytest.fixture
def open_page(axe, visit):
    """open_page("ana") is a page of hers with axe in it, which no content policy keeps out."""

    def come(person: str):
        # What moves would be caught between two colours.
        page = visit(person, reduced_motion="reduce")
        page.context.add_init_script(path=axe)
        return page

    return come


def faults_of(page, paths: dict[str, str]) -> list[str]:
    """A page is loaded once and looked at four times."""
    found = []
    for name, path in paths.items():
        page.goto(path, wait_until="load")
        found += [f"{name}, {fault}" for fault in faults_in_all_looks(page)]
    return found


def faults_in_all_looks(page) -> list[str]:
    found = []
    for theme, width in LOOKS:
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 800})
        found += [f"{theme}, {width} px: {fault}" for fault in page.evaluate(FAULTS)]
    return found


@pytest.mark.parametrize("person", ["nobody", "ana", "ben", "cy", "staff"])
def test_no_page_breaks_a_rule(open_page, room, person):
    paths = {name: sight.path for name, sight in room.sights.items() if sight.person == person}
    assert faults_of(open_page(person), paths) == []


@pytest.mark.parametrize("name", SCENES)
def test_nothing_that_a_script_shows_breaks_a_rule(open_page, room, name):
    sight = room.sights[SCENES[name].sight]
    page = open_page(sight.person)
    page.goto(sight.path, wait_until="load")
    SCENES[name].play(page)
    assert faults_in_all_looks(page) == []


def test_no_refusal_and_no_error_page_breaks_a_rule(open_page, room):
    answers = wrongs(room)

    def show(route) -> None:
        html = answers[route.request.url.rpartition("/")[2]]
        route.fulfill(body=html, content_type="text/html; charset=utf-8")

    page = open_page("nobody")
    page.route("**/wrong/*", show)
    assert faults_of(page, {name: f"/wrong/{name}" for name in answers}) == []


def test_everybody_is_asked_about(room):
    assert {sight.person for sight in room.sights.values()} == {
        "nobody",
        "ana",
        "ben",
        "cy",
        "staff",
    }


def test_a_fault_is_noticed(open_page):
    page = open_page("nobody")
    page.goto("/images/new", wait_until="load")
    page.eval_on_selector("label[for=id_prompt]", "label => label.remove()")
    page.eval_on_selector("h1", "h1 => h1.style.color = '#eee'")
    rules = {fault.partition(":")[0] for fault in page.evaluate(FAULTS)}
    assert rules == {"color-contrast", "label"}
