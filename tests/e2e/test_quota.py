"""The numbers of a day add up to what is allowed, wherever they are shown."""

import re

import pytest

pytestmark = [pytest.mark.chromium, pytest.mark.site]

HEADER = re.compile(
    r"(?P<left>\d+) of (?P<allowed>\d+) slots left today · (?P<on_hold>\d+) on hold"
)
METER = re.compile(r"(?P<used>\d+) used · (?P<on_hold>\d+) on hold · (?P<left>\d+) left")
STAFF = re.compile(
    r"(?P<left>\d+) left, (?P<on_hold>\d+) on hold, (?P<used>\d+) used of (?P<allowed>\d+)"
)


def numbers(pattern: re.Pattern[str], text: str) -> dict[str, int]:
    found = pattern.search(" ".join(text.split()))
    assert found, text
    return {name: int(number) for name, number in found.groupdict().items()}


def shown_to_staff(visit) -> dict[str, int]:
    page = visit("staff")
    page.goto("/admin/quotas/account/")
    row = page.locator("tr", has=page.get_by_text("ana", exact=True))
    return numbers(STAFF, row.inner_text())


@pytest.mark.parametrize("sight", ["home", "job-generating", "job-ready"])
def test_header_and_meter_and_staffs_page_agree(visit, room, sight):
    page = visit("ana")
    page.goto(room.sights[sight].path)
    whole = shown_to_staff(visit)
    assert whole["used"] + whole["on_hold"] + whole["left"] == whole["allowed"] == 50
    assert min(whole.values()) > 0
    for pattern, place in ((HEADER, "#quota"), (METER, "#meter-text")):
        shown = numbers(pattern, page.locator(place).inner_text())
        assert shown == {name: whole[name] for name in shown}


@pytest.mark.parametrize("person", ["nobody", "cy", "staff"])
def test_who_holds_nothing_has_all(visit, person):
    page = visit(person)
    page.goto("/")
    meter = numbers(METER, page.locator("#meter-text").inner_text())
    header = page.locator("#quota").inner_text().split()
    assert (meter["used"], meter["on_hold"]) == (0, 0)
    assert header[0] == header[2] == str(meter["left"])
