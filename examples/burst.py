"""A burst: real trades are fed three times as fast for a while, and queries with QUALITY use less of them, in time.

Runs ``examples/burst.sql`` live, prints every instant, and draws a picture: what came, how good answers were, and how
long after their release they were there. ``--rate`` has to fit the machine: the calm should leave half of it free.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import punctual
from punctual.clock import SECOND
from punctual.ports.answers import AnswerBlock

mpl.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
FEEDS_PER_SECOND = 5
DEADLINE_S = 4.0
"""That of all queries in the program."""
QUERIES = ("prices", "volume", "venues", "blocks")


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows per second: ``rate``, and ``times`` as many from ``begin`` on for ``burst`` seconds."""

    rate: int
    times: float
    calm: float
    burst: float
    warm: float = 0.0
    """Before all that, not in the picture: windows fill, and plans are made."""

    def at(self, second: float) -> float:
        return self.rate * (self.times if self.calm <= second < self.calm + self.burst else 1.0)

    @property
    def seconds(self) -> float:
        return 2 * self.calm + self.burst


@dataclass(frozen=True, slots=True)
class Answer:
    """What the picture shows of an answer."""

    query: str
    second: float
    quality: float
    kept: float
    took: float
    on_time: bool


def trades() -> pa.Table:
    """Half an hour of real trades; their times are not used."""
    files = sorted((HERE / "data" / "trades").glob("*.parquet"))
    return pa.concat_tables(pq.read_table(path) for path in files).combine_chunks()


def stretches(source: pa.Table, shape: Shape, begin: int) -> Iterator[tuple[int, pa.Table]]:
    """The trades of each stretch of time, over and over again, with the time at which it is over."""
    taken = 0
    step = SECOND // FEEDS_PER_SECOND
    for number in range(int((shape.warm + shape.seconds) * FEEDS_PER_SECOND)):
        start = begin + number * step
        count = round(shape.at(number / FEEDS_PER_SECOND - shape.warm) / FEEDS_PER_SECOND)
        rows = source.take(pa.array(np.arange(taken, taken + count) % source.num_rows))
        taken += count
        times = start + 1 + np.arange(count) * (step - 2) // max(1, count)
        place = rows.schema.get_field_index("time")
        yield start + step, rows.set_column(place, "time", pa.array(times, pa.timestamp("us", tz="UTC")))


def feed(engine: punctual.Engine, shape: Shape, begin: int) -> None:
    """Give the engine rows as they happen."""
    for end, rows in stretches(trades(), shape, begin):
        time.sleep(max(0.0, end / SECOND - time.time()))
        engine.feed("trades", rows.select(["time", "symbol", "price", "size", "exchange"]))


def answers_of(blocks: list[AnswerBlock], zero: int) -> list[Answer]:
    return [
        Answer(
            block.query,
            (one["at"] - zero) / SECOND,
            one["quality"] if one["on_time"] else 0.0,
            one["kept"],
            (one["answered"] - one["released"]) / SECOND,
            one["on_time"],
        )
        for block in blocks
        for one in block.table.to_pylist()
    ]


def draw(shape: Shape, answers: list[Answer], path: Path) -> None:
    """Four pictures over one axis of time."""
    figure, axes = plt.subplots(4, 1, figsize=(8, 8), sharex=True, height_ratios=(1, 2, 2, 2))
    came, quality, kept, took = axes
    seconds = np.arange(0, shape.seconds, 0.2)
    came.fill_between(seconds, [shape.at(second) / 1000 for second in seconds], step="post", color="0.8")
    came.set_ylabel("thousand rows\nper second")
    for name in QUERIES:
        own = [one for one in answers if one.query == name]
        at = [one.second for one in own]
        label = f"{name} (exact)" if name == "blocks" else name
        quality.plot(at, [one.quality for one in own], "-o", label=label, markersize=3)
        kept.plot(at, [one.kept for one in own], "-o", markersize=3)
    for on_time, mark, color in ((True, ".", "0.5"), (False, "x", "black")):
        some = [one for one in answers if one.on_time == on_time]
        took.plot([one.second for one in some], [one.took for one in some], mark, color=color)
    took.axhline(DEADLINE_S, color="black", linestyle="--", linewidth=1)
    took.text(shape.seconds, 0.98 * DEADLINE_S, "deadline", fontsize=8, ha="right", va="top")
    quality.legend(frameon=False, fontsize=8, ncol=4, loc="lower center", bbox_to_anchor=(0.5, 0.98))
    for axis, text in ((quality, "quality\n(late: 0)"), (kept, "part of the\nrows used")):
        axis.set_ylabel(text)
        axis.set_ylim(-0.03, 1.05)
    took.set_ylabel("seconds from release\nto answer (x: late)")
    took.set_ylim(0, max([1.1 * DEADLINE_S, *(one.took for one in answers)]))
    took.set_xlabel("seconds")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.axvspan(shape.calm, shape.calm + shape.burst, color="orange", alpha=0.08, linewidth=0)
    figure.suptitle(f"{shape.times:g} times the rows for {shape.burst:g} seconds", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)


def play(shape: Shape, engine: punctual.Engine) -> list[Answer]:
    """Run the program through the burst; answers of the time that the picture shows."""
    found: list[AnswerBlock] = []
    engine.sql((HERE / "burst.sql").read_text())
    engine.listen(found.extend)
    engine.start()
    begin = (time.time_ns() // 1000 // SECOND + 2) * SECOND
    feed(engine, shape, begin)
    time.sleep(DEADLINE_S + 1)
    engine.stop()
    return [one for one in answers_of(found, begin + round(shape.warm * SECOND)) if 0 <= one.second <= shape.seconds]


def show(answers: list[Answer]) -> None:
    for second in sorted({one.second for one in answers}):
        at = {one.query: one for one in answers if one.second == second}
        said = [f"{name} {at[name].quality:4.2f} ({at[name].kept:4.0%})" for name in QUERIES if name in at]
        late = sum(not one.on_time for one in at.values())
        print(f"{second:5.0f} s  quality (kept)  " + "   ".join(said) + (f"   {late} late" if late else ""))


def main() -> int:
    parser = argparse.ArgumentParser(description="Quality and deadlines through a burst.")
    parser.add_argument("--rate", type=int, default=6_000, help="rows per second in the calm")
    parser.add_argument("--times", type=float, default=3.0, help="how many times that in the burst")
    parser.add_argument("--calm", type=float, default=30.0, help="seconds before and after it")
    parser.add_argument("--burst", type=float, default=30.0, help="its seconds")
    parser.add_argument("--warm", type=float, default=45.0, help="seconds before all that, not in the picture")
    parser.add_argument("--picture", type=Path, default=Path("burst.png"), help="where the picture goes")
    given = parser.parse_args()
    shape = Shape(given.rate, given.times, given.calm, given.burst, given.warm)
    print(f"Starting Spark; then {shape.warm:g} seconds to warm up, and {shape.seconds:g} to look at.", flush=True)
    with punctual.connect(base=str(HERE), options={"tick": "100 ms"}) as engine:
        answers = play(shape, engine)
    if not answers:
        print("No answer came in time for the picture: this machine is too busy, or --rate is too much for it.")
        return 1
    show(answers)
    draw(shape, answers, given.picture)
    print(f"The picture is {given.picture}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
