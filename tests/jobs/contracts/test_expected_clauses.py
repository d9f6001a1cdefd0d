"""Every list of clauses in every expect.json, in every format."""

import pytest

from tests.jobs.contracts.documents import (
    NAMES,
    clauses_of,
    expected,
    is_counted,
    plain,
    with_html,
)

FILES = [
    (folder, version, file)
    for folder in NAMES
    for version, spec in expected(folder)["versions"].items()
    for file in with_html(spec["files"])
]


def identity(number, title, begins):
    return number, plain(title) or plain(begins)


@pytest.mark.parametrize(("folder", "version", "file"), FILES)
def test_clauses_are_those_a_careful_reader_counts(folder, version, file):
    spec = expected(folder)["versions"][version]
    tolerance = spec.get("file_tolerance", {}).get(file, expected(folder)["tolerance"])
    found = [clause for clause in clauses_of(folder, file) if is_counted(folder, clause)]
    got = [identity(clause.number, clause.title, clause.begins) for clause in found]
    every = [identity(x["number"], x["title"], x.get("begins", "")) for x in spec["clauses"]]
    needed = [
        name
        for name, entry in zip(every, spec["clauses"], strict=True)
        if not entry.get("optional")
    ]
    assert len([name for name in needed if name not in got]) <= tolerance
    assert len([name for name in got if name not in every]) <= tolerance
    assert abs(len(got) - spec["count"]) <= tolerance or len(got) in spec.get("also_accept", [])
    assert [name for name in got if name in every] == [name for name in every if name in got]


@pytest.mark.parametrize(("folder", "version", "file"), FILES)
def test_part_kind_and_parent_are_as_expected(folder, version, file):
    left = [clause for clause in clauses_of(folder, file) if is_counted(folder, clause)]
    for entry in expected(folder)["versions"][version]["clauses"]:
        name = identity(entry["number"], entry["title"], entry.get("begins", ""))
        place = next(
            (
                place
                for place, clause in enumerate(left)
                if identity(clause.number, clause.title, clause.begins) == name
            ),
            None,
        )
        if place is None:
            continue
        clause = left.pop(place)
        assert (clause.part, clause.kind) == (
            entry.get("part", "body"),
            entry.get("kind", "clause"),
        ), name
        if "parent" in entry:
            assert plain(clause.parent) == plain(entry["parent"]), name


@pytest.mark.parametrize("folder", NAMES)
def test_language_is_found(folder):
    for spec in expected(folder)["versions"].values():
        clauses = clauses_of(folder, spec["files"][0])
        assert {clause.language for clause in clauses} == {expected(folder)["language"]}
