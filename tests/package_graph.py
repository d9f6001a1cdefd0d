"""Which packages of the product import each other, at any depth.

A tree is a mapping from path to code. The nodes below a package are its modules and its packages;
`A -> B` means that a module of A imports a module of B.
"""

import ast
from collections import defaultdict
from collections.abc import Mapping
from functools import cache

Edge = tuple[str, str]
Tree = Mapping[str, str]
Graph = Mapping[str, set[Edge]]


def module_name(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


@cache
def imported(code: str) -> tuple[str, ...]:
    """Modules and names, wherever in the file they are imported."""
    names = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


def module_imports(tree: Tree) -> set[Edge]:
    """From module to module. A package itself is its module `__init__`."""
    modules = {module_name(path) for path in tree}
    edges = set()
    for path, code in tree.items():
        for name in imported(code):
            found = _find_module(name, modules)
            if found and found != module_name(path):
                edges.add((module_name(path), found))
    return edges


def _find_module(name: str, modules: set[str]) -> str:
    while name:
        if name in modules:
            return name
        if f"{name}.__init__" in modules:
            return f"{name}.__init__"
        name = name.rpartition(".")[0]
    return ""


def package_graph(tree: Tree) -> Graph:
    """For every package, the imports between the modules and packages directly in it."""
    graph = defaultdict(set)
    for importer, target in module_imports(tree):
        package, left, right = _split(importer, target)
        if package:
            graph[package].add((left, right))
    return graph


def _split(importer: str, target: str) -> tuple[str, str, str]:
    """The lowest package that holds both, and what of each lies directly in it."""
    one, other = importer.split("."), target.split(".")
    depth = next(i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return ".".join(one[:depth]), ".".join(one[: depth + 1]), ".".join(other[: depth + 1])


def cycles(graph: Graph, *, without: set[Edge] = frozenset()) -> list[list[str]]:
    """Groups of two or more that import each other, directly or through others."""
    return [
        sorted(group) for _, edges in sorted(graph.items()) for group in _connected(edges - without)
    ]


def _connected(edges: set[Edge]) -> list[set[str]]:
    reached = {left: _reach(left, edges) for left, _ in edges}
    groups = []
    for node, far in sorted(reached.items()):
        group = {other for other in far if node in reached.get(other, ())}
        if group and group not in groups:
            groups.append(group)
    return groups


def _reach(start: str, edges: set[Edge]) -> set[str]:
    reached, ahead = set(), [start]
    while ahead:
        here = ahead.pop()
        for left, right in edges:
            if left == here and right not in reached:
                reached.add(right)
                ahead.append(right)
    return reached


def imports_upwards(graph: Graph, layers: tuple[str, ...]) -> set[Edge]:
    """Imports between these packages that do not run towards the end of the list."""
    rank = {package: number for number, package in enumerate(layers)}
    return {
        (left, right)
        for edges in graph.values()
        for left, right in edges
        if left in rank and right in rank and rank[left] >= rank[right]
    }


def crowded_folders(tree: Tree, most: int) -> list[str]:
    counts: dict[str, int] = defaultdict(int)
    for path in tree:
        folder, _, name = path.rpartition("/")
        counts[folder] += name != "__init__.py"
    return [folder for folder, count in sorted(counts.items()) if count > most]
