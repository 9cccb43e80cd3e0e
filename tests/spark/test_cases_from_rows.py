"""Every run case on Spark: cut small, every window answered from rows.

In process the same cases go this way with every change (``tests/engine/test_cases.py``).
"""

from __future__ import annotations

import pytest

from tests.cqt.case import Case, read_cases
from tests.cqt.play import DATA
from tests.cqt.ways import Together, Way
from tests.spark.backends import Cut

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.usefixtures("small_tasks")]

CASES = read_cases(DATA / "run")
TOGETHER = Together(CASES, Way("cut small, every window from rows", Cut, {"window_merge": "rows"}))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_run(case: Case) -> None:
    TOGETHER.check(case)


def test_one_program_of_all_cases() -> None:
    TOGETHER.check_program()
