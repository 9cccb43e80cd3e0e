"""Compile the kernels once, into their cache on disk: ``python -m punctual.kernel.warm``.

Runs every synopsis over a handful of rows, with keys, bands, merges and windows, draws a sample, plans a cadence, ranks
uncertain rows, draws a few worlds and reads a few lines, so that neither the first program on a machine nor the Python
workers of its Spark compile anything.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from punctual.kernel.arrays.row_hashes import stretch_hashes
from punctual.kernel.arrays.row_order import row_order
from punctual.kernel.cadence import plateaus, runs_inside
from punctual.kernel.draw.warm_draw import warm_draw
from punctual.kernel.panes.layout import progressions_for
from punctual.kernel.panes.lift import lift, merge
from punctual.kernel.panes.panes import Panes
from punctual.kernel.panes.spec import Band, Call, Comparison, Reader, SynopsisSpec, UnitSpec
from punctual.kernel.sample import places, places_of
from punctual.kernel.sample.exact_counts import of_poisson_sample, of_simple_sample
from punctual.kernel.sample.quantiles import student_t
from punctual.kernel.text.csv_fields import mark_lines, split_lines
from punctual.kernel.text.gather import gather_bytes, offsets_of
from punctual.kernel.text.numbers import booleans, decimals, doubles, integers
from punctual.kernel.text.times import dates, times
from punctual.kernel.text.warm_json import warm_json
from punctual.kernel.text.whole_lines import NO_COMMENT, find_lines, join_lines
from punctual.kernel.world import Wanted, candidates, rank_together
from punctual.kernel.world.steady import steady

ROWS = 64
SHARDS = 2
CALLS: tuple[tuple[str, tuple[object, ...], str, tuple[object, ...]], ...] = (
    ("count", (), "count", ()),
    ("sum", (), "sum", ()),
    ("sum", (), "avg", ()),
    ("moments", (), "stddev_samp", ()),
    ("minimum", (), "min", ()),
    ("maximum", (), "max", ()),
    ("first", (), "first", ()),
    ("last", (), "last", ()),
    ("values", (8,), "approx_percentile", (0.5,)),
    ("distinct", (9,), "approx_count_distinct", ()),
)


def warm() -> int:
    """Compile everything that programs use; how many answers it took."""
    times = np.arange(ROWS, dtype=np.int64) * 250_000
    columns = {
        "k": pa.array([f"k{i % 3}" for i in range(ROWS)]),
        "d": pa.array(np.linspace(-5.0, 90.0, ROWS)),
        "i": pa.array(np.arange(ROWS, dtype=np.int32)),
        "s": pa.array([f"v{i % 7}" for i in range(ROWS)]),
    }
    answers = 0
    one, two = (Band("d", "number", (10.0, 50.0)),), (Band("s", "label", ("v1",)), Band("i", "number", (7,)))
    for keys in ((), ("k",)):
        for bands in ((), one, two):
            for column in ("d", "i", "s"):
                answers += _unit(keys, bands, column, times, columns)
    answers += _rows(times, columns) + _sample() + _cadence() + _world() + _csv() + _shed()
    return answers + warm_json() + warm_draw()


def _unit(
    keys: tuple[str, ...],
    bands: tuple[Band, ...],
    column: str,
    times: np.ndarray[tuple[int], np.dtype[np.int64]],
    columns: dict[str, pa.Array],
) -> int:
    numeric = ("sum", "moments", "values")
    calls = [call for call in CALLS if column != "s" or call[0] not in numeric]
    windows = [(4_000_000, 1_000_000), (3_000_000, 700_000)]
    synopses = (SynopsisSpec("rows"), *(SynopsisSpec(kind, column, parameters) for kind, parameters, _f, _p in calls))
    spec = UnitSpec(keys, None, bands, progressions_for(windows), synopses, ("i",))
    panes = Panes(spec, SHARDS)
    half = ROWS // 2
    parts = [
        lift(spec, times[a:b], {name: array.slice(a, b - a) for name, array in columns.items()}, SHARDS)
        for a, b in ((0, half), (half, ROWS))
    ]
    panes.add(merge(parts, spec))
    panes.seal(int(times[-1]) - 1_000_000)
    everything = tuple(() for _ in bands)
    narrow = tuple((Comparison("<>" if band.kind == "label" else ">", band.cuts[:1]),) for band in bands)
    asked = [
        Call(function, index + 1, parameters, narrow if index % 2 else everything)
        for index, (_kind, _p, function, parameters) in enumerate(calls)
    ]
    readers = [
        Reader(everything, length, np.arange(step, int(times[-1]) - 1_000_000, step, dtype=np.int64), tuple(asked))
        for length, step in windows
    ]
    answers = sum(int(answered.instant.size) for answered in panes.answer(readers))
    panes.drop(int(times[half]))
    panes.export()
    return answers


def _rows(times: np.ndarray[tuple[int], np.dtype[np.int64]], columns: dict[str, pa.Array]) -> int:
    """Rows in their order, with columns of every width."""
    wide = columns["i"].cast(pa.decimal128(20, 2))
    return row_order([*columns.values(), wide], times).size


def _sample() -> int:
    """Places of rows, some of them equal, and intervals."""
    rows = pa.table({"i": np.arange(ROWS) // 2})
    few = np.arange(4, dtype=np.int64)
    of_simple_sample(few, few + 5, few + 9)
    of_poisson_sample(few, np.full(4, 0.5))
    return places(rows, "row", "").size + student_t(few).size


def _cadence() -> int:
    bounds, costs = np.array([7, 9, 30], np.int64), np.array([2, 3, 5], np.int64)
    gap = int(bounds[-1])
    found = [plateaus(bounds, costs, gap, gap * gap, dense) for dense in (True, False)]
    return sum(runs_inside(bounds, costs, ends, values, gap)[0].size for ends, values, _pieces in found)


def _csv() -> int:
    """A line of CSV, and its fields as every type; casts also get buffers that cannot be written to."""
    line = b"2020-01-02 03:04:05,1.5\n"
    data = np.frombuffer(line, np.uint8).copy()
    starts, lengths = np.zeros((2, 1), np.int64), np.zeros((2, 1), np.int32)
    lines, states = np.zeros((1, 2), np.int64), np.zeros(1, np.uint8)
    count, _widest = split_lines(data, 0, 44, 34, 34, 256, np.arange(2), starts, lengths, lines, states)
    mark_lines(data, lines, count, True, states)
    for readable in (data, np.frombuffer(line, np.uint8)):
        time, number = ((readable, starts[field], lengths[field], lengths[field] > 0) for field in range(2))
        wide, days, zones = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int32)
        times(*time, False, wide, days, zones, states)
        dates(*time, zones, states)
        integers(*number, 127, wide, states)
        doubles(*number, 250, np.zeros(1), states)
        decimals(*number, 5, 2, np.zeros(2, np.uint64), states)
        booleans(*number, np.zeros(1, np.bool_), states)
        offsets = np.zeros(2, np.int32)
        offsets_of(number[2], number[3], offsets)
        gather_bytes(readable, number[1], offsets, np.zeros(3, np.uint8))
    return count


def _shed() -> int:
    """Lines that are found, hashed and put together again."""
    data = np.frombuffer(b"a\n\nb\n", np.uint8)
    starts, ends = np.zeros(3, np.int64), np.zeros(3, np.int64)
    count = find_lines(data, 0, np.zeros(256, np.uint8), NO_COMMENT, starts, ends)
    kept = places_of(stretch_hashes(data, starts[:count], ends[:count]), "s", ordinals=False) < 1.0
    return join_lines(data, starts[:count], ends[:count], kept, np.zeros(data.size, np.uint8))


def _world() -> int:
    """Every ranking, over independent rows, over light rules and over heavy ones."""
    rules = np.arange(ROWS) // 4
    numbers = {"PT": (0.1,), "PRF": (1.0, 0.5), "PRFE": (0.5,)}
    names = ("PK", "PT", "U_KRANKS", "U_TOPK", "EXPECTED_RANK", "PRF", "PRFE", "STREAMS", "STREAMS_EXCLUSIVE")
    wanted = [Wanted(name, 3, numbers.get(name, ())) for name in names]
    answers = steady(rules[:3], rules, np.linspace(0.9, 0.1, ROWS), k=3, margin=0.05).size
    for prob, rule in ((np.full(ROWS, 0.2), None), (np.full(ROWS, 0.1), rules), (np.full(ROWS, 0.24), rules)):
        answers += len(rank_together(prob, rule, rules, wanted))
        answers += int(candidates(np.arange(ROWS, 0, -1), prob, rule, k=3).sum())
    return answers


if __name__ == "__main__":
    warm()
