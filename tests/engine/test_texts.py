"""Text in a query comes out as it was written, whatever it looks like, and beside columns and aliases like ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.runtime.backend import Backend
from tests.inprocess.backend import InProcess

START = 1_699_999_978 * SECOND
TEXTS = {
    "'`a0`'": "`a0`",
    "'`\x1fa0` \x1fk0'": "`\x1fa0` \x1fk0",
    "'`k0` AS `at`'": "`k0` AS `at`",
    "' AS x, p0'": " AS x, p0",
    r"'it\'s 5 > 3'": "it's 5 > 3",
    r"'a\\b\'c'": r"a\b'c",
    '"double `p0`"': "double `p0`",
    "'`double#0` 2.5'": "`double#0` 2.5",
}
"""Literals of Spark SQL, and what they mean."""


def program(literals: list[str]) -> str:
    written = [*(f"concat(a0, {one}) AS t{number}" for number, one in enumerate(literals)),
               f"concat('n', sum(k0) + 5, {literals[0]}) AS p0", "max(k0) * 2 AS a0", "a0 AS k0", "now() AS at"]
    return f"""
    CREATE STREAM s (at TIMESTAMP EVENT TIME, a0 STRING, k0 INT, p0 INT) FROM FEED;
    CREATE QUERY q AS SELECT {', '.join(written)} FROM s [RANGE 1 MINUTE] WHERE p0 > 0 AND concat(a0, '`a0`') <> '`a0`'
        GROUP BY a0 HAVING concat(s.a0, {literals[0]}) <> 'k0' ORDER BY concat(s.a0, {literals[1]}) DESC
        PERIOD 1 MINUTE;
    CREATE QUERY r AS SELECT concat(a0, {literals[0]}) AS a0, count(*) AS n FROM s [RANGE 1 MINUTE]
        GROUP BY concat(a0, {literals[0]}) PERIOD 1 MINUTE;
    """


def rows_of_answers(folder: Path, text: str, backend: Callable[[], Backend] | None) -> dict[str, list[dict[str, Any]]]:
    """The rows of every query's one answer."""
    said: list[str] = []
    with Engine(
        str(folder / "state"), clock=ManualClock(START), backend=backend, live=False, report=said.append
    ) as engine:
        engine.sql(text)
        engine.open()
        engine.feed("s", [
            {"at": iso(START + second * SECOND), "a0": kind, "k0": second, "p0": 1}
            for second, kind in enumerate(["x", "y", "x"])
        ])
        engine.tick()
        engine.end()
        assert said == []
        return {name: engine.answers(name).to_dict("records") for name in "qr"}


def check(folder: Path, texts: dict[str, str], backend: Callable[[], Backend] | None) -> None:
    answers = rows_of_answers(folder, program(list(texts)), backend)
    meant = list(texts.values())
    for row, (kind, total, most) in zip(answers["q"], [("y", 1, 1), ("x", 2, 2)], strict=True):
        assert [row[f"t{number}"] for number in range(len(meant))] == [kind + text for text in meant]
        assert (row["k0"], row["a0"], row["p0"]) == (kind, 2 * most, f"n{total + 5}{meant[0]}")
    assert [(row["a0"], row["n"]) for row in answers["r"]] == [(f"x{meant[0]}", 2), (f"y{meant[0]}", 1)]


def test_text_comes_out_as_written(tmp_path: Path) -> None:
    check(tmp_path, TEXTS, InProcess)
