"""Answers recomputed from the rows, a window at a time, in NumPy: a fast wrong answer fails the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.workload import Window

Answers = Mapping[int, Mapping[str | None, tuple[float, float]]]
"""By instant (microseconds) and key: average and greatest value."""

SAMPLED_INSTANTS = 12


def check(rows: pa.Table, window: Window, given: Answers, *, every_instant: bool = True) -> int:
    """Compare some answers of a window with the rows; how many cells were compared. Raises AssertionError.

    ``every_instant`` says that the answers must hold every instant up to the last event time.
    """
    times = rows.column("ts").cast(pa.int64()).to_numpy()
    slide = window.slide_s * 1_000_000
    first, last = -(-int(times[0]) // slide), int(times[-1]) // slide
    wanted = [number * slide for number in range(first, last + 1)]
    if every_instant:
        missing = [at for at in wanted if at not in given]
        assert not missing, f"{len(missing)} of {len(wanted)} instants of {window} were not answered"
    else:
        wanted = [at for at in wanted if at in given]
    assert wanted, f"no instant of {window} was answered"
    sample = [wanted[int(i)] for i in np.linspace(0, len(wanted) - 1, min(SAMPLED_INSTANTS, len(wanted)))]
    compared = 0
    for at in sample:
        begin, end = np.searchsorted(times, [at - window.range_s * 1_000_000, at], side="right")
        told = recomputed(rows.slice(begin, end - begin), window, grouped=None not in given[at])
        assert told.keys() == given[at].keys(), f"{window} at {at}: other keys"
        for key, (average, greatest) in told.items():
            got = given[at][key]
            close = abs(got[0] - average) <= 1e-9 * abs(average) and got[1] == greatest
            assert close, f"{window} at {at}, {key}: {got} and not {(average, greatest)}"
            compared += 1
    return compared


def recomputed(rows: pa.Table, window: Window, *, grouped: bool) -> dict[str | None, tuple[float, float]]:
    """Average and greatest value of the rows that the window looks at."""
    if window.where:
        rows = rows.filter(_condition(window.where))
    values = rows.column("v").to_numpy()
    if not grouped:
        return {None: (float(values.mean()), float(values.max()))}
    encoded = rows.column("k").combine_chunks().dictionary_encode()
    codes, names = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
    return {
        name: (float(values[codes == code].mean()), float(values[codes == code].max()))
        for code, name in enumerate(names)
    }


def _condition(text: str) -> pc.Expression:
    column, operator, constant = text.split(" ", 2)
    value: Any = constant.strip("'") if constant.startswith("'") else float(constant)
    compare: dict[str, Callable[[pc.Expression, Any], pc.Expression]] = {
        ">": lambda a, b: a > b,
        "=": lambda a, b: a == b,
    }
    return compare[operator](pc.field(column), value)


def from_blocks(blocks: Iterable[pa.Table]) -> Answers:
    """Answers of one query from its tables of answers."""
    found: dict[int, dict[str | None, tuple[float, float]]] = {}
    for table in blocks:
        for at, rows in zip(table.column("at").to_pylist(), table.column("rows").to_pylist()):
            found[at] = {row.get("k"): (row["a"], row["m"]) for row in rows if row["a"] is not None}
    return found
