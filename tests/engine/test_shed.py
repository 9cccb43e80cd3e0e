"""Streams that are shed at ingest: cells, counts and dead letters, recomputed from raw lines with the public rule."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from punctual.clock import SECOND, ManualClock, instant_us, iso
from punctual.engine import engine as engine_module
from punctual.engine.batch import ingest
from punctual.engine.batch.ingest import LOOKED, _parts
from punctual.engine.batch.progress import BatchRecord
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead, read_status
from punctual.errors import PunctualError
from punctual.estimate.linear_cost import LinearCost
from punctual.kernel.sample import places
from punctual.kernel.sample.marks import strata
from punctual.ports.storage import PosixFiles
from punctual.runtime.backend import Backend, Tick
from punctual.store.products import Cells, from_ipc
from punctual.store.store import Store
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
SHARE = 0.3
STREAM = """
CREATE STREAM Trips (t TIMESTAMP EVENT TIME WATERMARK 1 SECOND, cab STRING, fare INT) FROM FILES 'in' FORMAT JSON;
"""
PLAIN_QUERY = """
CREATE QUERY fares AS SELECT cab, count(*) AS n, sum(fare) AS total FROM Trips [RANGE 10 SECONDS]
GROUP BY cab PERIOD 5 SECONDS QUALITY LINEAR;
"""
PLAIN = STREAM + PLAIN_QUERY
TWICE = """
CREATE QUERY twice AS SELECT lower(cab) AS cab, count(*) AS n, avg(fare * 2) - min(fare) AS twice, max(fare) AS most
FROM Trips [RANGE 10 SECONDS] GROUP BY lower(cab) PERIOD 5 SECONDS QUALITY LINEAR;
"""
DERIVED = STREAM + TWICE


def write(folder: Path, batch: int, rows: int = 400) -> list[str]:
    """A file of lines, of which some are not rows; its lines."""
    lines = []
    for number in range(rows):
        at = iso(START + batch * 4 * SECOND + number * 10_000)
        row = {"t": at, "cab": f"c{number % 3}", "fare": batch * rows + number}
        lines.append(json.dumps(row) if number % 50 else f"line {batch} {number} is no row")
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / f"{batch}.json").write_text("\n".join(lines) + "\n")
    return lines


def opened(folder: Path, program: str, keep: str | None, backend: Backend | None = None) -> Engine:
    options = {} if keep is None else {"keep": keep}
    engine = Engine(
        state=str(folder / "state"),
        base=str(folder),
        options=options,
        live=False,
        clock=ManualClock(START + 3600 * SECOND),
        backend=lambda: backend or InProcess(3),
    )
    engine.sql(program)
    engine.open()
    return engine


def store(folder: Path) -> Store:
    return Store.open(str(folder / "state"), PosixFiles(), readonly=True)


def tables(folder: Path) -> list[pa.Table]:
    """Cells of all units, batch by batch."""
    opened_store = store(folder)
    sections = [section for manifest in opened_store.manifests() for section in manifest.sections]
    return [from_ipc(opened_store.read(one)) for one in sections if isinstance(one.product, Cells)]


def kept_rows(lines: list[str], share: float) -> list[tuple[dict[str, Any], int]]:
    """The rows that are read and fit, each with its part of the sample."""
    place = places(pa.table({"line": lines}), ["line"], "trips")
    read = [(line, at) for line, at in zip(lines, place.tolist()) if at < share]
    return [(json.loads(line), int(32 * at / share)) for line, at in read if line.startswith("{")]


def check_cells(folder: Path, program: str, backend: Backend | None = None) -> None:
    """Cells of every unit by cab and part of the sample, against the lines of the files."""
    lines = [line for batch in range(3) for line in write(folder, batch)]
    engine = opened(folder, program, "30%", backend)
    while engine.tick(limit=1) is not None:
        pass
    engine.close()
    parts = Counter((row["cab"], group) for row, group in kept_rows(lines, SHARE))
    whole = Counter((row["cab"], 0) for row, _group in kept_rows(lines, SHARE))
    found: dict[int, Counter[tuple[str, int]]] = {}
    for table in tables(folder):
        said = strata(table.column("k1").to_numpy())
        assert set(said.weight.tolist()) == {1 / SHARE}
        counts = zip(table.column("k0").to_pylist(), said.group.tolist(), table.column("s0.n").to_pylist())
        for cab, group, count in counts:
            found.setdefault(table.num_columns, Counter())[cab, group] += count
    # Only what is computed of aggregates needs the parts of the sample.
    assert sorted(found.values(), key=len) == [whole] * (PLAIN_QUERY in program) + [parts] * (TWICE in program)
    shed = [manifest.read(BatchRecord).shed_rows["trips"] for manifest in store(folder).manifests()]
    assert sum(shed) == int((places(pa.table({"line": lines}), ["line"], "trips") >= SHARE).sum())


@pytest.mark.parametrize(
    "program", [PLAIN, DERIVED, PLAIN + TWICE], ids=["in the task", "through a projection", "both ways"]
)
def test_cells_are_those_of_the_kept_lines(program: str, tmp_path: Path) -> None:
    check_cells(tmp_path, program)


def test_what_is_shed_is_counted_apart(tmp_path: Path) -> None:
    lines = {batch: write(tmp_path, batch) for batch in range(3)}
    engine = opened(tmp_path, PLAIN, "30%")
    while engine.tick(limit=1) is not None:
        pass
    ledger = engine.ledger()
    engine.close()
    shed = {}
    for batch, several in lines.items():
        place = places(pa.table({"line": several}), ["line"], "trips")
        shed[batch] = int((place >= SHARE).sum())
    records = [manifest.read(BatchRecord) for manifest in store(tmp_path).manifests()]
    assert [record.shed_rows for record in records[:3]] == [{"trips": shed[batch]} for batch in range(3)]
    assert all(record.shares == {"trips": 3_000} for record in records[:3])
    status = read_status(str(tmp_path / "state"))["streams"]["trips"]
    everything = [line for several in lines.values() for line in several]
    place = places(pa.table({"line": everything}), ["line"], "trips")
    dead = [line for line, at in zip(everything, place) if at < SHARE and not line.startswith("{")]
    assert dead
    assert status["shed_rows"] == sum(shed.values())
    assert (status["accepted"], status["late_rows"]) == (len(kept_rows(everything, SHARE)), 0)
    assert sorted(letter["row"] for letter in read_dead(str(tmp_path / "state"), "trips")) == sorted(dead)
    ticks = ledger[ledger["record"] == "tick"]
    assert ticks["shed_rows"].tolist()[:3] == [shed[batch] for batch in range(3)]


class Dies(InProcess):
    """Its job of one batch does not come back."""

    def __init__(self, batch: int) -> None:
        super().__init__(2)
        self._left = batch

    def tick(self, tick: Tick) -> pa.Table:
        self._left -= 1
        if self._left < 0:
            raise RuntimeError("gone")
        return super().tick(tick)

    def alive(self) -> bool:
        return self._left >= 0


def test_a_batch_that_is_read_again_sheds_what_its_plan_says(tmp_path: Path) -> None:
    lines = {batch: write(tmp_path, batch) for batch in range(3)}
    engine = opened(tmp_path, PLAIN, "30%", Dies(1))
    engine.tick(limit=1)
    with pytest.raises(PunctualError):
        engine.tick(limit=1)
    engine.close()
    engine = opened(tmp_path, PLAIN, "100%")
    while engine.tick(limit=1) is not None:
        pass
    engine.close()
    records = [manifest.read(BatchRecord) for manifest in store(tmp_path).manifests()]
    place = places(pa.table({"line": lines[1]}), ["line"], "trips")
    assert [record.shares for record in records] == [{"trips": 3_000}, {"trips": 3_000}, {}]
    assert records[1].shed_rows == {"trips": int((place >= SHARE).sum())}
    assert records[2].shed_rows == {}


def test_one_exact_reader_makes_a_stream_unsheddable(tmp_path: Path) -> None:
    for batch in range(2):
        write(tmp_path, batch)
    engine = opened(tmp_path, PLAIN, "30%")
    engine.tick(limit=1)
    engine.sql("CREATE QUERY exact AS SELECT count(*) AS n FROM Trips [RANGE 10 SECONDS] PERIOD 5 SECONDS")
    engine.tick(limit=1)
    said = engine.explain("EXPLAIN SHARING")
    engine.close()
    assert "not shed at ingest: query exact reads it exactly" in said
    records = [manifest.read(BatchRecord) for manifest in store(tmp_path).manifests()]
    assert [record.shares for record in records] == [{"trips": 3_000}, {}]
    # Under ``keep`` the other query then reads rows, whose windows can be sampled: its cells end with the first batch.
    (marked,) = (table for table in tables(tmp_path) if "k1" in table.column_names)
    assert set(strata(marked.column("k1").to_numpy()).weight.tolist()) == {1 / SHARE}


def test_a_batch_that_is_read_whole_is_marked_so(tmp_path: Path) -> None:
    for batch in range(2):
        write(tmp_path, batch)
    engine = opened(tmp_path, PLAIN, "30%")
    engine.tick(limit=1)
    engine.close()
    engine = opened(tmp_path, PLAIN, None)
    engine.tick(limit=1)
    engine.close()
    weights = [set(strata(table.column("k1").to_numpy()).weight.tolist()) for table in tables(tmp_path)]
    assert weights == [{1 / SHARE}, {1.0}]


def answers(engine: Engine) -> list[tuple[str, dict[str, Any]]]:
    return [(block.query, answer) for block in engine.records() for answer in block.table.to_pylist()]


@pytest.mark.parametrize("program", [PLAIN, DERIVED], ids=["in the task", "through a projection"])
@pytest.mark.parametrize(
    ("options", "base", "restarts", "tasks"),
    [("SET placement = cluster;", 64, False, 3), ("", 2, False, 1), ("", 2, True, 5)],
    ids=["in shards", "compacted", "resumed"],
)
def test_answers_do_not_hang_on_where_cells_lie(
    program: str, options: str, base: int, restarts: bool, tasks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marks go with cells into shards, into a base, and into the next run."""

    def run(folder: Path, text: str, *, restart: bool, partitions: int) -> list[tuple[str, dict[str, Any]]]:
        folder.mkdir()
        backend = InProcess(partitions)
        monkeypatch.setattr(backend, "close", lambda: None)
        for batch in range(8):
            write(folder, batch, 100)
        engine = opened(folder, text, "30%", backend)
        while engine.tick(limit=1) is not None:
            if restart:
                engine.close()
                engine = opened(folder, text, "30%", backend)
        engine.end()
        found = answers(engine)
        engine.close()
        return found

    straight = run(tmp_path / "a", program, restart=False, partitions=2)
    monkeypatch.setattr(engine_module, "BATCHES_PER_BASE", base)
    assert run(tmp_path / "b", program + options, restart=restarts, partitions=tasks) == straight
    assert len(straight) > 4


