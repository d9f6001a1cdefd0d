"""What `docs/invariants.md` names exists, and it names every constraint and check that there is."""

import re

import pytest
from django.db.models import CheckConstraint, UniqueConstraint

from jobs.ops import audit
from jobs.ops.audit.rules import audited_models
from tests.docs.documents import ROOT, exists, quoted_in

PAGE = (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
CONSTRAINTS = {
    constraint.name
    for model in audited_models()
    for constraint in model._meta.constraints
    if isinstance(constraint, CheckConstraint | UniqueConstraint)
}
OF_FILES = set(re.findall(r'"(picture_file_\w+)"', (ROOT / "jobs/ops/audit/files.py").read_text()))
OF_DATABASE = set(
    re.findall(r'"(database_\w+)"', (ROOT / "jobs/ops/audit/database.py").read_text())
)
CHECKS = {check.name for check in audit.all_checks()} | OF_FILES | OF_DATABASE


def named(entry: str, kind: str) -> list[str]:
    """What an entry's line of that kind quotes."""
    line = re.search(rf"^- {kind}: (.+)$", ENTRIES[entry], re.MULTILINE)
    return quoted_in(line[1]) if line else []


def all_named(kind: str) -> list[str]:
    return [name for entry in ENTRIES for name in named(entry, kind)]


@pytest.mark.parametrize("entry", ENTRIES)
def test_invariant_has_code_and_a_test(entry):
    assert named(entry, "code")
    assert [name for name in named(entry, "test") if "::" in name]


@pytest.mark.parametrize("entry", ENTRIES)
def test_code_and_tests_of_an_invariant_exist(entry):
    references = named(entry, "code") + named(entry, "test")
    assert [reference for reference in references if not exists(reference)] == []


def test_constraints_are_those_of_the_models():
    assert len(all_named("database")) == len(set(all_named("database")))
    assert set(all_named("database")) == CONSTRAINTS


def test_checks_are_those_of_the_audit():
    assert len(all_named("audit")) == len(set(all_named("audit")))
    assert set(all_named("audit")) == CHECKS


def test_entries_were_read():
    assert len(ENTRIES) > 40
    assert PAGE.count("\n- test: ") == len(ENTRIES)


@pytest.mark.parametrize(
    "reference",
    [
        "quotas/nowhere.py:reserve",
        "quotas/ledger.py:reserve_nothing",
        "quotas/ledger.py:Balance.right",
        "tests/quotas/test_settle.py::test_that_nobody_wrote",
        "tests/site/test_up.py::TestStart::test_that_nobody_wrote",
    ],
)
def test_what_does_not_exist_is_noticed(reference):
    assert not exists(reference)
