"""What an engine learns of the costs of row queries: predicted before, measured after, kept with the state."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from punctual.clock import SECOND, ManualClock
from punctual.engine.core import Core
from punctual.engine.engine import Engine
from punctual.engine.held.retained_rows import RetainedFiles, RetainedStream
from punctual.estimate.known_costs import KnownCosts
from punctual.plan.row_query import RowWindow
from punctual.ports.storage import PosixFiles
from punctual.store.manifest import Section
from punctual.store.products import RetainedRows
from punctual.store.store import Store
from tests.engine.test_row_queries import PAIRS, START, STREAM, rows
from tests.inprocess.backend import InProcess


def opened(state: Path) -> Engine:
    engine = Engine(str(state), clock=ManualClock(START), backend=InProcess, live=False)
    engine.sql(STREAM + PAIRS)
    engine.open()
    return engine


def core_of(engine: Engine) -> Core:
    return engine._opened().core


def feed(engine: Engine, first: int, last: int) -> None:
    for second in range(first, last):
        engine.feed("s", rows(second))
        engine.tick()


def saved(state: Path) -> KnownCosts | None:
    return Store.open(str(state), PosixFiles(), readonly=True).costs.read(KnownCosts)


def test_every_firing_is_predicted_and_what_it_used_is_learned(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        feed(engine, 0, 40)
        model = core_of(engine).costs.rows
        ledger = engine.ledger()
        spent = ledger[ledger["query"] == "pairs"]
        assert list(spent["at"]) == sorted(set(spent["at"]))
        assert len(spent) == len(engine.answers("pairs")["at"].unique())
        assert (spent["used_ms"] > 0).all()
        assert pd.isna(spent["predicted_ms"].iloc[0]), "there was nothing to predict it by"
        assert (spent["high_ms"].iloc[1:] >= spent["predicted_ms"].iloc[1:]).all()
        assert model.take_spent() == {}
        # An execution is told apart from others by what its windows have, and ratios are those of all that ran.
        assert len(model.costs.queries["pairs"].ratios) == len(spent)
        assert model.costs.operators.seen == len(spent)


def test_what_was_learned_is_there_after_a_restart_and_damage_is_no_error(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        feed(engine, 0, 30)
        known = core_of(engine).costs.known()
        assert known.rates["s"].rows_per_second == pytest.approx(3, rel=0.2)
    assert saved(tmp_path) == known
    with opened(tmp_path) as engine:
        assert core_of(engine).costs.rows.costs == known.rows
    text = (tmp_path / "costs.json").read_bytes()
    for damaged in (b"", text[:-20], text.replace(b"pairs", b"pears"), b'{"costs9":{}}'):
        (tmp_path / "costs.json").write_bytes(damaged)
        assert saved(tmp_path) is None
        with opened(tmp_path) as engine:
            assert core_of(engine).costs.rows.costs.queries == {}
            (tmp_path / "costs.json").unlink()


def test_what_is_known_of_queries_that_are_gone_is_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        feed(engine, 0, 30)
        engine.sql("DROP QUERY pairs; CREATE QUERY keys AS SELECT DISTINCT k FROM s [RANGE 9 SECONDS] PERIOD 5 SECONDS")
        feed(engine, 30, 50)
    found = saved(tmp_path)
    assert found is not None
    assert set(found.rows.queries) == {"keys"}


def test_the_rows_of_a_window_follow_from_manifests() -> None:
    """Whole files count whole; of the others, the part of their time that is in the window."""
    held = RetainedFiles({"s": RetainedStream("m", "t")}, "/state")
    for number, (least, greatest, count) in enumerate([(1, 10, 100), (11, 20, 50), (21, 21, 7)]):
        product = RetainedRows("s", least * SECOND, greatest * SECOND, "m")
        held.add(Section(product, f"f{number}", 0, 8 * count, 0, count))
    window = RowWindow("s", 6 * SECOND, ("k",))
    assert held.rows_of(held.window(window, 21 * SECOND)) == pytest.approx(50 * 5 / 9 + 7, rel=1e-3)
    assert held.rows_of(held.window(RowWindow("s", 100 * SECOND, ("k",)), 30 * SECOND)) == pytest.approx(157)
    assert held.rates()["s"].bytes_per_row == pytest.approx(8)
    held.drop({"s": 20 * SECOND})
    assert held.rows_of(held.window(window, 21 * SECOND)) == pytest.approx(7)


def test_explain_says_what_a_query_adds_before_and_after_it_runs(tmp_path: Path) -> None:
    keys = "CREATE QUERY keys AS SELECT DISTINCT k FROM s [RANGE 40 SECONDS] PERIOD 5 SECONDS; EXPLAIN keys"
    with opened(tmp_path) as engine:
        feed(engine, 0, 30)
        before = engine.explain(keys)
        assert re.search(r"known +by operators of other queries\n +selectivities are not known yet", before)
        assert "keys" not in engine.catalog.queries, "nothing takes effect"
        # Rows of s come at 3 per second, x and k of 20 seconds are kept: 120 rows of 28 bytes instead of 60.
        assert re.search(r"keeps 1\.[67]\d* KB", before)
        assert "by its own answers" in engine.explain("EXPLAIN pairs")
        engine.sql(keys)
        feed(engine, 30, 50)
        assert "by its own answers" in engine.explain("EXPLAIN keys")
    unopened = Engine(str(tmp_path / "other"), backend=InProcess)
    unopened.sql(STREAM)
    assert "by guesses: nothing was measured" in unopened.explain(keys)
    assert "as if s had 1,000 rows per second" in unopened.explain(keys)