def test_a_batch_of_which_nothing_is_left_goes_by(tmp_path: Path) -> None:
    """Equal lines share their fate; a stream that was shed whole has no event times, and holds nobody up."""
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"t": iso(START + batch * SECOND), "cab": "a", "fare": 1}) for batch in range(20)]
    place = places(pa.table({"line": lines}), ["line"], "trips")
    for batch, line in enumerate(lines):
        (tmp_path / "in" / f"{batch:02}.json").write_text((line + "\n") * 50)
    engine = opened(tmp_path, PLAIN, "30%")
    while engine.tick(limit=1) is not None:
        pass
    engine.end()
    engine.close()
    records = [manifest.read(BatchRecord) for manifest in store(tmp_path).manifests()]
    assert [record.shed_rows["trips"] for record in records[:20]] == [0 if at < SHARE else 50 for at in place]
    progress = records[-1].progress["trips"]
    assert (progress.accepted, progress.shed) == (50 * int((place < SHARE).sum()), 50 * int((place >= SHARE).sum()))


def test_without_shedding_nothing_is_marked_or_told(tmp_path: Path) -> None:
    write(tmp_path, 0)
    engine = opened(tmp_path, PLAIN.replace(" QUALITY LINEAR", ""), "30%")
    engine.tick()
    engine.close()
    (record,) = (manifest.read(BatchRecord) for manifest in store(tmp_path).manifests())
    assert (record.shares, record.shed_rows, record.progress["trips"].shed) == ({}, {}, 0)
    (table,) = tables(tmp_path)
    assert "k1" not in table.column_names


