"""Reading the documents, and looking up what they name."""

import ast
import re
from functools import cache
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], key=lambda file: str(file))


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


@cache
def names_in(file: Path) -> frozenset[str]:
    """What a Python file defines: functions, classes, constants, and members as Class.member."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in tree.body:
        found |= defined_by(node)
        if isinstance(node, ast.ClassDef):
            members = {name for part in node.body for name in defined_by(part)}
            found |= {f"{node.name}.{member}" for member in members}
    return frozenset(found)


def defined_by(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()


def exists(reference: str) -> bool:
    """`path`, `path:name`, or for tests `path::test` and `path::Class::test`."""
    path, _, name = reference.replace("::", ":", 1).partition(":")
    file = ROOT / path
    if not file.exists() or not name:
        return file.exists()
    return file.suffix == ".py" and name.replace("::", ".") in names_in(file)


def quoted_in(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)
