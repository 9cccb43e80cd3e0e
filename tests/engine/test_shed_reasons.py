"""Why streams are shed at ingest: as the ledger has it, and as it is said on standard error."""

from __future__ import annotations

from pathlib import Path

import pytest

from punctual.clock import SECOND, ManualClock
from punctual.engine.batch import ingest
from punctual.engine.engine import Engine
from punctual.engine.shedding import NO_LONGER, PLANNED, Shedding, ShedRecord
from punctual.estimate.linear_cost import LinearCost
from punctual.schedule.qos.ingest_share import BACKLOG, KEPT, READING
from punctual.schedule.qos.notices import FITS_AGAIN
from tests.engine.test_shed import PLAIN, START, STREAM, Slow, write
from tests.inprocess.backend import InProcess

OTHER = """
CREATE STREAM Other (t TIMESTAMP EVENT TIME WATERMARK 1 SECOND, fare INT) FROM FILES 'other' FORMAT JSON;
CREATE QUERY others AS SELECT count(*) AS n FROM Other [RANGE 10 SECONDS] PERIOD 5 SECONDS QUALITY LINEAR;
"""


def opened(folder: Path, program: str, *, live: bool, **options: str) -> tuple[Engine, list[str]]:
    told: list[str] = []
    for name in ("in", "other"):
        (folder / name).mkdir(exist_ok=True)
    engine = Engine(
        state=str(folder / "state"), base=str(folder), options=options, live=live,
        clock=ManualClock(START + 3600 * SECOND), backend=lambda: InProcess(2), report=told.append,
    )  # fmt: skip
    engine.sql(program)
    engine.open()
    return engine, told


def records(engine: Engine) -> list[tuple[str, float, str]]:
    ledger = engine.ledger()
    lines = ledger[ledger["record"] == "shedding"]
    return list(zip(lines["stream"], lines["share"], lines["why"]))


@pytest.mark.parametrize("live", [True, False])
def test_an_option_is_the_reason(live: bool, tmp_path: Path) -> None:
    engine, told = opened(tmp_path, PLAIN, live=live, keep="30%")
    with engine:
        for batch in range(3):
            write(tmp_path, batch)
            engine.tick()
        assert records(engine) == [("trips", 0.3, KEPT)]
    assert told == [f'stream "trips" is shed at ingest, to 30 % of its rows: {KEPT}']


def test_a_run_to_the_end_says_it_too(tmp_path: Path) -> None:
    write(tmp_path, 0)
    engine, told = opened(tmp_path, PLAIN, live=False, keep="30%")
    with engine:
        engine.run_once()
        assert [why for _stream, _share, why in records(engine)] == [KEPT]
    assert len(told) == 1


def test_an_option_that_is_taken_back(tmp_path: Path) -> None:
    engine, told = opened(tmp_path, PLAIN + "SET keep = 30%;", live=False)
    with engine:
        write(tmp_path, 0)
        engine.tick()
        engine.sql("SET keep = auto")
        write(tmp_path, 1)
        engine.tick()
        assert records(engine) == [("trips", 0.3, KEPT), ("trips", 1.0, NO_LONGER)]
    assert told[1] == f'stream "trips" is shed no longer, all of its rows are read again: {NO_LONGER}'


def test_a_query_that_needs_every_row_is_the_reason_why_all_are_read(tmp_path: Path) -> None:
    engine, _told = opened(tmp_path, PLAIN, live=False, keep="30%")
    with engine:
        write(tmp_path, 0)
        engine.tick()
        engine.sql("CREATE QUERY exact AS SELECT count(*) AS n FROM Trips [RANGE 10 SECONDS] PERIOD 5 SECONDS")
        write(tmp_path, 1)
        engine.tick()
        assert records(engine)[1:] == [("trips", 1.0, "query exact reads it exactly")]


def test_a_stream_of_which_nothing_was_there_is_shed_as_before(tmp_path: Path) -> None:
    engine, _told = opened(tmp_path, PLAIN + OTHER, live=False, keep="30%")
    with engine:
        for batch in range(4):
            write(tmp_path, batch)
            if batch % 2:
                (tmp_path / "other" / f"{batch}.json").write_text('{"t": "2023-11-14T22:13:20Z", "fare": 1}\n')
            engine.tick()
        assert records(engine) == [("trips", 0.3, KEPT), ("other", 0.3, KEPT)]


def test_a_load_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in ``test_shed``: large batches that take longer than a tick, then small ones."""
    monkeypatch.setattr(ingest, "READING", LinearCost.guessed(60_000.0, parts=2_000.0, kib=4_000.0))
    shed_guess = LinearCost.guessed(60_000.0, parts=2_000.0, kib=1_000.0, kept_kib=4_000.0)
    monkeypatch.setattr(ingest, "READING_SHED", shed_guess)
    clock, told = ManualClock(START), list[str]()
    (tmp_path / "in").mkdir()
    engine = Engine(
        state=str(tmp_path / "state"), base=str(tmp_path), clock=clock, backend=lambda: Slow(clock), report=told.append
    )
    with engine:
        engine.sql(PLAIN)
        engine.open()
        for batch in range(14):
            write(tmp_path, batch, 6_000 if 3 <= batch < 8 else 400 + 50 * batch)
            engine.tick()
            clock.sleep(SECOND)
        found = records(engine)
    assert {why for _stream, share, why in found if share < 1.0} == {READING}
    assert found[-1] == ("trips", 1.0, FITS_AGAIN)
    shed = [one for one in told if "shed" in one]
    assert shed[0].endswith(f"of its rows: {READING}")
    assert shed[-1].endswith(f"read again: {FITS_AGAIN}")


def test_a_batch_that_was_planned_before_a_crash_has_its_share(tmp_path: Path) -> None:
    class Dies(InProcess):
        def tick(self, tick: object) -> object:
            raise SystemExit

    write(tmp_path, 0)
    engine, _told = opened(tmp_path, PLAIN, live=False, keep="30%")
    engine._opened().core.ingest._backend = Dies()  # type: ignore[assignment]
    with pytest.raises(SystemExit):
        engine.tick()
    engine.close()
    engine, _told = opened(tmp_path, PLAIN, live=False)
    with engine:
        engine.tick()
        assert records(engine) == [("trips", 0.3, PLANNED)]


def test_reasons_change_with_the_shares() -> None:
    one = Shedding()
    assert one.of_batch(["a", "b"], {"a": 0.5}, READING, {}) == [ShedRecord("a", None, 0.5, READING)]
    assert one.of_batch(["a", "b"], {"a": 0.5}, BACKLOG, {}) == []
    assert one.of_batch(["b"], {"b": 0.25}, BACKLOG, {}) == [ShedRecord("b", None, 0.25, BACKLOG)]
    assert one.of_batch(["a", "b"], {"a": 0.25}, "", {"b": "why not"}) == [
        ShedRecord("a", None, 0.25, PLANNED), ShedRecord("b", None, 1.0, "why not"),
    ]  # fmt: skip
    assert one.of_batch(["a", "b"], {}, "", {}) == [ShedRecord("a", None, 1.0, FITS_AGAIN)]


def test_a_stream_that_is_not_shed_is_not_spoken_of(tmp_path: Path) -> None:
    engine, told = opened(tmp_path, STREAM + PLAIN.split(";")[1].replace("QUALITY LINEAR", "") + ";", live=False)
    with engine:
        write(tmp_path, 0)
        engine.tick()
        assert records(engine) == []
    assert told == []
