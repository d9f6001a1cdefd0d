"""axe has nothing to say against any page in any state, in both themes, narrow and wide."""

import pytest

from tests.e2e.checkers import need_axe
from tests.e2e.wrongs import wrongs

pytestmark = [pytest.mark.chromium, pytest.mark.site]

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


@pytest.fixture(scope="module")
def open_page(axe, chromium, room):
    """open_page("ana", ...) is a page of hers with axe in it, past the site's content policy."""

    def come(person: str, theme: str = "light", width: int = 1180):
        context = chromium.new_context(
            base_url=room.url,
            color_scheme=theme,
            viewport={"width": width, "height": 800},
            reduced_motion="reduce",
        )
        context.add_cookies(room.cookies(person))
        context.add_init_script(path=axe)
        return context.new_page()

    return come


def faults_at(page, path: str) -> list[str]:
    page.goto(path, wait_until="load")
    return page.evaluate(FAULTS)


def without_empty(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: faults for name, faults in found.items() if faults}


@pytest.mark.parametrize("width", [320, 1180])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("person", ["nobody", "ana", "ben", "staff"])
def test_no_page_breaks_a_rule(open_page, room, person, theme, width):
    page = open_page(person, theme, width)
    paths = {name: sight.path for name, sight in room.sights.items() if sight.person == person}
    found = {name: faults_at(page, path) for name, path in paths.items()}
    page.context.close()
    assert without_empty(found) == {}


@pytest.mark.parametrize("width", [320, 1180])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_refusal_and_no_error_page_breaks_a_rule(open_page, room, theme, width):
    answers = wrongs(room)

    def show(route) -> None:
        html = answers[route.request.url.rpartition("/")[2]]
        route.fulfill(body=html, content_type="text/html; charset=utf-8")

    page = open_page("nobody", theme, width)
    page.route("**/wrong/*", show)
    found = {name: faults_at(page, f"/wrong/{name}") for name in answers}
    page.context.close()
    assert without_empty(found) == {}


def test_a_fault_is_noticed(open_page):
    page = open_page("nobody")
    page.goto("/images/new", wait_until="load")
    page.eval_on_selector("label[for=id_prompt]", "label => label.remove()")
    page.eval_on_selector("h1", "h1 => h1.style.color = '#eee'")
    assert {fault.partition(":")[0] for fault in page.evaluate(FAULTS)} == {
        "color-contrast",
        "label",
    }
    page.context.close()
