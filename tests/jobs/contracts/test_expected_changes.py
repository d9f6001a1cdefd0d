"""Every comparison in every expect.json, in every format."""

import pytest

from jobs.contracts.comparing.comparison import SAME_WORDS, Change, compare, is_renumbered
from tests.jobs.contracts.documents import (
    NAMES,
    clauses_of,
    expected,
    is_counted,
    named,
    plain,
)


def file_pairs(folder, versions, spec):
    given = spec.get("files") or [
        [expected(folder)["versions"][version]["files"][0] for version in versions.split("-")]
    ]
    for first, second in given:
        yield first, second
        if first.endswith(".md") and second.endswith(".md"):
            yield f"{first}.html", f"{second}.html"
            yield first, f"{second}.html"


PAIRS = [
    (folder, versions, *files)
    for folder in NAMES
    for versions, spec in expected(folder)["pairs"].items()
    for files in file_pairs(folder, versions, spec)
]
LISTED = [pair for pair in PAIRS if "changed" in expected(pair[0])["pairs"][pair[1]]]
REWRITTEN = [pair for pair in PAIRS if pair not in LISTED]


def differences(got, want):
    """How many of these clauses are not named, and how many names have no clause."""
    want = [name if any(name in named(one) for one in got) else plain(name) for name in want]
    unnamed = [one for one in got if not named(one) & set(want)]
    missing = [name for name in want if not any(name in named(one) for one in got)]
    return len(unnamed) + len(missing)


def wrong(folder, result, spec):
    counted = [one for one in result.clauses if is_counted(folder, one.clause)]
    changed = [one.clause for one in counted if one.change is Change.CHANGED]
    added = [one.clause for one in counted if one.change is Change.ADDED]
    removed = [clause for clause in result.removed if is_counted(folder, clause)]
    same = [one for one in counted if one.change in SAME_WORDS]
    return max(
        differences(changed, spec["changed"]),
        differences(added, spec["added"]),
        differences(removed, spec["removed"]),
        abs(len(same) - spec["unchanged"]),
        abs(sum(map(is_renumbered, same)) - spec["renumbered_of_unchanged"]),
    )


@pytest.mark.parametrize(("folder", "versions", "first", "second"), LISTED)
def test_changes_are_those_a_careful_reader_finds(folder, versions, first, second):
    spec = expected(folder)["pairs"][versions]
    result = compare(clauses_of(folder, first), clauses_of(folder, second))
    answers = [spec, *({**spec, **other} for other in spec.get("also_accept", []))]
    assert min(wrong(folder, result, answer) for answer in answers) <= spec["tolerance"]


@pytest.mark.parametrize(("folder", "versions", "first", "second"), REWRITTEN)
def test_rewrite_keeps_its_titles(folder, versions, first, second):
    spec = expected(folder)["pairs"][versions]
    earlier, later = clauses_of(folder, first), clauses_of(folder, second)
    result = compare(earlier, later)
    counted = [one for one in result.clauses if is_counted(folder, one.clause)]
    same = sum(one.change in SAME_WORDS for one in counted)
    assert abs(same - spec["identical_text"]) <= spec["tolerance"]
    once = titles_that_occur_once(folder, earlier) & titles_that_occur_once(folder, later)
    new = {key(one.clause) for one in counted if one.change is Change.ADDED}
    assert len(once) >= spec["title_pairs"] - spec["tolerance"]
    assert len(once & new) <= spec["tolerance"]


def key(clause):
    return clause.kind, plain(clause.title)


def titles_that_occur_once(folder, clauses):
    keys = [key(one) for one in clauses if is_counted(folder, one) and one.title]
    return {one for one in keys if keys.count(one) == 1}
