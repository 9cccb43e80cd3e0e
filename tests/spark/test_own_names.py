"""Names like ours on Spark: in files of every format, in tables, aliases and derived columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from punctual.clock import ManualClock
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead
from punctual.errors import BindError
from tests.engine.test_own_names import NAMES, START, answers_of, csv_of, played, program, rows_of, twin

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def write(folder: Path, names: list[str], kind: str) -> None:
    rows = rows_of(names)[:-1]
    match kind:
        case "JSON":
            (folder / "a").write_text("".join(json.dumps(row) + "\n" for row in rows))
        case "JSON in one":
            (folder / "a").write_text(json.dumps(rows, indent=1))
        case "CSV":
            header = ",".join('"' + name.replace('"', '""') + '"' for name in names)
            lines = [",".join(str(row[name]) for name in names) for row in rows]
            (folder / "a").write_text("\n".join([header, *lines]) + "\n")
        case _:
            pq.write_table(pa.Table.from_pylist(rows), folder / "a")


def from_files(folder: Path, names: list[str], alias: str, kind: str, options: str) -> dict[str, Any]:
    (folder / "rows").mkdir(parents=True)
    write(folder / "rows", names, "JSON in one" if options else kind)
    (folder / "lanes.csv").write_text(csv_of(names))
    said: list[str] = []
    place = {"base": str(folder), "clock": ManualClock(START), "report": said.append}
    with Engine(str(folder / "state"), live=False, **place) as engine:
        engine.sql(program(names, source=f"FROM FILES 'rows' FORMAT {kind} {options}", alias=alias))
        engine.run_once()
        assert said == []
        assert list(read_dead(str(folder / "state"), None)) == []
        return answers_of(engine)


@pytest.mark.parametrize(
    ("kind", "options"), [("JSON", ""), ("JSON", "OPTIONS (multiLine 'true')"), ("CSV", ""), ("PARQUET", "")]
)
def test_names_like_ours_in_files(tmp_path: Path, kind: str, options: str) -> None:
    plain = from_files(tmp_path / "plain", twin(NAMES), "lane", kind, options)
    odd = from_files(tmp_path / "odd", NAMES, NAMES[1], kind, options)
    assert odd == plain


def test_names_like_ours_in_rows_that_are_fed(tmp_path: Path) -> None:
    plain, reasons = played(tmp_path / "plain", twin(NAMES), "lane", None)
    turned = [*NAMES[7:], *NAMES[:7]]
    odd, told = played(tmp_path / "odd", turned, turned[1], None)
    assert odd == plain
    assert told == [reason.replace("col0", turned[0]) for reason in reasons]


def test_a_frame_with_control_characters_in_a_name_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.readStream.format("rate").load().withColumnRenamed("value", "\x1ftime")
    engine = Engine(str(tmp_path / "state"))
    with pytest.raises(BindError) as refused:
        engine.stream("s", frame, event_time="timestamp")
    assert refused.value.code == "parse.bad-name"
