"""Links of the documents lead somewhere, and files that they name are there."""

import re
from pathlib import Path

import pytest

from tests.docs.documents import DOCUMENTS, exists, name_of, quoted_in

LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:)([^)\s]+)\)")
OF_THE_PROJECT = re.compile(
    r"^(config|jobs|providers|quotas|templates|static|tests|docs|\.ci)/[\w./-]*\w(:\S+)?$"
)


def is_broken(document: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = document.parent / path if path else document
    return not file.exists() or (bool(anchor) and anchor not in anchors_of(file))


def anchors_of(file: Path) -> set[str]:
    """As GitHub makes them of headings."""
    titles = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document):
    targets = LINK.findall(document.read_text(encoding="utf-8"))
    assert [target for target in targets if is_broken(document, target)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_files_that_are_named_are_there(document):
    named = quoted_in(document.read_text(encoding="utf-8"))
    ours = [name for name in named if OF_THE_PROJECT.match(name)]
    assert [name for name in ours if not exists(name)] == []


def test_documents_were_found():
    names = {name_of(document) for document in DOCUMENTS}
    assert {"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/operations.md"} < names


def test_broken_links_are_noticed():
    readme = next(document for document in DOCUMENTS if name_of(document) == "README.md")
    assert is_broken(readme, "docs/nowhere.md")
    assert is_broken(readme, "docs/architecture.md#nowhere")
    assert not is_broken(readme, "docs/architecture.md")
