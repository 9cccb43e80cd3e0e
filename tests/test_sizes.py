"""Code can be read in pieces: no folder, module, function or class is larger than CONTRIBUTING.md allows."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parent.parent / "src" / "punctual"
FILES = sorted(SRC.rglob("*.py"))
MODULES_PER_FOLDER = 20
LINES_PER_MODULE = 450
LINES_PER_FUNCTION = 60
METHODS_PER_CLASS = 15


def nodes() -> Iterator[tuple[str, ast.AST]]:
    """Every part of every module, with the module's name."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            yield str(file.relative_to(SRC)), node


def public_methods(node: ast.ClassDef) -> list[str]:
    return [
        part.name
        for part in node.body
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and not part.name.startswith("_")
    ]


def test_no_folder_has_too_many_modules() -> None:
    counts = Counter(str(file.parent.relative_to(SRC)) for file in FILES)
    assert {folder: count for folder, count in counts.items() if count > MODULES_PER_FOLDER} == {}


def test_no_module_is_too_long() -> None:
    lengths = {str(file.relative_to(SRC)): len(file.read_text().splitlines()) for file in FILES}
    assert {module: length for module, length in lengths.items() if length > LINES_PER_MODULE} == {}


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{module}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {function: length for function, length in lengths.items() if length >= LINES_PER_FUNCTION} == {}


def test_no_class_has_too_many_public_methods() -> None:
    methods = {
        f"{module}:{node.lineno} {node.name}": public_methods(node)
        for module, node in nodes()
        if isinstance(node, ast.ClassDef)
    }
    assert {name: found for name, found in methods.items() if len(found) > METHODS_PER_CLASS} == {}
