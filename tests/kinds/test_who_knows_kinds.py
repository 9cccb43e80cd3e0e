"""Nothing outside a kind asks which kind a query is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from punctual.kernel.synopses.synopsis import SIZED
from punctual.kinds import registry
from punctual.plan.functions import SYNOPSES

SRC = Path(registry.__file__).parent.parent
AT_HOME = ("kinds/", "plan/")
PARSER = ("sql/parse_query.py", "sql/statement.py")
"""Syntax is read here, whatever it will mean."""
KERNEL = ("kernel/",)
"""The kernel has synopses of its own, and knows no queries."""
BODIES = "|".join(kind.body.__name__ for kind in registry.KINDS)


@pytest.mark.parametrize(("what", "besides"), [
    (r"\.top\b", PARSER),
    (r"isinstance\([^)]*\bbody\b", ()),
    (r"\bquery\.body\b", ("sql/bind_query.py",)),
    (r"""["']world["']""", KERNEL),
    (rf"\b({BODIES})(Kind)?\b", KERNEL),
])
def test_nobody_asks(what: str, besides: tuple[str, ...]) -> None:
    asking = [
        f"{path.relative_to(SRC)}:{number}: {line.strip()}"
        for path in sorted(SRC.rglob("*.py"))
        if not str(path.relative_to(SRC)).startswith((*AT_HOME, *besides))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if re.search(what, line)
    ]
    assert asking == []


def test_kinds_do_not_know_each_other() -> None:
    folders = sorted(path.name for path in (SRC / "kinds").iterdir() if (path / "kind.py").exists())
    assert len(folders) == len(registry.KINDS)
    for folder in folders:
        others = [other for other in folders if other != folder]
        text = "".join(path.read_text() for path in (SRC / "kinds" / folder).glob("*.py"))
        assert not re.search(rf"punctual\.kinds\.({'|'.join(others)})\b", text)


def test_kinds_know_of_the_data_plane_only_what_it_is_asked() -> None:
    texts = [path.read_text() for path in (SRC / "kinds").rglob("*.py")]
    used = {module for text in texts for module in re.findall(r"from punctual\.runtime\.?([\w.]*) import", text)}
    assert used == {"backend"}


def test_the_kernel_and_the_plan_agree_on_what_has_a_size() -> None:
    assert {kind for kind, laws in SYNOPSES.items() if laws.sized} == SIZED
