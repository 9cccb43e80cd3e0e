"""ANSWERS WITHIN: several answers of one instant, live, late, after restarts, cancelled, and while batches become a
base."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, SystemClock, iso
from punctual.config import parse_options
from punctual.engine.engine import Engine
from punctual.errors import BindError
from punctual.explain.look import plan_look
from punctual.kinds import registry
from punctual.kinds.program import compile_program
from punctual.runtime.backend import Question
from tests.engine.staged import PROGRAM, SLOW, STAGES, START, Staged, rows
from tests.inprocess.backend import InProcess
from tests.kinds.numbered import NumberedKind
from tests.store.dying import Crash, DyingFiles

PATIENCE_S = 60


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "KINDS", (NumberedKind(), *registry.KINDS))


@pytest.fixture(scope="module")
def backend() -> Iterator[InProcess]:
    backend = InProcess(partitions=2)
    yield backend
    backend.close()


class Kept:
    """One data plane for many engines."""

    def __init__(self, backend: InProcess) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def close(self) -> None:
        pass


# -- a replay -----------------------------------------------------------------------------------------


def replayed(folder: Path, **more: Any) -> Staged:
    story = Staged(folder, live=False, **more)
    while story.fed < 60:
        story.feed(17)
    story.engine.end()
    return story


def test_a_replay_answers_by_instant_and_number(tmp_path: Path) -> None:
    story = replayed(tmp_path)
    story.check()
    instants = list(range(0, 68, 5))
    assert story.of("three") == [(at, number) for at in instants for number in range(3)]
    assert story.of("two") == [(at, number) for at in instants for number in range(2)]
    assert story.of("plain") == [(at, 0) for at in instants]
    lines = [json.loads(line) for line in (tmp_path / "out" / "three.jsonl").read_text().splitlines()]
    assert [line["number"] for line in lines] == [0, 1, 2] * len(instants)
    assert [line["at"] for line in lines] == [iso(START + at * SECOND) for at in instants for _number in range(3)]
    story.engine.close()


def test_the_order_does_not_depend_on_who_fails_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries are answered one by one then."""
    real = InProcess.evaluate

    def evaluate(self: InProcess, questions: Sequence[Question]) -> list[list[pa.Array]]:
        if questions:
            raise ValueError("nothing can be evaluated")
        return real(self, questions)

    monkeypatch.setattr(InProcess, "evaluate", evaluate)
    odd = "CREATE QUERY odd AS SELECT count(*) + 1 AS n FROM s [RANGE 20 SECONDS] PERIOD 5 SECONDS;"
    story = replayed(tmp_path, program=PROGRAM + odd)
    assert story.engine.stopped() == {"odd"}
    story.check()
    assert story.of("three") == [(at, number) for at in range(0, 68, 5) for number in range(3)]
    story.engine.close()


# -- live ---------------------------------------------------------------------------------------------


def test_a_live_engine_wakes_up_for_every_stage(tmp_path: Path) -> None:
    """Nobody asks it to: the clock jumps where nobody works, from one timer to the next."""
    story = Staged(tmp_path, options={"tick": "10 seconds", "idle": "1 hour"})
    story.engine.close()
    engine = Engine(str(tmp_path / "state"), clock=story.clock, backend=InProcess, options=story.options)
    found: list[tuple[str, int, float, float, bool]] = []
    began = story.clock.at

    def heard(blocks: Sequence[Any]) -> None:
        for block in blocks:
            for row in block.table.to_pylist():
                times = [(row[name] - began) / SECOND for name in ("answered", "deadline") if row[name] is not None]
                found.append((block.query, row["number"], *times, row["on_time"]))
        if len(found) == 6:
            engine.request_stop()

    engine.listen(heard)
    engine.sql(PROGRAM)
    engine.open()
    engine.feed("s", [(iso(t), x) for t, x in rows(1, 7)])
    engine.run()
    story.engine = engine
    assert sorted(one for one in found if one[0] != "plain") == [
        ("three", 0, 0, 1, True), ("three", 1, 1, 3, True), ("three", 2, 3, 5, True),
        ("two", 0, 0, 2, True), ("two", 1, 2, 4, True),
    ]  # fmt: skip
    engine.close()


