"""Every run case on Spark, resumed at every step.

Every step checks and plans all row queries again, which takes minutes; without Spark it is part of every run.
"""

from __future__ import annotations

import pytest

from tests.cqt.case import Case, read_cases
from tests.cqt.play import DATA
from tests.cqt.ways import Together, Way
from tests.spark.backends import Shared

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.usefixtures("small_tasks")]

CASES = read_cases(DATA / "run")
TOGETHER = Together(CASES, Way("resumed at every step", Shared, resume=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_run(case: Case) -> None:
    TOGETHER.check(case)


def test_one_program_of_all_cases() -> None:
    TOGETHER.check_program()