def test_answers_are_estimates_of_the_kept_lines(tmp_path: Path) -> None:
    lines = [line for batch in range(8) for line in write(tmp_path, batch, 100)]
    engine = opened(tmp_path, PLAIN, "30%")
    while engine.tick(limit=1) is not None:
        pass
    engine.end()
    found = answers(engine)
    engine.close()
    rows = [row for row, _group in kept_rows(lines, SHARE)]
    assert len(found) > 4
    for _query, answer in found:
        inside = [row for row in rows if answer["from"] < instant_us(row["t"]) <= answer["at"]]
        fares: dict[str, list[int]] = {}
        for row in inside:
            fares.setdefault(row["cab"], []).append(row["fare"])
        expected = [
            {"cab": cab, "n": round(len(some) / SHARE), "total": round(sum(some) / SHARE)}
            for cab, some in sorted(fares.items())
        ]
        assert (answer["rows"], answer["basis"], answer["kept"]) == (expected, "sample", SHARE)


COUNTS = """
CREATE QUERY counts AS SELECT count(*) AS n, max(fare) AS most FROM Trips [RANGE 2 SECONDS] PERIOD 2 SECONDS
QUALITY LINEAR;
CREATE QUERY groups AS SELECT cab, count(*) AS n, sum(fare) AS total FROM Trips [RANGE 2 SECONDS]
GROUP BY cab PERIOD 2 SECONDS QUALITY LINEAR;
"""


