"""The contracts of tests/fixtures and what a careful reader finds in them."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from jobs.contracts.reading.clauses import Clause
from jobs.contracts.reading.extraction import extract
from jobs.contracts.reading.formats.markdown import ATTRIBUTES, FRONT_MATTER
from jobs.contracts.reading.splitting import split

FOLDER = Path(__file__).parents[2] / "fixtures" / "contracts"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())


@cache
def expected(folder: str) -> dict[str, Any]:
    return json.loads((FOLDER / folder / "expect.json").read_text())


def html_of(markdown: str) -> str:
    text = ATTRIBUTES.sub("", FRONT_MATTER.sub("", markdown.replace("\ufeff", "")))
    text = re.sub(
        r"(?m)^([ \t]+)(\(?[a-z]{1,4}[.)]) (?=\S)", r"\n\1\2 ", text.replace("\r\n", "\n")
    )
    body = MarkdownIt("commonmark").enable("table").render(text)
    return f"<!doctype html><html><head><title>x</title></head><body>{body}</body></html>"


@cache
def clauses_of(folder: str, file: str) -> list[Clause]:
    """`v1.md.html` is HTML made from v1.md."""
    if file.endswith(".md.html"):
        source = (FOLDER / folder / file.removesuffix(".html")).read_text(encoding="utf-8")
        data = html_of(source).encode()
    else:
        data = (FOLDER / folder / file).read_bytes()
    return split(extract(data, file).blocks)


def with_html(files: list[str]) -> list[str]:
    return [*files, *(f"{file}.html" for file in files if file.endswith(".md"))]


def is_counted(folder: str, clause: Clause) -> bool:
    counted = expected(folder)["counted"]
    return clause.part in counted["part"] and clause.kind in counted["kind"]


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()


def named(clause: Clause) -> set[str]:
    """Every name that an expectation may use for this clause."""
    names = {clause.number, plain(clause.title), plain(f"{clause.parent} {clause.title}")}
    if clause.kind == "preface":
        names.add("preface")
    return names - {""}
