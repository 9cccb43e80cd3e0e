"""An answer that rests on all rows has the quality that its own table gives to 100 %, whatever it is answered with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
WORTH = {"": 1.0, "QUALITY LINEAR": 1.0, "QUALITY (100% => 0.9, 50% => 0.2)": 0.9, "QUALITY (100% => 0)": 0.0}
FORMS = {
    "n": "SELECT count(*) AS n FROM s [RANGE 10 SECONDS]",
    "rows": "SELECT x FROM s [RANGE 10 SECONDS] WHERE x > 3",
    "middle": "SELECT approx_percentile(x, 0.5) AS m FROM s [RANGE 10 SECONDS]",
}


@pytest.mark.parametrize("merge", ["auto", "rows"])
def test_exact_answers_say_what_all_rows_are_worth(merge: str, tmp_path: Path) -> None:
    queries = {f"{form}{n}": (worth, f"{text} PERIOD 5 SECONDS {quality}") for form, text in FORMS.items()
               for n, (quality, worth) in enumerate(WORTH.items())}  # fmt: skip
    engine = Engine(
        out=str(tmp_path), base=str(tmp_path), live=False, clock=ManualClock(START + 3600 * SECOND),
        options={"window_merge": merge}, backend=InProcess,
    )  # fmt: skip
    with engine:
        engine.sql("CREATE STREAM s (t TIMESTAMP EVENT TIME, x INT) FROM FEED")
        engine.sql("".join(f"CREATE QUERY {name} AS {text};" for name, (_worth, text) in queries.items()))
        engine.open()
        engine.feed("s", [(iso(START + second * SECOND), second % 7) for second in range(21)])
        engine.tick()
        engine.end()
    for name, (worth, _text) in queries.items():
        answers = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        assert len(answers) == 5
        assert {(one["basis"], one["quality"], one["kept"]) for one in answers} == {("exact", worth, 1.0)}


def test_a_window_of_which_nothing_was_left_out_is_no_sample(tmp_path: Path) -> None:
    """Its largest eight rows are used whatever the share: all of them where there are no more, or none."""
    sizes = [5, 0, 1, 60, 8, 0, 40, 1]
    engine = Engine(
        out=str(tmp_path), base=str(tmp_path), live=False, clock=ManualClock(START + 3600 * SECOND),
        options={"window_merge": "rows", "keep": "10%"}, backend=InProcess,
    )  # fmt: skip
    with engine:
        engine.sql("CREATE STREAM s (t TIMESTAMP EVENT TIME, x INT) FROM FEED")
        engine.sql("CREATE QUERY q AS SELECT count(*) FILTER (WHERE x > 1) AS n, sum(x) AS total FROM s "
                   "[RANGE 10 SECONDS] PERIOD 10 SECONDS QUALITY (100% => 1, 5% => 0.5)")  # fmt: skip
        engine.open()
        rows = [(START + window * 10 * SECOND + 1 + x, x) for window, size in enumerate(sizes) for x in range(size)]
        engine.feed("s", [(iso(at), x) for at, x in rows])
        engine.tick()
        engine.end()
    answers = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text().splitlines()]
    assert len(answers) == len(sizes) - 1, "the last one has no end"
    for size, answer in zip(sizes, answers):
        said = (answer["basis"], answer["kept"], answer["quality"] == 1.0)
        assert said == (("sample", 0.1, False) if size > 8 else ("exact", 1.0, True))
        assert ("sample" in answer) == (answer["error"] is not None) == (size > 8)
        if size <= 8:
            total = sum(range(size)) if size else None
            assert answer["rows"] == [{"n": max(0, size - 2), "total": total}]