def test_stages_by_steps(tmp_path: Path) -> None:
    story = Staged(tmp_path)
    story.feed(7)
    assert story.of("three") == [(0, 0), (5, 0)]
    story.later(0.5)
    assert story.of("three") == [(0, 0), (5, 0)]
    story.later(0.5)
    assert story.of("three") == [(0, 0), (5, 0), (0, 1), (5, 1)]
    story.feed(5)  # others come meanwhile
    story.later(1)
    assert story.of("two") == [(0, 0), (5, 0), (10, 0), (0, 1), (5, 1)]
    story.later(1)
    story.later(5)
    assert sorted(story.of("three")) == [(at, number) for at in (0, 5, 10) for number in range(3)]
    assert sorted(story.of("two")) == [(at, number) for at in (0, 5, 10) for number in range(2)]
    story.check()
    assert story.engine.status()["open_answers"] == 0
    story.engine.close()


def test_late_stages_say_so_and_past_the_last_deadline_there_is_one_more(tmp_path: Path) -> None:
    story = Staged(tmp_path)
    story.feed(7)
    story.later(4)
    late = {(row["at"], row["number"]): row["on_time"] for query, row in story.all() if query == "three"}
    assert late == {
        (START + at * SECOND, number): number != 1 for at in (0, 5) for number in range(3)
    }  # number 1 was due a second ago, number 2 is due in one
    story.feed(5)
    story.later(6)
    last = story.all()[-1][1]
    assert (last["at"], last["on_time"], last["quality"]) == (START + 10 * SECOND, False, 0.0)
    story.later(10)
    assert [one for one in story.of("three") if one[0] == 10] == [(10, 0), (10, 1)]
    story.check()
    story.restart()
    story.later(10)
    assert [one for one in story.of("three") if one[0] == 10] == [(10, 0), (10, 1)]
    story.engine.close()


def test_rows_and_panes_stay_until_the_last_stage(tmp_path: Path) -> None:
    story = Staged(tmp_path, PROGRAM + SLOW)
    story.feed(7)
    story.later(1)
    for _step in range(12):
        story.feed(5)
        story.later(1)
    story.later(1_001)
    assert (0, 1) in story.of("slow")
    story.check()
    story.engine.close()


# -- restarts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("down_s", "at_once", "in_all"),
    [(0.5, 1, 3), (1, 2, 3), (2.5, 2, 3), (3, 3, 3), (4.5, 3, 3), (5, 3, 3), (5.5, 2, 2), (3_600, 2, 2)],
)
def test_after_a_restart_it_goes_on_with_the_next_stage(
    tmp_path: Path, down_s: float, at_once: int, in_all: int
) -> None:
    story = Staged(tmp_path)
    story.feed(7)
    story.restart(down_s)
    assert story.of("three") == [(at, number) for number in range(at_once) for at in (0, 5)]
    for _again in range(3):
        story.restart(2)
    assert story.of("three") == [(at, number) for number in range(in_all) for at in (0, 5)]
    late = [row["number"] for query, row in story.all() if query == "three" and not row["on_time"]]
    assert set(late) == ({1} if down_s > 5 else {1} if 3 < down_s < 5 or down_s == 5 else set())
    story.check()
    story.engine.close()


@pytest.mark.parametrize(("down_s", "numbers"), [(0, [0]), (4, [0, 1, 2]), (10, [0])])
def test_what_was_not_answered_at_all_counts_from_its_commit(
    tmp_path: Path, down_s: float, numbers: list[int]
) -> None:
    story = Staged(tmp_path)
    core = story.engine._opened().core

    def dying(*_arguments: Any) -> int:
        raise KeyboardInterrupt

    core.delivery.deliver = dying  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        story.feed(7)
    committed = story.clock.at
    story.restart(down_s)
    assert story.of("three") == [(at, number) for number in numbers for at in (0, 5)]
    assert {row["released"] for query, row in story.all() if query == "three"} == {committed}
    # Queries with one answer begin anew: nobody could have answered them meanwhile.
    assert {row["released"] for query, row in story.all() if query == "plain"} == {story.clock.at}
    for _again in range(3):
        story.restart(3)
    assert sorted(story.of("three")) == [(at, number) for at in (0, 5) for number in range(1 if down_s > 5 else 3)]
    story.check()
    story.engine.close()


