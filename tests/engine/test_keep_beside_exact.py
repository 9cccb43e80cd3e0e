"""``SET keep`` where a stream cannot be shed at ingest: its queries with QUALITY are answered from samples of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.explain.look import look_at
from punctual.kernel.sample import kept
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
STREAMS = """
CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING, x INT) FROM FILES 'in' FORMAT JSON;
CREATE STREAM other (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING, x INT) FROM FILES 'other' FORMAT JSON;
"""
QUALITY = "CREATE QUERY q AS SELECT max(x) AS n FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS QUALITY LINEAR;"
TABLE = QUALITY.replace("QUERY q", "QUERY t").replace("LINEAR", "(100% => 1, 60% => 0.5)")
EXACT = "CREATE QUERY exact AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS;"
WHOLE = QUALITY.replace("QUERY q", "QUERY whole").replace("LINEAR", "(100% => 1)")
BOTH = """
CREATE QUERY both AS SELECT max(x) AS n FROM s [RANGE 10 SECONDS] UNION ALL other [RANGE 10 SECONDS]
PERIOD 10 SECONDS QUALITY LINEAR;
"""
ELSEWHERE = QUALITY.replace("QUERY q", "QUERY elsewhere").replace("FROM s", "FROM other")
ROWS = 4_000


def rows_of() -> pa.Table:
    at = START + np.arange(ROWS) * 10_000 + 1
    return pa.table({
        "t": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
        "k": [f"k{number % 7}" for number in range(ROWS)],
        "x": pa.array(np.random.default_rng(5).permutation(ROWS), pa.int32()),
    })  # fmt: skip


def answers(folder: Path, program: str, options: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    (folder / "in").mkdir()
    (folder / "other").mkdir()
    rows = rows_of()
    times = [iso(int(at)) for at in rows.column("t").cast(pa.int64()).to_pylist()]
    plain = rows.set_column(0, "t", pa.array(times))
    (folder / "in" / "a.json").write_text("".join(json.dumps(row) + "\n" for row in plain.to_pylist()))
    engine = Engine(
        out=str(folder / "out"), base=str(folder), live=False, clock=ManualClock(START + 3600 * SECOND),
        options=options, backend=lambda: InProcess(2),
    )  # fmt: skip
    with engine:
        engine.sql(program)
        engine.run_once()
    return {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in (folder / "out").glob("*.jsonl")
    }


def test_a_query_beside_an_exact_one_uses_its_share(tmp_path: Path) -> None:
    found = answers(tmp_path, STREAMS + QUALITY + TABLE + EXACT, {"keep": "30%"})
    rows = rows_of()
    at = rows.column("t").cast(pa.int64()).to_numpy()
    assert len(found["q"]) == 3
    for answer, table, exact in zip(found["q"], found["t"], found["exact"], strict=True):
        ends = [np.datetime64(answer[end].rstrip("Z"), "us").astype(np.int64) for end in ("from", "at")]
        window = rows.filter(pa.array((at > ends[0]) & (at <= ends[1])))
        assert (exact["basis"], exact["kept"], exact["rows"]) == ("exact", 1.0, [{"n": window.num_rows}])
        for one, share in ((answer, 0.3), (table, 0.6)):
            assert (one["basis"], one["kept"]) == ("sample", share)
            said = one["sample"]["s"]
            used = window.filter(pa.array(kept(window, said["by"], said["salt"], said["share"])))
            assert one["rows"] == [{"n": max(used.column("x").to_pylist())}]


@pytest.mark.parametrize("options", [{}, {"keep": "100%"}, {"keep": "auto"}])
def test_without_a_share_nothing_is_answered_from_rows(options: dict[str, str], tmp_path: Path) -> None:
    assert look_at(STREAMS + QUALITY + EXACT, ".", options, types=False).plan.row_readers == ()


def answered(queries: str, columns: str = "") -> dict[str, str]:
    text = (STREAMS if not columns else STREAMS.replace("x INT", columns)) + queries
    return look_at(text, ".", {"keep": "30%"}, types=False).answered_from()


ROW_SAMPLES = "from rows, by the kernels of panes; samples of rows"


def test_check_says_from_what_it_is_answered() -> None:
    assert answered(QUALITY) == {"q": "from panes"}
    assert answered(QUALITY + TABLE) == {"q": "from panes", "t": "from panes"}
    assert answered(QUALITY + EXACT) == {"q": ROW_SAMPLES, "exact": "from panes"}
    assert answered(ELSEWHERE + QUALITY + EXACT)["elsewhere"] == "from panes"


def test_whoever_accepts_no_less_than_everything_keeps_a_stream_whole() -> None:
    """It is not sampled itself, so it stays with panes."""
    assert answered(QUALITY + WHOLE) == {"q": ROW_SAMPLES, "whole": "from panes"}


def test_a_stream_that_sparks_reader_reads_is_not_shed() -> None:
    assert answered(QUALITY, "x INT, more ARRAY<INT>") == {"q": ROW_SAMPLES}


def test_one_that_reads_rows_keeps_its_other_streams_whole_too() -> None:
    found = answered(BOTH + ELSEWHERE + EXACT)
    assert found == {
        "both": "from rows, by the kernels of panes; samples of rows, of each window by itself",
        "elsewhere": ROW_SAMPLES,
        "exact": "from panes",
    }


def test_explain_of_one_query_knows_the_others() -> None:
    text = STREAMS + QUALITY + EXACT
    (said,) = look_at(text + "EXPLAIN q;", ".", {"keep": "30%"}, types=False).explanations()
    assert f"answered {ROW_SAMPLES}" in said
    (said,) = look_at(text + "EXPLAIN q;", ".", {}, types=False).explanations()
    assert "answered from panes" in said


def test_the_engine_plans_what_explain_says(tmp_path: Path) -> None:
    """Also where the exact query comes later, and goes."""
    engine = Engine(
        base=str(tmp_path), live=False, clock=ManualClock(START), options={"keep": "30%"}, backend=lambda: InProcess(2)
    )
    (tmp_path / "in").mkdir()
    (tmp_path / "other").mkdir()
    with engine:
        engine.sql(STREAMS + QUALITY)
        engine.open()
        assert "RowAggregate" not in engine.explain("EXPLAIN SHARING")
        engine.sql(EXACT)
        assert set(engine._opened().core.programs.running.lifted) == {"q"}
        assert "RowAggregate" in engine.explain("EXPLAIN SHARING")
        engine.sql("DROP QUERY exact")
        assert not engine._opened().core.programs.running.lifted
