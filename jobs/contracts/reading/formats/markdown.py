"""Markdown as CommonMark with tables. Numbers of lists stay as typed."""

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from jobs.contracts.reading.blocks import Block, Kind
from jobs.contracts.reading.formats.html import read_html

FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[\w-]+:.*\n|[ \t]+.*\n|#.*\n|\n)+?---[ \t]*\n")
ATTRIBUTES = re.compile(r"^[ \t]*\{:[^}\n]*\}[ \t]*$", re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ATX = re.compile(r"(?m)^#{1,6} \S")


def is_markdown(text: str) -> bool:
    """Whether plain text has the headings of Markdown."""
    return len(ATX.findall(text)) > 2


class Reader:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.lists: list[list[str]] = []
        self.number = ""
        self.pending = False

    def read(self, tokens: Sequence[Token]) -> list[Block]:
        for position, token in enumerate(tokens):
            if token.type in {"bullet_list_open", "ordered_list_open"}:
                self.lists.append(numbers_in(tokens, position))
            elif token.type in {"bullet_list_close", "ordered_list_close"}:
                self.lists.pop()
            elif token.type == "list_item_open":
                self.number = self.lists[-1].pop(0)
                self.pending = True
            elif token.type == "inline":
                self.add_text(token, tokens[position - 1])
            elif token.type in {"fence", "code_block"}:
                self.add(Kind.PARAGRAPH, " ".join(token.content.split()), 0, 0)
            elif token.type == "html_block":
                self.blocks += read_html(token.content)
        return self.blocks

    def add_text(self, token: Token, opening: Token) -> None:
        text, lead = inline_text(token.children or [])
        if opening.type == "heading_open":
            self.add(Kind.HEADING, text, int(opening.tag[1]), lead)
        elif opening.type in {"td_open", "th_open"}:
            self.add_cell(text, first=str(opening.meta.get("first", "")))
        else:
            for part in text.split("\n"):
                self.add(Kind.PARAGRAPH, part, 0, min(lead, len(part)))

    def add(self, kind: Kind, text: str, level: int, lead: int) -> None:
        if not text.strip():
            return
        number = ""
        if self.pending:
            number, self.pending = self.number, False
            if kind is Kind.PARAGRAPH:
                kind, level = Kind.ITEM, len(self.lists) - 1
        self.blocks.append(Block(kind, text.strip(), level, number, lead=lead))

    def add_cell(self, text: str, *, first: str) -> None:
        last = self.blocks[-1] if self.blocks else None
        if first == "table":
            self.blocks.append(Block(Kind.TABLE, text))
        elif last is not None:
            join = "\n" if first else "\t"
            self.blocks[-1] = Block(Kind.TABLE, f"{last.text}{join}{text}")


def numbers_in(tokens: Sequence[Token], position: int) -> list[str]:
    """The marks of the items of one list; counted where the writer left that to the renderer."""
    opening = tokens[position]
    items = []
    for token in tokens[position + 1 :]:
        if token.type == opening.type.replace("open", "close") and token.level == opening.level:
            break
        if token.type == "list_item_open" and token.level == opening.level + 1:
            items.append(token)
    if opening.type == "bullet_list_open":
        return ["•"] * len(items)
    typed = [item.info for item in items]
    if len(typed) > 1 and len(set(typed)) == 1:
        typed = [str(int(typed[0]) + count) for count in range(len(typed))]
    return [f"{number}." for number in typed]


def inline_text(children: Sequence[Token]) -> tuple[str, int]:
    """The words without marks, and how many characters at the start are strong."""
    text, lead, strong, leading = "", 0, 0, True
    for child in children:
        strong += {"strong_open": 1, "strong_close": -1}.get(child.type, 0)
        piece = child.content if child.type in {"text", "code_inline", "text_special"} else ""
        if child.type == "softbreak":
            piece = " "
        elif child.type == "hardbreak" or is_break(child):
            piece = "\n"
        elif child.type == "image":
            piece = child.content
        text += piece
        leading = leading and (bool(strong) or not piece.strip())
        lead = len(text) if leading else lead
    return re.sub(r"[ \t\u00a0]+", " ", text), lead


def is_break(token: Token) -> bool:
    return token.type == "html_inline" and token.content.lower().startswith("<br")


def mark_first_cells(tokens: Sequence[Token]) -> None:
    first = ""
    for token in tokens:
        if token.type == "table_open":
            first = "table"
        elif token.type == "tr_open":
            first = first or "row"
        elif token.type in {"td_open", "th_open"}:
            token.meta["first"] = first
            first = ""


def read_markdown(text: str) -> list[Block]:
    text = FRONT_MATTER.sub("", text)
    text = ATTRIBUTES.sub("", COMMENT.sub("", text))
    text = indent_letters(text)
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    mark_first_cells(tokens)
    return Reader().read(tokens)


def indent_letters(text: str) -> str:
    """Contracts write `a.` for items of a list, which CommonMark joins with the line above."""
    return re.sub(r"(?m)^([ \t]+)(\(?[a-zа-я]{1,4}[.)]) (?=\S)", r"\n\1\2 ", text)
