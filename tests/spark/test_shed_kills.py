"""The real process, killed while its queries give way: each answer is there once, and is what its own record says.

Deadlines of a millisecond are over before anything is read. So every query with QUALITY is late and uses the least
that it accepts, on any machine; but for a run's first pass, of which nobody has to know what it costs. What an answer
rests on may depend on when the process was killed; that it can be worked out again, from the raw rows and what it says
of its sample, may not.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from punctual.cli.main import main
from punctual.clock import SECOND, Micros, instant_us, iso
from punctual.schedule.qos.notices import DUE
from tests.engine.joined_samples import NAMES, Row, answered_pairs, equal, in_window, sums, weighed, whole
from tests.engine.test_shed import PLAIN, kept_rows
from tests.engine.test_shed import SHARE as READ
from tests.engine.test_shed import write as write_lines
from tests.spark.command import PATIENCE_S, batches, finish, lines, start, until
from tests.spark.test_kills import Story

pytestmark = pytest.mark.spark

START = 1_700_000_000 * SECOND
PERIOD_S, RANGE_S = 10, 20
PER_SECOND = 30
"""Rows of each stream."""
LEAST = 0.3
PROGRAM = """
SET window_merge = rows;
SET max_files_per_tick = 1;
SET tick = 100 ms;
SET idle = 1 hour;
CREATE STREAM trades (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING, j INT, x DOUBLE)
FROM FILES 'trades' FORMAT JSON;
CREATE STREAM quotes (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING, j INT, y DOUBLE)
FROM FILES 'quotes' FORMAT JSON;
CREATE QUERY sums AS SELECT j, count(*) AS n, sum(x) AS total, avg(x) AS mean, max(x) AS top
FROM trades [RANGE 20 SECONDS] GROUP BY j
PERIOD 10 SECONDS DEADLINE 1 MILLISECOND QUALITY (100% => 1, 30% => 0.5);
CREATE QUERY pairs AS SELECT count(*) AS n, sum(a.x) AS sx, sum(b.y) AS sy, max(b.y) AS top
FROM trades [RANGE 20 SECONDS] AS a, quotes [RANGE 20 SECONDS] AS b WHERE a.k = b.k
PERIOD 10 SECONDS DEADLINE 1 MILLISECOND QUALITY (100% => 1, 30% => 0.5);
CREATE QUERY exact AS SELECT j, count(*) AS n, sum(x) AS total
FROM trades [RANGE 20 SECONDS] GROUP BY j PERIOD 10 SECONDS;
"""
QUERIES = ("exact", "pairs", "sums")
GIVE_WAY = ("pairs", "sums")
HOLDS = """
import time
from pathlib import Path

from punctual.engine.answers.delivery import Delivery
from punctual.ports.sinks import jsonl


def is_asked(point, blocks):
    asked = Path("hold")
    sampled = any("sample" in block.table.column("basis").to_pylist() for block in blocks)
    return sampled and asked.exists() and asked.read_text() == point


def hold(point, blocks):
    if is_asked(point, blocks):
        Path(".held").write_text(point)
        Path(".held").rename("held")  # whoever sees it can read it
        time.sleep(3600)


def deliver(self, closed_before, newest, answers):
    hold("decided", answers)
    return delivered(self, closed_before, newest, answers)


def write(self, position, blocks):
    hold("logged", blocks)
    written(self, position, blocks)


