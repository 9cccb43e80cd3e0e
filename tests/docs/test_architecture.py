"""ARCHITECTURE.md is what stands: its table of rooms is the one that is checked, and pages name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_rooms import BASE, MAY, SRC

ROOT = SRC.parent.parent
GUIDES = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "life_of_a_query.md"]


def rooms() -> dict[str, set[str]]:
    """The table of rooms: what each may import."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text[text.index("| room |") :].split("\n\n")[0].splitlines()[2:]
    found: dict[str, set[str]] = {}
    for row in table:
        name, _what, may = (cell.strip() for cell in row.strip("|").split("|"))
        everybody = set(found) if may == "all above" else set(may.split(", ")) - {"-"}
        found[name.strip("`")] = everybody
    return found


def test_the_table_of_rooms_is_the_one_that_is_checked() -> None:
    assert rooms() == {room: may for room, may in MAY.items() if room not in BASE}


def test_the_table_lists_what_stands() -> None:
    there = {path.stem for path in SRC.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert set(rooms()) | BASE == there - {"__init__"}


def named_files(page: Path) -> set[str]:
    """Names of files and folders in backquotes: those that end in ``.py`` or a slash, or have a slash within."""
    quoted = re.findall(r"`([\w./]+)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL))
    return {name for name in quoted if name.endswith((".py", "/")) or re.fullmatch(r"\w+(/\w+)+(\.\w+)?", name)}


def stands(name: str) -> bool:
    """Whether there is such a file: from the root, from the source, or, where only its name is given, anywhere."""
    return (ROOT / name).exists() or (SRC / name).exists() or ("/" not in name and any(SRC.rglob(name)))


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_every_file_that_a_guide_names_exists(page: Path) -> None:
    assert len(named_files(page)) > 10
    assert {name for name in named_files(page) if not stands(name)} == set()