def fated(second: int, *, kept: bool, share: float = SHARE) -> str:
    """A line with a time in this second that is read of a batch that is shed to this share, or is not."""
    for fare in range(1000):
        line = json.dumps({"t": iso(START + second * SECOND + SECOND // 2), "cab": "a", "fare": fare})
        if (places(pa.table({"line": [line]}), ["line"], "trips")[0] < share) == kept:
            return line
    raise AssertionError("there is such a line")


def played(folder: Path, batches: list[tuple[str, int, str]]) -> dict[str, dict[int, Any]]:
    """Answers by query and second, of batches that are a line, so often, read under an option ``keep``.

    The engine begins anew where ``keep`` changes.
    """
    (folder / "in").mkdir(parents=True)
    found: dict[str, dict[int, Any]] = {}
    engine, now = None, ""
    for number, (line, times, keep) in enumerate(batches):
        if engine is None or keep != now:
            if engine is not None:
                found = merged(found, engine)
            engine, now = opened(folder, STREAM + COUNTS, keep), keep
        (folder / "in" / f"{number:02}.json").write_text((line + "\n") * times)
        while engine.tick(limit=1) is not None:
            pass
    assert engine is not None
    engine.end()
    return merged(found, engine)


def merged(found: dict[str, dict[int, Any]], engine: Engine) -> dict[str, dict[int, Any]]:
    for query, answer in answers(engine):
        found.setdefault(query, {})[(answer["at"] - START) // SECOND] = answer
    engine.close()
    return found


@pytest.mark.parametrize("base", [None, 1], ids=["batch by batch", "compacted"])
def test_a_window_of_which_no_row_is_left_is_a_sample(
    base: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row before and one after it are all that is left: whoever looks at cells alone takes it for empty."""
    if base is not None:
        monkeypatch.setattr(engine_module, "BATCHES_PER_BASE", base)
    batches = [
        (fated(0, kept=True), 1, "100%"),
        *((fated(second, kept=False), 50, "30%") for second in (4, 5)),
        *((fated(second, kept=True), 2, "100%") for second in (8, 14, 20)),
    ]
    found = played(tmp_path, batches)
    said = {
        query: {at: (answer["basis"], answer["kept"], answer["rows"]) for at, answer in by.items()}
        for query, by in found.items()
    }
    nothing = [{"n": 0, "most": None}]
    assert said["counts"][6] == ("sample", 0.3, nothing)
    assert said["groups"][6] == ("sample", 0.3, [])
    assert json.loads(found["counts"][6]["sample"]) == {
        "Trips": {"share": 0.3, "salt": "trips", "by": ["line"], "of": "lines"}
    }
    assert json.loads(found["counts"][6]["error"]) == {"n": {"confidence": None}, "most": {"confidence": None}}
    assert found["counts"][6]["quality"] == 0.3
    # A row at 8.5 is no more than a second before any that came earlier: nothing that was shed is after 9.5.
    basis, share, _rows = said["counts"][10]
    assert (basis, 0.3 < share < 1.0) == ("sample", True)
    assert json.loads(found["counts"][10]["sample"])["Trips"]["shares"] == [0.3, 1.0]
    assert json.loads(found["counts"][10]["error"])["n"] == {"confidence": None}
    assert said["counts"][12] == ("exact", 1.0, nothing)
    assert said["counts"][16] == ("exact", 1.0, [{"n": 2, "most": found["counts"][16]["rows"][0]["most"]}])
    assert said["groups"][12] == ("exact", 1.0, [])
    assert all("sample" not in by[16] or by[16]["sample"] is None for by in found.values())


def test_a_group_that_lost_all_its_rows_of_a_shed_batch_is_not_exact(tmp_path: Path) -> None:
    """Whole rows and shed ones in one window: what is kept is between, and nothing is said to be known."""
    batches = [
        (fated(0, kept=True), 1, "100%"),
        (fated(4, kept=True), 60, "100%"),
        (fated(5, kept=False), 60, "30%"),
        (fated(20, kept=True), 1, "100%"),
    ]
    found = played(tmp_path, batches)
    counts, groups = found["counts"][6], found["groups"][6]
    assert (counts["basis"], counts["rows"][0]["n"], groups["rows"][0]["n"]) == ("sample", 60, 60)
    assert counts["kept"] == groups["kept"] == (60 + 0.3 * 60) / 120
    assert json.loads(counts["sample"])["Trips"]["shares"] == [0.3, 1.0]
    assert json.loads(groups["error"])["n"] == {"confidence": None}


def test_shares_that_change_inside_a_window_are_named(tmp_path: Path) -> None:
    """Which rows were used follows from the shares: everybody's below the least, nobody's from the greatest on."""
    batches = [
        (fated(0, kept=True), 1, "20%"),
        (fated(4, kept=True, share=0.2), 40, "20%"),
        (fated(5, kept=True, share=0.2), 30, "50%"),
        (fated(8, kept=True, share=0.2), 30, "50%"),
        (fated(20, kept=True), 1, "50%"),
    ]
    found = played(tmp_path, batches)
    answer = found["counts"][6]
    kept = round(70 / (40 / 0.2 + 30 / 0.5), 12)
    assert (answer["rows"][0]["n"], answer["kept"]) == (260, kept)
    assert json.loads(answer["sample"])["Trips"] == {
        "share": kept, "shares": [0.2, 0.5], "salt": "trips", "by": ["line"], "of": "lines"
    }  # fmt: skip
    assert "shares" not in json.loads(found["counts"][10]["sample"])["Trips"]


def test_what_shedding_saves_is_measured_once_it_was_tried() -> None:
    counts = {"parts": 1.0, "kib": 1_000.0}
    whole = LinearCost.guessed(50_000.0, parts=1_000.0, kib=100.0)
    untried = _parts(whole, counts, 1_000.0, None)
    assert (round(untried.fixed, 3), untried.kept) == (round(51 / 151, 3), pytest.approx((1 - LOOKED) * 100 / 151))
    cheap = LinearCost.guessed(50_000.0, parts=1_000.0, kib=20.0, kept_kib=90.0)
    assert _parts(whole, counts, 1_000.0, cheap).kept == pytest.approx(80 / 151)
    dear = LinearCost.guessed(50_000.0, parts=1_000.0, kib=120.0, kept_kib=10.0)
    assert _parts(whole, counts, 1_000.0, dear).kept == 0.0
    shed = _parts(cheap, {**counts, "kept_kib": 250.0}, 250.0, None)
    assert shed.kept == pytest.approx(22.5 / (51 + 20 + 22.5))
    assert _parts(whole, counts, 0.0, cheap).kept == 0.0  # no stream can be shed


class Slow(InProcess):
    """A job takes time by the clock: for a look at every byte, and four times that for every byte that is kept."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock

    def tick(self, tick: Tick) -> pa.Table:
        us = sum(one.slice.size * (10_000 + 4 * one.share) // 10_000 for one in tick.work)
        self._clock.sleep(us)
        self.core_time.add(us)
        return super().tick(tick)


def test_shedding_begins_and_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large batches that take longer than a tick, then small ones: what plans and manifests say of them.

    A byte costs hundreds of times what it does, so that files may be small; first guesses know it.
    """
    monkeypatch.setattr(ingest, "READING", LinearCost.guessed(60_000.0, parts=2_000.0, kib=4_000.0))
    shed_guess = LinearCost.guessed(60_000.0, parts=2_000.0, kib=1_000.0, kept_kib=4_000.0)
    monkeypatch.setattr(ingest, "READING_SHED", shed_guess)
    clock = ManualClock(START)
    backend = Slow(clock)
    told: list[str] = []
    (tmp_path / "in").mkdir()
    engine = Engine(
        state=str(tmp_path / "state"), base=str(tmp_path), clock=clock, backend=lambda: backend, report=told.append
    )
    engine.sql(PLAIN)
    engine.open()
    for batch in range(14):
        write(tmp_path, batch, 6_000 if 3 <= batch < 8 else 400 + 50 * batch)
        engine.tick()
        clock.sleep(SECOND)
    engine.close()
    records = [manifest.read(BatchRecord) for manifest in store(tmp_path).manifests()]
    shares = [record.shares.get("trips", 10_000) for record in records if record.slices]
    assert shares[:5] == [10_000] * 5  # the second long batch is the reason
    assert all(share < 10_000 for share in shares[5:9])
    assert {share % 625 for share in shares} == {0}
    assert shares[-1] == 10_000
    assert any("is shed at ingest" in one for one in told)
    assert any("all of its rows are read again" in one for one in told)
    assert all(record.shed_rows.get("trips", 0) > 0 for record in records if record.shares)


@pytest.mark.parametrize("kind", ["CSV", "PARQUET", "RATE"])
def test_every_format_is_shed(kind: str, tmp_path: Path) -> None:
    source = "RATE 10 PER SECOND LIMIT 1000 ROWS" if kind == "RATE" else f"FILES 'in' FORMAT {kind}"
    columns = "ts TIMESTAMP EVENT TIME, value BIGINT"
    numbers = pa.array(range(1000), pa.int64())
    path = tmp_path / "in" / f"0.{kind.lower()}"
    (tmp_path / "in").mkdir()
    times = [START + n * SECOND // 10 for n in range(1000)]
    table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "value": numbers})
    if kind == "PARQUET":
        pq.write_table(table, path, row_group_size=300)
        position = pa.table({"path": [str(path)] * 1000, "row": numbers})
    elif kind == "CSV":
        lines = [f"{iso(at)},{n}" for n, at in enumerate(times)]
        path.write_text("ts,value\n" + "\r\n".join(lines))
        position = pa.table({"line": lines})
    else:
        position = pa.table({"value": numbers})
    program = f"""
        CREATE STREAM Many ({columns}) FROM {source};
        CREATE QUERY q AS SELECT max(value) AS m FROM Many [RANGE 10 SECONDS] PERIOD 10 SECONDS QUALITY LINEAR;
    """
    engine = opened(tmp_path, program, "30%")
    while engine.tick() is not None:
        pass
    engine.end()
    said = [json.loads(answer["sample"])["Many"]["by"] for _query, answer in answers(engine)]
    engine.close()
    assert set(map(tuple, said)) == {tuple(position.column_names)}
    kept = int((places(position, position.column_names, "many") < SHARE).sum())
    status = read_status(str(tmp_path / "state"))["streams"]["many"]
    assert (status["accepted"], status["shed_rows"]) == (kept, 1000 - kept)