def test_a_release_in_the_future_counts_as_now(tmp_path: Path) -> None:
    """The clock was set back while nothing ran."""
    story = Staged(tmp_path)
    story.feed(7)
    story.clock.at -= 3_600 * SECOND
    story.restart()
    for _second in range(4):
        story.later(1)
    assert sorted(story.of("three")) == [(at, number) for at in (0, 5) for number in range(3)]
    story.engine.close()


def test_a_live_state_goes_on_as_a_replay(tmp_path: Path) -> None:
    """Nothing is late there: what is open has all its answers, what has ended stays so."""
    story = Staged(tmp_path)
    story.feed(7)
    story.later(6)
    story.feed(5)
    story.live = False
    story.restart()
    assert story.of("three") == [(0, 0), (5, 0), (0, 1), (5, 1), (10, 0), (10, 1), (10, 2)]
    story.engine.close()


class Life:
    """A state that lives through actions, dies at some step of the file system, and goes on where it was.

    No time passes while it is dead.
    """

    def __init__(self, folder: Path, backend: InProcess, actions: Actions, *, live: bool) -> None:
        self.folder, self.backend, self.actions, self.timed = folder, backend, actions, live
        self.clock = ManualClock(START + 10_000 * SECOND)
        self.done = self.fed = 0

    def live(self, files: DyingFiles) -> tuple[list[tuple[str, ...]], dict[str, bytes]]:
        """To the end, or to the crash: every answer without the time at which it came, and what the sink wrote."""
        (self.folder / "state" / "feeds" / "s").mkdir(parents=True, exist_ok=True)
        engine = Engine(
            str(self.folder / "state"), str(self.folder / "out"), live=self.timed, clock=self.clock, files=files,
            backend=lambda: Kept(self.backend),
        )  # fmt: skip
        try:
            engine.sql(PROGRAM + SLOW)
            engine.open()
            while engine.tick() is not None:
                pass
            while self.done < len(self.actions):
                self._act(engine, *self.actions[self.done])
            found = [(block.query, row) for block in engine.records() for row in block.table.to_pylist()]
            engine.close()
        except Crash:
            with contextlib.suppress(Crash):
                engine.close()
            raise
        said = ("at", "number", "released", "deadline", "on_time", "rows")
        out = str(self.folder / "out")
        written = {name: files.read(f"{out}/{name}") for name in files.listing(out) if name.endswith(".jsonl")}
        assert sum(text.count(b"\n") for text in written.values()) == len(found)
        return sorted((query, *(str(row[name]) for name in said)) for query, row in found), written

    def _act(self, engine: Engine, what: str, how: Any) -> None:
        match what:
            case "cancel":
                engine.cancel(how)
                self.done += 1
            case "feed":
                engine.feed("s", [(iso(t), x) for t, x in rows(self.fed, self.fed + how)])
                self.fed += how
                self.done += 1
                engine.tick()
            case "later":
                self.clock.sleep(how * SECOND)
                self.done += 1
                engine.tick()
            case "end":
                engine.end()
                self.done += 1


Actions = tuple[tuple[str, Any], ...]
LIVE: Actions = (
    ("feed", 7), ("later", 1), ("feed", 5), ("later", 1), ("cancel", "two"), ("later", 1), ("feed", 5), ("later", 1),
    ("later", 1), ("feed", 5), ("later", 1), ("later", 2), ("later", 2), ("later", 1),
)  # fmt: skip
REPLAYED: Actions = (("feed", 8), ("feed", 8), ("feed", 8), ("end", None))