def half(blocks):
    for query, text in lines_of(blocks):
        if is_asked("torn", blocks):
            yield query, text.slice(0, text.size // 2)
            hold("torn", blocks)
        yield query, text


delivered, Delivery.deliver = Delivery.deliver, deliver
written, jsonl.JsonLinesSink.write = jsonl.JsonLinesSink.write, write
lines_of, jsonl.json_lines = jsonl.json_lines, half
"""
"""A process stands still where it is asked to, with answers from samples: before they are in the log (the share is
decided), when they are in the log and nowhere else, and when half of the first output is written."""


def rows_of(step: int) -> dict[str, list[Row]]:
    """Ten seconds of both streams, in order; its last rows are after the next instant, which they complete."""
    draw = random.Random(step)
    found: dict[str, list[Row]] = {}
    for stream in NAMES:
        rows: list[Row] = []
        for number in range(PERIOD_S * PER_SECOND):
            at = START + (step * PERIOD_S * SECOND) + SECOND // 2 + number * SECOND // PER_SECOND
            key = None if draw.random() < 0.05 else f"k{int(draw.paretovariate(0.7)) % 60}"
            value = None if draw.random() < 0.05 else round(draw.lognormvariate(1.0, 0.7), 3)
            rows.append((at + draw.randrange(1_000), key, draw.randrange(4), value))
        found[stream] = rows
    return found


def instant(step: int) -> Micros:
    """The one that a step's rows complete."""
    return START + (step + 1) * PERIOD_S * SECOND


class Live:
    """One state of a live program that many processes run, one after the other; files are dropped step by step."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state, self.out = folder, folder / "state", folder / "out"
        self.steps = 0
        for stream in NAMES:
            (folder / stream).mkdir(parents=True)
        (folder / "program.sql").write_text(PROGRAM)

    def drop(self) -> int:
        """One more step of both streams, each file whole; its number."""
        for stream, rows in rows_of(self.steps).items():
            text = [json.dumps({**dict(zip(NAMES[stream], row)), "t": iso(row[0])}) for row in rows]
            hidden = self.folder / stream / f".{self.steps:03}"
            hidden.write_text("\n".join(text) + "\n")
            hidden.rename(hidden.with_name(f"{self.steps:03}.json"))
        self.steps += 1
        return self.steps - 1

    def start(self, *options: str) -> subprocess.Popen[str]:
        arguments = ("run", self.folder / "program.sql", "--state", self.state, "--out", self.out, *options)
        return start(*arguments, folder=self.folder, before=HOLDS)

    def answers(self) -> dict[str, list[dict[str, Any]]]:
        """The answers that are written, by query; a line that has no end is none yet."""
        found = {}
        for query in QUERIES:
            path = self.out / f"{query}.jsonl"
            text = path.read_text() if path.exists() else ""
            found[query] = [json.loads(line) for line in text.split("\n")[:-1]]
        return found

    def of(self, step: int) -> dict[str, dict[str, Any]]:
        """The answers at the instant of a step."""
        at = iso(instant(step))
        return {query: one for query, some in self.answers().items() for one in some if one["at"] == at}

    def wait_for(self, step: int, process: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
        """All answers of a step."""
        until(lambda: len(self.of(step)) == len(QUERIES), process)
        return self.of(step)

    def hold(self, point: str) -> None:
        """From now on a process stops there, once it has answers from samples."""
        (self.folder / "hold").write_text(point)

    def kill_held(self, process: subprocess.Popen[str]) -> str:
        """Wait until it stands still, and kill it there; what it has said."""
        until((self.folder / "held").exists, process)
        assert (self.folder / "held").read_text() == (self.folder / "hold").read_text()
        for name in ("hold", "held"):
            (self.folder / name).unlink()
        return self.kill(process)

    def kill(self, process: subprocess.Popen[str]) -> str:
        process.kill()
        return process.communicate()[1]

    def stop(self, process: subprocess.Popen[str]) -> None:
        """As a service manager does."""
        process.send_signal(signal.SIGTERM)
        code, printed, said = finish(process)
        assert (code, printed) == (0, ""), said
        assert "late answers give way, to the least that they accept" in said


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """A state; what was started for it ends with the test."""
    found = Live(tmp_path)
    started: list[subprocess.Popen[str]] = []
    begin = found.start

    def remembered(*options: str) -> subprocess.Popen[str]:
        started.append(begin(*options))
        return started[-1]

    found.start = remembered  # type: ignore[method-assign]
    yield found
    for process in started:
        if process.poll() is None:
            found.kill(process)


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, rel=1e-12)


def check_answers(live: Live) -> list[dict[str, Any]]:
    """Each instant is answered once, in order, and every answer follows from its own record; all from samples."""
    every: dict[str, list[Row]] = {stream: [] for stream in NAMES}
    for step in range(live.steps):
        for stream, rows in rows_of(step).items():
            every[stream] += rows
    found = live.answers()
    for query, some in found.items():
        text = (live.out / f"{query}.jsonl").read_text()
        assert text.endswith("}\n")
        expected = [(query, iso(instant(step)), 0) for step in range(live.steps)]
        assert [(one["query"], one["at"], one["number"]) for one in some] == expected
    for answer in found["exact"]:
        assert (answer["basis"], answer["kept"], answer["error"]) == ("exact", 1.0, None)
        assert "sample" not in answer
        check_groups(answer, every)
    for answer in found["sums"]:
        check_basis(answer, {"trades": ("trades", "row")})
        check_groups(answer, every)
    for answer in found["pairs"]:
        check_basis(answer, dict.fromkeys("ab", (answer["at"], ["k"])))
        check_pairs(answer, every)
    return [one for query in GIVE_WAY for one in found[query] if one["basis"] == "sample"]


def check_basis(answer: dict[str, Any], inputs: dict[str, tuple[str, Any]]) -> None:
    """What a query that gives way says of itself: late whatever is done, of everything or of the least."""
    assert (answer["on_time"], answer["quality"]) == (False, 0.0)
    assert instant_us(answer["deadline"]) - instant_us(answer["released"]) == 1_000
    if answer["basis"] == "exact":
        assert answer["kept"] == 1.0
        assert "sample" not in answer
        return
    assert (answer["basis"], answer["kept"]) == ("sample", LEAST)
    said = answer["sample"]
    assert {name: (one["share"], one["salt"], one["by"]) for name, one in said.items()} == {
        name: (LEAST, salt, by) for name, (salt, by) in inputs.items()
    }


def check_groups(answer: dict[str, Any], rows: dict[str, list[Row]]) -> None:
    window = in_window(rows, "trades", answer["at"], RANGE_S)
    used = weighed(window, "trades", answer["sample"]["trades"]) if "sample" in answer else whole(window)
    assert len(used) == len(window) or 0.2 < len(used) / len(window) < 0.45
    assert [row["j"] for row in answer["rows"]] == sorted({row[2] for row, _weight in used})
    for row in answer["rows"]:
        mine = [(one[3], weight) for one, weight in used if one[2] == row["j"]]
        assert row["n"] == round(sum(weight for _value, weight in mine))
        assert row["total"] == near(sums(mine))
        if answer["query"] == "sums":
            weights = sum(weight for value, weight in mine if value is not None)
            assert row["mean"] == near((sums(mine) or 0.0) / weights)
            assert row["top"] == max(value for value, _weight in mine if value is not None)


def check_pairs(answer: dict[str, Any], rows: dict[str, list[Row]]) -> None:
    windows = dict.fromkeys("ab", ("trades", RANGE_S)) | {"b": ("quotes", RANGE_S)}
    found = answered_pairs(rows, answer, windows, equal(1))
    (row,) = answer["rows"]
    assert row["n"] == round(sum(weight for *_rows, weight in found))
    assert row["sx"] == near(sums([(a[3], weight) for a, _b, weight in found]))
    assert row["sy"] == near(sums([(b[3], weight) for _a, b, weight in found]))
    assert row["top"] == max((b[3] for _a, b, _weight in found if b[3] is not None), default=None)


def check_ledger(live: Live, capsys: pytest.CaptureFixture[str], sampled: list[dict[str, Any]]) -> None:
    """The ledger says that queries gave way, and why, and the same of each answer as the answer itself."""
    capsys.readouterr()
    assert main(["ledger", "--state", str(live.state)]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    shedding = [one for one in records if one["record"] == "shedding"]
    begins = [one for one in shedding if one["why"] == DUE]
    assert begins
    assert {(one["stream"], one["share"]) for one in begins} == {(None, None)}
    firings = {(one["query"], one["at"]): one for one in records if one["record"] == "firing"}
    for answer in sampled:
        record = firings.get((answer["query"], answer["at"]))
        if record is not None:  # of a killed process the newest ones may be lost
            assert (record["kept"], record["quality"], record["on_time"]) == (LEAST, 0.0, False)
            assert record["level"] == 0.0
    last = {one["query"]: one for one in sampled}
    assert all((one["query"], one["at"]) in firings for one in last.values())


def bases(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {query: one["basis"] for query, one in found.items()}


EXACT = dict.fromkeys(QUERIES, "exact")
LESS = {**EXACT, **dict.fromkeys(GIVE_WAY, "sample")}


def test_killed_where_it_gives_way(live: Live, capsys: pytest.CaptureFixture[str]) -> None:
    process = live.start()
    live.wait_for(live.drop(), process)
    assert bases(live.wait_for(live.drop(), process)) == LESS
    live.hold("decided")
    held = live.drop()
    said = live.kill_held(process)
    assert said.count("below 200 MILLISECONDS answers may be late without any load") == len(GIVE_WAY)
    assert not live.of(held).keys() & set(GIVE_WAY)

    # Who goes on with it would use everything, but for what was decided: that stands.
    process = live.start("--set", "qos=best-effort")
    assert bases(live.wait_for(held, process)) == LESS
    assert bases(live.wait_for(live.drop(), process)) == EXACT
    several = [live.drop() for _more in range(2)]
    until(lambda: any(live.of(step) for step in several), process)
    live.kill(process)  # some are written, or being written

    process = live.start()
    live.wait_for(several[-1], process)
    assert bases(live.wait_for(live.drop(), process)) == LESS
    live.hold("logged")
    held = live.drop()
    live.kill_held(process)
    assert not live.of(held).keys() & set(GIVE_WAY)

    process = live.start()
    assert bases(live.wait_for(held, process)) == LESS, "they are in the log"
    live.wait_for(live.drop(), process)
    live.hold("torn")
    held = live.drop()
    live.kill_held(process)
    torn = [query for query in QUERIES if not (live.out / f"{query}.jsonl").read_text().endswith("\n")]
    assert len(torn) == 1

    process = live.start()
    assert bases(live.wait_for(held, process)) == LESS
    live.wait_for(live.drop(), process)
    assert bases(live.wait_for(live.drop(), process)) == LESS
    live.stop(process)
    sampled = check_answers(live)
    assert {query: sum(one["query"] == query for one in sampled) >= 5 for query in GIVE_WAY} == dict.fromkeys(
        GIVE_WAY, True
    )
    check_ledger(live, capsys, sampled)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_killed_anywhere(live: Live, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    """After some answers and a while, five times, with more to do than is answered."""
    draw = random.Random(seed)
    for _kill in range(5):
        process = live.start()
        steps = [live.drop() for _more in range(draw.randrange(1, 4))]
        wanted = sum(map(len, live.answers().values())) + draw.randrange(1, 2 + len(steps))
        give_up = time.monotonic() + PATIENCE_S
        while sum(map(len, live.answers().values())) < wanted and time.monotonic() < give_up:
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(draw.uniform(0, 1))
        live.kill(process)
    process = live.start()
    for _more in range(3):
        live.wait_for(live.drop(), process)
    live.stop(process)
    sampled = check_answers(live)
    assert {one["query"] for one in sampled} == set(GIVE_WAY)
    check_ledger(live, capsys, sampled)


def test_killed_while_rows_are_shed_at_ingest(tmp_path: Path) -> None:
    """Answers from panes, of lines that are left out before they are read: the same bytes as without kills."""
    (tmp_path / "program.sql").write_text("SET max_files_per_tick = 1;" + PLAIN)
    raw: list[str] = []
    for batch in range(16):
        raw += write_lines(tmp_path, batch, 100)
        os.utime(tmp_path / "in" / f"{batch}.json", (1_000_000 + batch, 1_000_000 + batch))
    shed = ("--set", f"keep={READ:.0%}")
    undisturbed, story = Story(tmp_path, "undisturbed"), Story(tmp_path, "killed")
    code, printed, said = finish(start(*undisturbed.arguments, *shed, folder=tmp_path))
    assert (code, printed) == (0, ""), said
    story.arguments = (*story.arguments, *shed)  # type: ignore[assignment]
    for wanted, delay in ((3, 0.1), (10, 0.3)):
        story.kill(story.start_until(wanted, delay))
        assert batches(story.state) < 16
    assert story.finish() == lines(undisturbed.out)
    rows = [row for row, _group in kept_rows(raw, READ)]
    found = [json.loads(line) for line in lines(story.out)["fares"].splitlines()]
    assert len(found) > 10
    for answer in found:
        ends = [instant_us(answer[end]) for end in ("from", "at")]
        fares: dict[str, list[int]] = {}
        for row in rows:
            if ends[0] < instant_us(row["t"]) <= ends[1]:
                fares.setdefault(row["cab"], []).append(row["fare"])
        assert answer["rows"] == [
            {"cab": cab, "n": round(len(some) / READ), "total": round(sum(some) / READ)}
            for cab, some in sorted(fares.items())
        ]
        assert (answer["basis"], answer["kept"]) == ("sample", READ)
        assert answer["sample"] == {"Trips": {"share": READ, "salt": "trips", "by": ["line"], "of": "lines"}}
