"""Imports go one way: the table of ARCHITECTURE.md, checked. No exceptions, no imports inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "punctual"
BASE = {"errors", "config", "clock", "own_names"}
MAY: dict[str, set[str]] = {
    "errors": set(),
    "config": set(),
    "clock": set(),
    "own_names": set(),
    "plan": set(),
    "kernel": set(),
    "scan": {"kernel"},
    "catalog": {"plan"},
    "estimate": {"plan", "kernel"},
    "sql": {"plan", "catalog"},
    "share": {"plan", "estimate", "kernel"},
    "schedule": {"estimate"},
    "ports": {"plan", "scan"},
    "store": {"ports"},
    "runtime": {"plan", "kernel", "scan", "ports", "store"},
    "kinds": {
        "sql", "catalog", "plan", "kernel", "scan", "estimate", "share", "schedule", "ports", "store", "runtime",
    },
    "engine": {
        "sql", "catalog", "plan", "kernel", "scan", "estimate", "share", "schedule", "ports", "store", "runtime",
        "kinds", "explain",
    },
    "explain": {"sql", "catalog", "plan", "kernel", "estimate", "share", "schedule", "runtime", "kinds"},
    "cli": {"engine", "explain", "catalog", "ports"},
}
GUESTS = {
    "sqlglot": {"sql"},
    "numba": {"kernel"},
    "pyspark": {"runtime", "ports"},
    "py4j": {"runtime", "ports"},
    "rich": {"cli"},
    "pandas": {"engine"},
}
KERNEL: dict[str, set[str]] = {
    "arrays": set(),
    "sample": {"arrays"},
    "text": set(),
    "world": set(),
    "synopses": {"arrays", "world"},
    "draw": {"arrays", "sample", "synopses", "world"},
    "panes": {"arrays", "synopses"},
}
"""Folders of the kernel, and which of them each may import. `kernel/warm.py` imports them all."""
LOWER: dict[str, set[str]] = {
    "kernel.world.input": set(),
    "sql.expressions": {"sql.problems", "sql.syntax"},
    "sql.syntax": set(),
}
"""Folders within a folder that the modules around them import, and what of these they may import themselves."""
WORKERS_LOAD = ("kernel", "scan", "errors", "own_names", "runtime.operators", "store.products")


def modules() -> Iterator[tuple[str, Path, ast.Module]]:
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        if parts == ("__init__",):
            continue
        yield ".".join(p for p in parts if p != "__init__"), path, ast.parse(path.read_text())


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, "imports are absolute"
            if node.module == "punctual":
                yield from (f"punctual.{alias.name}" for alias in node.names)
            else:
                yield node.module


def test_rooms_import_only_what_they_may() -> None:
    wrong = []
    for name, _path, tree in modules():
        room = name.split(".")[0]
        for target in imports(tree):
            top, _, rest = target.partition(".")
            if top == "punctual":
                other = rest.split(".")[0]
                if other != room and other not in MAY[room] | BASE:
                    wrong.append(f"{name} imports {target}")
            elif top in GUESTS and room not in GUESTS[top]:
                wrong.append(f"{name} imports {top}")
    assert wrong == []


def test_no_folder_of_the_kernel_imports_back() -> None:
    folders = {path.name for path in (SRC / "kernel").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(KERNEL)
    wrong = []
    for name, _path, tree in modules():
        room, folder = [*name.split("."), ""][:2]
        if room != "kernel" or folder not in KERNEL:
            continue
        for target in imports(tree):
            other = target.removeprefix("punctual.kernel.").partition(".")[0]
            if target.startswith("punctual.kernel.") and other not in KERNEL[folder] | {folder, "compiled"}:
                wrong.append(f"{name} imports {target}")
    assert wrong == []


def test_no_lower_folder_imports_from_its_parent() -> None:
    wrong = [
        f"{name} imports {target}"
        for folder, may in LOWER.items()
        for name, _path, tree in modules()
        if name.startswith(f"{folder}.")
        for target in imports(tree)
        if target.startswith(f"punctual.{folder.rpartition('.')[0]}.")
        and not target.removeprefix("punctual.").startswith((folder, *may))
    ]
    assert wrong == []


def test_no_import_hides_in_a_function() -> None:
    wrong = [
        f"{name}: {function.name}"
        for name, _path, tree in modules()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for target in imports(function)
        if target.startswith("punctual")
    ]
    assert wrong == []


def test_what_workers_load_is_small() -> None:
    wrong = []
    for name, _path, tree in modules():
        if not name.startswith(("runtime.operators", "kernel", "scan", "store.products")):
            continue
        for target in imports(tree):
            if target.startswith("punctual.") and not target.removeprefix("punctual.").startswith(WORKERS_LOAD):
                wrong.append(f"{name} imports {target}")
    assert wrong == []


def test_no_drawer_for_odds_and_ends() -> None:
    stems = {path.stem for _name, path, _tree in modules()}
    assert not stems & {"utils", "util", "helpers", "common", "misc"}