def died(folder: Path, backend: InProcess, actions: Actions, step: int, *, live: bool) -> Any:
    life, files = Life(folder, backend, actions, live=live), DyingFiles(die_at=step)
    with pytest.raises(Crash):
        life.live(files)
    disks = list(files.after_crash())
    return life.live(disks[step % len(disks)])


@pytest.fixture
def _small_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("punctual.engine.engine.BATCHES_PER_BASE", 2)


@pytest.mark.usefixtures("_small_bases")
class TestWhenItDies:
    """Bases are made while stages wait, and a query is cancelled: whenever it dies, its answers are the same."""

    def replayed(self, tmp_path: Path, backend: InProcess, steps: int) -> None:
        files = DyingFiles()
        expected = Life(tmp_path / "whole", backend, REPLAYED, live=False).live(files)
        assert expected[1]["three.jsonl"].count(b"\n") == 3 * 5
        for step in range(2, files.steps, steps):
            assert died(tmp_path / str(step), backend, REPLAYED, step, live=False) == expected, step

    def live(self, tmp_path: Path, backend: InProcess, steps: int) -> None:
        files = DyingFiles()
        expected, _written = Life(tmp_path / "whole", backend, LIVE, live=True).live(files)
        numbers: dict[str, set[tuple[int, int]]] = {}
        for query, at, number, *_rest in expected:
            numbers.setdefault(query, set()).add(((int(at) - START) // SECOND, int(number)))
        assert numbers["three"] == {(at, number) for at in range(0, 25, 5) for number in range(3)}
        assert numbers["two"] == {(at, number) for at in range(0, 25, 5) for number in range(2)} - {(10, 1)}
        assert numbers["slow"] == numbers["plain"] == {(at, 0) for at in range(0, 25, 5)}
        assert any("base" in name for name in files.listing(str(tmp_path / "whole" / "state")))
        for step in range(2, files.steps, steps):
            assert died(tmp_path / str(step), backend, LIVE, step, live=True)[0] == expected, step

    def test_a_replay_at_some_steps(self, tmp_path: Path, backend: InProcess) -> None:
        self.replayed(tmp_path, backend, 13)

    def test_live_at_some_steps(self, tmp_path: Path, backend: InProcess) -> None:
        self.live(tmp_path, backend, 29)

    @pytest.mark.long
    def test_a_replay_at_every_step(self, tmp_path: Path, backend: InProcess) -> None:
        self.replayed(tmp_path, backend, 1)

    @pytest.mark.long
    def test_live_at_every_step(self, tmp_path: Path, backend: InProcess) -> None:
        self.live(tmp_path, backend, 1)


# -- bases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("placement", ["driver", "cluster"])
def test_a_base_keeps_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, placement: str) -> None:
    monkeypatch.setattr("punctual.engine.engine.BATCHES_PER_BASE", 3)
    story = Staged(tmp_path, PROGRAM + SLOW, options={"placement": placement})
    for _batch in range(7):
        story.feed(5)
        story.later(1)
    store = story.engine._opened().core.store
    base = store.base()
    assert base is not None
    assert base.batch >= 5
    assert len(store.manifests()) < 3
    story.restart()
    assert sorted(story.of("slow")) == [(at, 0) for at in range(0, 35, 5)]
    story.later(1_000)
    assert sorted(story.of("slow")) == [(at, number) for at in range(0, 35, 5) for number in range(2)]
    story.check()
    assert all(row["on_time"] for query, row in story.all() if query == "slow" and row["number"] == 0)
    story.restart()
    assert story.engine.status()["open_answers"] == 0
    story.engine.close()


# -- cancel -------------------------------------------------------------------------------------------


def test_cancel_ends_the_open_instants_of_one_query(tmp_path: Path) -> None:
    story = Staged(tmp_path)
    story.feed(7)
    assert story.engine.cancel("THREE") == 2
    assert story.engine.cancel("three") == 0
    assert story.engine.cancel("plain") == 0
    story.later(1)
    story.feed(5)
    for _second in range(6):
        story.later(1)
    assert story.of("three") == [(0, 0), (5, 0), (10, 0), (10, 1), (10, 2)]
    assert sorted(story.of("two")) == [(at, number) for at in (0, 5, 10) for number in range(2)]
    story.check()
    story.engine.close()


@pytest.mark.parametrize("at", [START + 5 * SECOND, datetime.fromtimestamp((START + 5 * SECOND) / SECOND, UTC)])
def test_cancel_of_one_instant_outlives_a_restart(tmp_path: Path, at: int | datetime) -> None:
    story = Staged(tmp_path)
    story.feed(7)
    assert story.engine.cancel("three", at) == 1
    assert story.engine.cancel("three", START + SECOND) == 0
    story.restart(1)
    story.restart(2)
    story.later(1)
    assert story.of("three") == [(0, 0), (5, 0), (0, 1), (0, 2)]
    story.check()
    story.engine.close()


def test_cancel_before_the_first_answer_outlives_a_restart(tmp_path: Path) -> None:
    """Batches that were committed and not applied yet: their instants are open too."""
    story = Staged(tmp_path)
    core = story.engine._opened().core

    def dying(*_arguments: Any) -> int:
        raise KeyboardInterrupt

    core.delivery.deliver = dying  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        story.feed(7)
    story.engine.close()
    engine = Engine(str(tmp_path / "state"), clock=story.clock, backend=InProcess)
    engine.sql(PROGRAM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("punctual.engine.loop.Loop.settle", lambda _self: None)
        engine.open()
    assert engine.cancel("three", START) == 1
    assert engine.cancel("three", START) == 0
    engine.close()
    story.open()
    for _second in range(6):
        story.later(1)
    assert story.of("three") == [(5, 0), (5, 1), (5, 2)]
    assert sorted(story.of("two")) == [(at, number) for at in (0, 5) for number in range(2)]
    story.engine.close()


def test_cancel_of_nobody(tmp_path: Path) -> None:
    story = Staged(tmp_path)
    with pytest.raises(BindError, match='there is no query "nobody"'):
        story.engine.cancel("nobody")
    story.engine.close()


class Held(InProcess):
    """Evaluations begin, and go on when they are let."""

    def __init__(self) -> None:
        super().__init__()
        self.evaluating, self.go_on = threading.Semaphore(0), threading.Event()

    def evaluate(self, questions: Sequence[Question]) -> list[list[pa.Array]]:
        if questions:
            self.evaluating.release()
            assert self.go_on.wait(PATIENCE_S)
        return super().evaluate(questions)


def test_cancel_while_the_answer_is_made(tmp_path: Path) -> None:
    """It is not in the log when cancel returns, and never comes; who is answered with it is answered."""
    backend, begin = Held(), SystemClock().now() // SECOND * SECOND - 100 * SECOND
    program = """
        CREATE STREAM s (t TIMESTAMP EVENT TIME, x BIGINT) FROM FEED;
        CREATE QUERY q AS SELECT SAMPLE_OF(5, x) FROM s [RANGE 20 SECONDS]
          PERIOD 5 SECONDS ANSWERS WITHIN 1 HOUR, 2 HOURS;
        CREATE QUERY beside AS SELECT count(*) + 1 AS n FROM s [RANGE 20 SECONDS] PERIOD 5 SECONDS DEADLINE 1 HOUR;
    """
    answered = threading.Event()
    options = {"tick": "20 ms", "idle": "1 hour"}
    with Engine(str(tmp_path), backend=lambda: backend, options=options) as engine:
        engine.listen(lambda blocks: answered.set() if any(block.query == "beside" for block in blocks) else None)
        engine.sql(program)
        engine.start()
        engine.feed("s", [(iso(begin + second * SECOND), second) for second in range(6)])
        assert backend.evaluating.acquire(timeout=PATIENCE_S)
        assert engine.cancel("q") > 0
        backend.go_on.set()
        assert answered.wait(PATIENCE_S)
        assert {block.query for block in engine.records()} == {"beside"}
        assert engine.status()["open_answers"] == 0
    with Engine(str(tmp_path), backend=InProcess, options=options) as engine:
        engine.sql(program)
        engine.open()
        assert {block.query for block in engine.records()} == {"beside"}


# -- once ---------------------------------------------------------------------------------------------

ONCE = """
    CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, x BIGINT) FROM FEED;
    CREATE QUERY three AS SELECT SAMPLE_OF(5, x) FROM s [RANGE 20 SECONDS]
      ANSWERS WITHIN 1 SECOND, 3 SECONDS, 5 SECONDS;
    CREATE QUERY plain AS SELECT count(*) AS n FROM s [RANGE 20 SECONDS] PERIOD 5 SECONDS;
"""


def test_without_a_cadence_a_query_is_asked_once(tmp_path: Path) -> None:
    story = Staged(tmp_path, ONCE)
    story.feed(7)  # complete through the microsecond before the last row
    asked = START + 6 * SECOND - 1
    for _second in range(6):
        story.later(1)
        story.feed(5)
    story.restart()
    story.feed(30)
    found = [row for query, row in story.all() if query == "three"]
    assert [(row["at"], row["number"]) for row in found] == [(asked, number) for number in range(3)]
    assert found[0]["execution"] == f"s/once#{asked}"
    story.check()
    story.engine.close()


def test_with_once_it_is_asked_at_the_end_of_input(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        lines = [json.dumps({"t": iso(t), "x": x}) for t, x in rows(10 * number, 10 * number + 10)]
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(lines) + "\n")
    program = ONCE.replace("FROM FEED", f"FROM FILES '{tmp_path}/in' FORMAT JSON")
    for _again in range(2):
        options = {"max_files_per_tick": "1"}
        clock = ManualClock(2 * START)
        with Engine(str(tmp_path / "state"), live=False, clock=clock, backend=InProcess, options=options) as engine:
            engine.sql(program)
            engine.run_once()
            found = [row for block in engine.records() if block.query == "three" for row in block.table.to_pylist()]
        assert [(row["at"], row["number"]) for row in found] == [(START + 29 * SECOND, n) for n in range(3)]


def test_a_query_that_is_added_later_is_asked_after_that(tmp_path: Path) -> None:
    declared, asked, plain = ONCE.split(";")[:3]
    story = Staged(tmp_path, f"{declared};{plain};")
    story.feed(12)
    story.engine.sql(asked)
    story.program = ONCE
    story.later(5)
    assert story.of("three") == []
    story.feed(3)
    assert [at for at, _number in story.of("three")] == [13]
    story.restart(1)
    story.feed(9)
    assert {at for at, _number in story.of("three")} == {13}
    story.engine.close()


def test_an_instant_that_was_decided_is_asked_also_after_a_crash(tmp_path: Path) -> None:
    story = Staged(tmp_path, ONCE)
    core = story.engine._opened().core

    def dying(*_arguments: Any, **_named: Any) -> Any:
        raise KeyboardInterrupt

    core.store.commit = dying  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        story.feed(7)
    assert core.programs.state.queries["three"].asked == START + 6 * SECOND - 1
    story.restart()
    while story.engine.tick() is not None:
        pass
    story.feed(5)
    assert [row["at"] for query, row in story.all() if query == "three"] == [START + 6 * SECOND - 1]
    story.engine.close()


# -- EXPLAIN ------------------------------------------------------------------------------------------


def test_explain_says_the_stages() -> None:
    for text, cadence, named in ((PROGRAM, "period 5s", "period"), (ONCE, "once", "once")):
        catalog = compile_program(text, base=".").catalog
        look = plan_look(catalog, parse_options({}))
        assert "      answer within 1s, 3s, 5s\n" in look.sharing()
        assert f"range 20s, {cadence}, " in look.sharing()
        reader = next(one for one in look.to_json()["readers"] if one["query"] == "three")
        assert (reader["cadence"], reader["stages_us"]) == (named, [s * SECOND for s in STAGES["three"]])
