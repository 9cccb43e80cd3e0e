"""Pages are true: SQL blocks compile, Python blocks run, plans are as printed, options as coded, links lead somewhere.

And they can be read: no line is wider than a window, except in what EXPLAIN prints.

A block after ``<!-- explain schedule -->`` (or ``sharing``; ``with option = value`` may follow) holds what EXPLAIN
prints of the SQL block before it: all of it, or some of its paragraphs. ``python -m tests.docs.test_docs`` rewrites
those blocks and the list of options; the diff of the pages is what a reviewer reads.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import fields
from pathlib import Path
from textwrap import fill

import pytest

from punctual.clock import iso, span_text
from punctual.config import NOT_YET, Options
from punctual.engine.journal import Decisions
from punctual.explain.look import look_at
from punctual.kinds.program import compile_program
from punctual.store.codec import decode, encode

ROOT = Path(__file__).parent.parent.parent
TOP = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")]
PAGES = sorted([*TOP, ROOT / "benchmarks" / "README.md", *(ROOT / "docs").glob("*.md")])
MOST_CHARACTERS = 119
OPTIONS = re.compile(r"(<!-- options:.*?-->\n)(.*?)(<!-- end of options -->)", re.DOTALL)
EXPLAINED = re.compile(
    r"(<!-- explain (?P<kind>sharing|schedule)(?: with (?P<option>\w+) = (?P<value>\w+))? -->\n```\n)"
    r"(?P<shown>.*?)(?=```)",
    re.DOTALL,
)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_sql_block_compiles(page: Path) -> None:
    for block in blocks(page, "sql"):
        assert compile_program(block, base=str(ROOT)).statements


def test_there_is_sql_to_check() -> None:
    assert sum(len(blocks(page, "sql")) for page in PAGES) >= 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http") and not (page.parent / target).exists():
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_fit_into_a_window(page: Path) -> None:
    written = EXPLAINED.sub("", page.read_text())
    assert [line for line in written.splitlines() if len(line) > MOST_CHARACTERS] == []


def printed(text: str, found: re.Match[str]) -> str:
    """What EXPLAIN prints of the SQL block that stands before ``found``."""
    program = re.findall(r"```sql\n(.*?)```", text[: found.start()], re.DOTALL)[-1]
    options = {found["option"]: found["value"]} if found["option"] else {}
    look = look_at(program, str(ROOT), options, types=False)
    return look.schedule() if found["kind"] == "schedule" else look.sharing()


def as_printed(text: str, found: re.Match[str]) -> str:
    """The paragraphs that the block should show: those that begin as its own do."""
    paragraphs = {_title(paragraph): paragraph for paragraph in printed(text, found).strip("\n").split("\n\n")}
    shown = [_title(paragraph) for paragraph in found["shown"].strip("\n").split("\n\n")]
    return "\n\n".join(paragraphs.get(title, f"no longer printed: {title}") for title in shown) + "\n"


def _title(paragraph: str) -> str:
    """What stays the same of a paragraph when its content changes: its first word, and whether it is a timeline."""
    first = paragraph.splitlines()[0]
    return re.findall(r"[^\W\d]+", first)[0] + ("|" if "|" in first else "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_plans_are_as_printed(page: Path) -> None:
    text = page.read_text()
    for found in EXPLAINED.finditer(text):
        assert found["shown"] == as_printed(text, found), "run: python -m tests.docs.test_docs"


def test_there_are_plans_to_check() -> None:
    assert sum(len(EXPLAINED.findall(page.read_text())) for page in PAGES) >= 5


def test_the_record_of_the_journal_can_be_read() -> None:
    (block,) = (json.loads(b) for b in blocks(ROOT / "docs" / "state.md", "json") if '"cadence"' in b)
    assert json.loads(encode(decode(json.dumps(block).encode(), Decisions))) == block


def options_list() -> str:
    """Every option with its default, its meaning and what it accepts, then those that are not there yet."""
    lines = []
    for field in fields(Options):
        value = field.default
        if field.name.endswith("_us"):
            shown = "none" if value is None else span_text(int(value))  # type: ignore[call-overload]
        elif field.name == "earliest":
            shown = iso(int(value))[:10]
        elif isinstance(value, bool):
            shown = "on" if value else "off"
        else:
            shown = "none" if value is None else str(value)
        about = field.metadata
        lines.append(f"- `{about['name']}` ({shown}): {about['meaning']}. Accepts {about['accepts']}.")
    lines += ["", "Not there yet, and refused with `plan.not-yet`:", ""]
    lines += [f"- `{name}`: {meaning}" for name, meaning in NOT_YET.items()]
    lines += [
        f"- `{field.metadata['name']} = {word}`"
        for field in fields(Options)
        for word in field.metadata.get("not_yet", ())
    ]
    return "".join(fill(line, 118, subsequent_indent="  ", break_on_hyphens=False) + "\n" for line in lines)


def test_the_page_of_options_is_that_of_the_code() -> None:
    found = OPTIONS.search((ROOT / "docs" / "operations.md").read_text())
    assert found is not None
    assert found.group(2) == options_list(), "run: python -m tests.docs.test_docs"


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.spark] if "punctual.connect" in page.read_text() else [])
        for page in PAGES
        if blocks(page, "python")
    ],
)
def test_every_python_block_runs(page: Path) -> None:
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), {})


def rewrite() -> None:
    """Bring the pages up to date with the code."""
    for page in PAGES:
        text = page.read_text()
        plans = EXPLAINED.sub(lambda found, text=text: found[1] + as_printed(text, found), text)  # type: ignore[misc]
        page.write_text(OPTIONS.sub(lambda found: found[1] + options_list() + found[3], plans))


if __name__ == "__main__":
    rewrite()
    sys.exit(0)
