"""Text in a query comes out as it was written on Spark too, and a lambda variable is its author's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.test_texts import TEXTS, check, rows_of_answers

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def test_text_comes_out_as_written(tmp_path: Path) -> None:
    check(tmp_path, {**TEXTS, "'it''s'": "it's"}, None)


def test_a_lambda_variable_is_none_of_our_names(tmp_path: Path) -> None:
    """A body reads the aggregate and the variable side by side, whatever the variable is called."""
    shifted = ", ".join(
        f"transform(approx_percentile(k0, array(0.0, 1.0)), {name} -> {name} + max(k0) * 10) AS {name}"
        for name in ("a0", "a1", "k0", "at", "p0")
    )
    text = f"""
    CREATE STREAM s (at TIMESTAMP EVENT TIME, a0 STRING, k0 INT, p0 INT) FROM FEED;
    CREATE QUERY q AS SELECT {shifted} FROM s [RANGE 1 MINUTE] GROUP BY a0 PERIOD 1 MINUTE;
    CREATE QUERY r AS SELECT count(*) AS n FROM s [RANGE 1 MINUTE] PERIOD 1 MINUTE;
    """
    of_x, of_y = rows_of_answers(tmp_path, text, None)["q"]
    for name in ("a0", "a1", "k0", "p0"):
        assert (list(of_x[name]), list(of_y[name])) == ([20, 22], [11, 11])
