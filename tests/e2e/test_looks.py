"""Every page in every state: no complaint of the browser, nothing sideways, all of it within
reach. Each is visited once a look; the tests read what was found there."""

from collections import defaultdict

import pytest

pytestmark = [pytest.mark.chromium, pytest.mark.site]

# The last is the wide one at a zoom of 200 %.
LOOKS = {
    "narrow light": ("light", 320),
    "narrow dark": ("dark", 320),
    "wide": ("light", 1180),
    "zoomed": ("dark", 590),
}
SEEN = "e => e.getClientRects().length && !e.closest('.visually-hidden, .skip')"
SHORT = "e => e.outerHTML.slice(0, 90)"
QUESTIONS = {
    "parts outside": f"""[...document.querySelectorAll('body *')].filter({SEEN})
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map({SHORT})""",
    "unnamed controls": f"""[...document.querySelectorAll('a, button, input, select, textarea')]
        .filter({SEEN}).filter(e => !(e.innerText || e.ariaLabel || e.labels?.length
            || e.querySelector('img')?.alt)).map({SHORT})""",
    "small controls": f"""[...document.querySelectorAll('button, .button, nav a, select, textarea')]
        .filter({SEEN}).filter(e => e.getBoundingClientRect().height < 24).map({SHORT})""",
    "doubled ids": """[...document.querySelectorAll('[id]')].map(e => e.id)
        .filter((id, at, all) => all.indexOf(id) !== at)""",
    "sideways scroll": "[document.documentElement.scrollWidth].filter(w => w > innerWidth)",
    "background": "[getComputedStyle(document.body).backgroundColor]",
}
WHITE, INK = "rgb(255, 255, 255)", "rgb(16, 20, 24)"


class Survey:
    """What was found, by question and look: {sight: answer}, without the empty answers."""

    def __init__(self, browser, room) -> None:
        self.found = defaultdict(dict)
        self.browser, self.room = browser, room

    def make(self, look: str, theme: str, width: int) -> None:
        for person in {sight.person for sight in self.room.sights.values()}:
            context = self.browser.new_context(
                base_url=self.room.url,
                color_scheme=theme,
                viewport={"width": width, "height": 800},
            )
            context.add_cookies(self.room.cookies(person))
            page = context.new_page()
            for name, sight in self.room.sights.items():
                if sight.person == person:
                    self._visit(page, name, sight.path, look)
            context.close()

    def _visit(self, page, name: str, path: str, look: str) -> None:
        complaints = []
        listeners = {
            "console": lambda said: complaints.append(said.text),
            "pageerror": lambda error: complaints.append(str(error)),
            "response": lambda r: complaints.append(r.url) if r.status >= 400 else None,
        }
        for event, listener in listeners.items():
            page.on(event, listener)
        page.goto(path, wait_until="load")
        answers = {question: page.evaluate(code) for question, code in QUESTIONS.items()}
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        for question, answer in {**answers, "complaints": complaints}.items():
            if answer:
                self.found[question, look][name] = answer


@pytest.fixture(scope="module")
def survey(chromium, room):
    survey = Survey(chromium, room)
    for look, (theme, width) in LOOKS.items():
        survey.make(look, theme, width)
    return survey


@pytest.mark.parametrize(
    "question", [question for question in QUESTIONS if question != "background"]
)
@pytest.mark.parametrize("look", LOOKS)
def test_no_page_has(survey, question, look):
    assert survey.found[question, look] == {}


@pytest.mark.parametrize("look", LOOKS)
def test_the_browser_complains_of_the_missing_page_alone(survey, room, look):
    complaints = survey.found["complaints", look]
    assert complaints.keys() == {"not-here"}
    missing = room.url + room.sights["not-here"].path
    assert [text for text in complaints["not-here"] if text.startswith("http")] == [missing]


def test_every_page_follows_the_theme(survey, room):
    for look, (theme, _width) in LOOKS.items():
        colour = {"light": WHITE, "dark": INK}[theme]
        assert survey.found["background", look] == {name: [colour] for name in room.sights}
