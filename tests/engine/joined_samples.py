"""A program of joins with QUALITY, rows for it, and its answers worked out from the raw rows by the public rule.

Nothing of the engine is used but the rule (``kernel/sample/rule.py``) and what answers say under ``sample``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from punctual.clock import SECOND, ManualClock, instant_us, iso
from punctual.engine.engine import Engine
from punctual.kernel.sample import kept
from punctual.runtime.backend import Backend

START = 1_700_000_000 * SECOND
SECONDS = 60
STREAMS = """
CREATE STREAM trades (t TIMESTAMP EVENT TIME, k STRING, j INT, x DOUBLE) FROM FEED;
CREATE STREAM quotes (t TIMESTAMP EVENT TIME, k STRING, j BIGINT, y DOUBLE) FROM FEED;
CREATE TABLE owners (id STRING, owner STRING) FROM FILES 'owners.csv' FORMAT CSV;
"""
OWNERS = {"k0": "ann", "k1": "ben", "k2": "ann", "k3": "ben", "k4": "ann"}
NAMES = {"trades": ("t", "k", "j", "x"), "quotes": ("t", "k", "j", "y")}
TYPES = {"t": pa.timestamp("us"), "k": pa.string(), "j": pa.int64(), "x": pa.float64(), "y": pa.float64()}

Row = tuple[Any, ...]
Rows = Mapping[str, Sequence[Row]]


def fed(seed: int = 1, per_second: int = 24) -> dict[str, list[Row]]:
    """Rows of a minute: keys of some skew, some NULL, in both streams; values with a long tail, some NULL."""
    rng = Random(seed)
    found: dict[str, list[Row]] = {}
    for stream in NAMES:
        rows = []
        for number in range(SECONDS * per_second):
            at = START + number * SECOND // per_second + rng.randrange(1_000)
            key = None if rng.random() < 0.05 else f"k{int(rng.paretovariate(0.7)) % 60}"
            value = None if rng.random() < 0.05 else round(rng.lognormvariate(1.0, 0.7), 3)
            rows.append((at, key, None if rng.random() < 0.05 else rng.randrange(12), value))
        found[stream] = rows
    return found


def answers(
    folder: Path, backend: Callable[[], Backend], queries: Mapping[str, str], options: Mapping[str, str], rows: Rows
) -> dict[str, list[dict[str, Any]]]:
    """The answers of queries over rows that are fed in three batches, by query."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "owners.csv").write_text("id,owner\n" + "".join(f"{k},{o}\n" for k, o in OWNERS.items()))
    engine = Engine(
        str(folder / "state"), str(folder / "out"), backend=backend, live=False, options=dict(options),
        clock=ManualClock(START + 3600 * SECOND), base=str(folder),
    )  # fmt: skip
    engine.sql(STREAMS + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in queries.items()))
    engine.open()
    with engine:
        for part in range(3):
            for stream, several in rows.items():
                size = -(-len(several) // 3)
                engine.feed(stream, [(iso(row[0]), *row[1:]) for row in several[part * size : (part + 1) * size]])
            engine.tick()
        engine.end()
        assert engine.stopped() == frozenset(), engine.status()
    files = sorted((folder / "out").glob("*.jsonl"))
    return {file.stem: [json.loads(line) for line in file.read_text().splitlines()] for file in files}


def in_window(rows: Rows, stream: str, at: str, seconds: int) -> list[Row]:
    """The rows of a stream's window."""
    end = instant_us(at)
    return [row for row in rows[stream] if end - seconds * SECOND < row[0] <= end]


def weighed(rows: Sequence[Row], stream: str, sample: Mapping[str, Any]) -> list[tuple[Row, float]]:
    """The rows of a window that are in a sample by row, with what each of them stands for: those from a magnitude on
    for themselves, the others for N/n. By key rows have no weight of their own.
    """
    if not rows:
        return []
    names = NAMES[stream]
    table = pa.table({name: pa.array([row[i] for row in rows], TYPES[name]) for i, name in enumerate(names)})
    share = sample["share"]
    chosen = kept(table, sample["by"], sample["salt"], share).tolist()
    if sample["by"] != "row":
        return [(row, 1.0) for row, is_kept in zip(rows, chosen) if is_kept]
    bounds = [(names.index(name), least) for name, least in sample.get("certain", {}).items()]
    certain = [any(row[i] is not None and abs(row[i]) >= least for i, least in bounds) for row in rows]
    drawn = sum(is_kept and not sure for is_kept, sure in zip(chosen, certain))
    weight = certain.count(False) / max(1, drawn)
    return [
        (row, 1.0 if sure else weight) for row, is_kept, sure in zip(rows, chosen, certain) if is_kept or sure
    ]


def whole(rows: Sequence[Row]) -> list[tuple[Row, float]]:
    """All rows, each of which stands for itself."""
    return [(row, 1.0) for row in rows]


Weighed = Sequence[tuple[Row, float]]


def pairs(left: Weighed, right: Weighed, matches: Callable[[Row, Row], bool]) -> Iterator[tuple[Row, Row, float]]:
    """Every pair that matches, with what it stands for."""
    for one, weight in left:
        for other, further in right:
            if matches(one, other):
                yield one, other, weight * further


def answered_pairs(
    rows: Rows, answer: Mapping[str, Any], windows: Mapping[str, tuple[str, int]], matches: Callable[[Row, Row], bool]
) -> list[tuple[Row, Row, float]]:
    """The pairs that an answer rests on: those of its samples, which it names, or all there are.

    ``windows`` has the stream and the length of each of the two windows, by its name in FROM. By key a pair is there or
    not as a whole, with the probability of the share.
    """
    found = {name: in_window(rows, stream, answer["at"], long) for name, (stream, long) in windows.items()}
    sample = answer.get("sample")
    if sample is None:
        return list(pairs(*(whole(several) for several in found.values()), matches))
    drawn = [weighed(several, windows[name][0], sample[name]) for name, several in found.items()]
    first = next(iter(sample.values()))
    by_key = 1.0 if first["by"] == "row" else 1 / first["share"]
    return [(one, other, weight * by_key) for one, other, weight in pairs(*drawn, matches)]


def equal(*columns: int) -> Callable[[Row, Row], bool]:
    """Whether two rows have equal values, none of them NULL, at these places."""
    return lambda one, other: all(one[i] is not None and one[i] == other[i] for i in columns)


def sums(values: Sequence[tuple[float | None, float]]) -> float | None:
    """A weighted sum without NULLs; NULL of nothing."""
    some = [value * weight for value, weight in values if value is not None]
    return float(np.sum(some)) if some else None
