"""Write docs/configuration.md and .env.example from the definitions of settings: `make docs`."""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from config import configuration
from config.env.definitions import DEFINITIONS, Definition

ROOT = Path(__file__).resolve().parent.parent.parent
LINK = re.compile(r"\[[^\]]+\]\(([^)#]+)[^)]*\)")
GENERATED = "Written by `make docs` from config/configuration.py. Do not edit."


def write() -> None:
    for name, text in render_all().items():
        (ROOT / name).write_text(text, encoding="utf-8")


def render_all() -> dict[str, str]:
    assert configuration  # Its import has made the definitions.
    return {"docs/configuration.md": render_markdown(), ".env.example": render_example()}


def render_markdown() -> str:
    secrets = ", ".join(f"`{each.name}`" for each in DEFINITIONS.values() if each.is_secret)
    blocks = [
        "# Configuration",
        f"<!-- {GENERATED} -->",
        "Each setting is an environment variable or a line of `.env`; the environment takes"
        " precedence. A bad value stops the start with one line that names the setting. Times are"
        " in seconds. Lists are separated by commas.",
        f"The secrets {secrets} may also be read from a file: set `NAME_FILE` to its path.",
    ]
    for title, settings in _by_group():
        rows = "\n".join(map(_row, settings))
        blocks += [
            f"## {title}",
            f"| setting | default | type | meaning |\n|---|---|---|---|\n{rows}",
        ]
    return "\n\n".join(blocks) + "\n"


def render_example() -> str:
    lines = [
        f"# {GENERATED.replace('`', '')}",
        "# Copy this file to .env and uncomment what you change. The values are the defaults.",
        "# docs/configuration.md describes each setting.",
    ]
    for title, settings in _by_group():
        lines += ["", f"# --- {title}", ""]
        for each in settings:
            lines += [f"# {line}" for line in wrap(_strip_markup(each.text), 96)]
            lines += [f"#{each.name}={each.example}"]
    return "\n".join(lines) + "\n"


def _by_group() -> Iterator[tuple[str, list[Definition]]]:
    for title, settings in groupby(DEFINITIONS.values(), key=lambda each: each.group):
        yield title, list(settings)


def _strip_markup(text: str) -> str:
    return LINK.sub(r"docs/\1", text).replace("`", "")


def _row(each: Definition) -> str:
    default = f"`{each.default}`" if each.default else "none"
    return f"| `{each.name}` | {default} | {each.type} | {each.text} |"


if __name__ == "__main__":
    write()
