"""The size and shape of the product's code, for comparing two revisions.

`python -m tests.figures [REVISION | FOLDER] [--without PATH...]` reads that Git revision, that
folder, or the working tree. The product is the four packages without migrations, drill and sandbox.
A caller of a private function is a mention of its name in the module. Shares are of all lines.
"""

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("config", "jobs", "providers", "quotas")
OUTSIDE = (
    "config/drill/",
    "config/management/commands/drill.py",
    "providers/sandbox/",
    "providers/management/commands/sandbox.py",
)
IDIOM = (
    "asked",
    "says",
    "nobody",
    "alone",
    "told",
    "stands",
    "whose",
    "whatever",
    "whoever",
    "somebody",
)
WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")
MAX_FILE, MAX_FUNCTION, SHORT, MAX_MODULES = 400, 40, 6, 15
TOP = 10
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Source:
    """One file. Paths are relative to the project, with slashes."""

    path: str
    code: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.code)

    @cached_property
    def comments(self) -> list[tokenize.TokenInfo]:
        tokens = tokenize.generate_tokens(io.StringIO(self.code).readline)
        return [token for token in tokens if token.type == tokenize.COMMENT]

    @property
    def lines(self) -> int:
        return len(self.code.splitlines())

    @property
    def comment_lines(self) -> int:
        """Lines that hold only a comment."""
        return sum(token.line.lstrip().startswith("#") for token in self.comments)

    def functions(self) -> Iterator[Function]:
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def prose(self) -> Iterator[str]:
        """Comments and docstrings."""
        yield from (token.string for token in self.comments)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Module | ast.ClassDef | Function):
                yield ast.get_docstring(node, clean=False) or ""


@dataclass
class Figures:
    sources: list[Source]
    lines: int = 0
    by_folder: Counter[str] = field(default_factory=Counter)
    modules: Counter[str] = field(default_factory=Counter)
    files: list[tuple[int, str]] = field(default_factory=list)
    functions: list[tuple[int, str]] = field(default_factory=list)
    comment_lines: int = 0
    private: int = 0
    one_caller: list[tuple[int, str]] = field(default_factory=list)
    named_of: list[str] = field(default_factory=list)
    prose_words: int = 0
    idiom: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for source in self.sources:
            self._count_lines(source)
            self._count_functions(source)
            self._count_words(source)

    def _count_lines(self, source: Source) -> None:
        path = PurePosixPath(source.path)
        self.lines += source.lines
        self.comment_lines += source.comment_lines
        self.files.append((source.lines, source.path))
        for folder in path.parents[:-1]:
            self.by_folder[str(folder)] += source.lines
        self.modules[str(path.parent)] += path.name != "__init__.py"

    def _count_functions(self, source: Source) -> None:
        for function in source.functions():
            self.functions.append((length(function), f"{source.path}:{function.name}"))
            if function.name.endswith("_of") or "_of_" in function.name:
                self.named_of.append(f"{source.path}:{function.name}")
        uses = Counter(
            node.id
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        )
        for node in source.tree.body:
            if isinstance(node, Function) and node.name.startswith("_"):
                self.private += 1
                if uses[node.name] == 1:
                    self.one_caller.append((length(node), f"{source.path}:{node.name}"))

    def _count_words(self, source: Source) -> None:
        for text in source.prose():
            words = WORD.findall(text)
            self.prose_words += len(words)
            self.idiom.update(word for word in map(str.lower, words) if word in IDIOM)


def length(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def sources_in_folder(folder: Path) -> list[Source]:
    files = (file for package in PACKAGES for file in sorted((folder / package).rglob("*.py")))
    return product(
        Source(file.relative_to(folder).as_posix(), file.read_text(encoding="utf-8"))
        for file in files
    )


def sources_in_revision(revision: str) -> list[Source]:
    archive = subprocess.run(
        ["git", "archive", revision, *PACKAGES], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [(member, tar.extractfile(member)) for member in tar if member.isfile()]
        return product(
            Source(member.name, content.read().decode())
            for member, content in members
            if content and member.name.endswith(".py")
        )


def product(sources: Iterator[Source]) -> list[Source]:
    return [
        source
        for source in sources
        if not source.path.startswith(OUTSIDE) and "/migrations/" not in source.path
    ]


def report(figures: Figures) -> Iterator[str]:
    yield f"{figures.lines} lines in {len(figures.files)} files"
    share = figures.comment_lines / max(figures.lines, 1)
    yield f"{figures.comment_lines} comment lines, {share:.1%}"
    yield from largest("longest files", figures.files, above=MAX_FILE)
    yield from largest("longest functions", figures.functions, above=MAX_FUNCTION)
    yield f"\nprivate functions of a module: {figures.private}"
    short = [name for lines, name in figures.one_caller if lines <= SHORT]
    yield f"  with one caller: {len(figures.one_caller)}, of {SHORT} lines or fewer: {len(short)}"
    yield f"functions: {len(figures.functions)}, with _of in the name: {len(figures.named_of)}"
    yield f"\nwords in comments and docstrings: {figures.prose_words}"
    for word in IDIOM:
        share = figures.idiom[word] * 10_000 / max(figures.prose_words, 1)
        yield f"  {word:<10} {figures.idiom[word]:>4}  {share:5.1f} per 10,000"
    yield "\nfolder: lines with subfolders, modules directly in it"
    for folder, lines in sorted(figures.by_folder.items()):
        if not lines:
            continue
        modules = figures.modules[folder]
        mark = f"  more than {MAX_MODULES}" if modules > MAX_MODULES else ""
        indent = "  " * folder.count("/")
        yield f"  {indent + PurePosixPath(folder).name:<28} {lines:>6} {modules:>4}{mark}"


def largest(title: str, found: list[tuple[int, str]], *, above: int) -> Iterator[str]:
    yield f"\n{title} (over {above} lines: {sum(lines > above for lines, _ in found)})"
    for lines, name in sorted(found, reverse=True)[:TOP]:
        yield f"  {lines:>4} {name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("place", nargs="?", default=str(ROOT), help="a revision or a folder")
    parser.add_argument("--without", nargs="*", default=[], help="paths to leave out")
    options = parser.parse_args()
    folder = Path(options.place)
    found = sources_in_folder(folder) if folder.is_dir() else sources_in_revision(options.place)
    figures = Figures([s for s in found if not s.path.startswith(tuple(options.without))])
    print("\n".join(report(figures)))


if __name__ == "__main__":
    main()
