"""Pages are true: SQL blocks compile, Python blocks run, options are those of the code, links lead somewhere."""

from __future__ import annotations

import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from punctual.clock import span_text
from punctual.config import Options
from punctual.sql.program import compile_program

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "ARCHITECTURE.md", *(ROOT / "docs").glob("*.md")])
OPTIONS = re.compile(r"(<!-- options:.*?-->\n)(.*?)(<!-- end of options -->)", re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_sql_block_compiles(page: Path) -> None:
    for block in blocks(page, "sql"):
        assert compile_program(block, base=str(ROOT)).statements


def test_there_is_sql_to_check() -> None:
    assert sum(len(blocks(page, "sql")) for page in PAGES) >= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http") and not (page.parent / target).exists():
            broken.append(target)
    assert broken == []


def options_table() -> str:
    rows = ["| option | default | accepts | meaning |", "|---|---|---|---|"]
    for field in fields(Options):
        value = field.default
        if field.name.endswith("_us"):
            shown = "none" if value is None else span_text(int(value))  # type: ignore[call-overload]
        elif isinstance(value, bool):
            shown = "on" if value else "off"
        else:
            shown = "none" if value is None else str(value)
        about = field.metadata
        rows.append(f"| `{about['name']}` | {shown} | {about['accepts']} | {about['meaning']} |")
    return "\n".join(rows) + "\n"


def test_the_page_of_options_is_that_of_the_code() -> None:
    found = OPTIONS.search((ROOT / "docs" / "operations.md").read_text())
    assert found is not None
    assert found.group(2) == options_table(), "run: python -m tests.docs.test_docs"


@pytest.mark.spark
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_every_python_block_runs(page: Path) -> None:
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), {})


if __name__ == "__main__":
    target = ROOT / "docs" / "operations.md"
    target.write_text(OPTIONS.sub(lambda m: m.group(1) + options_table() + m.group(3), target.read_text()))
    sys.exit(0)
