"""Every run case on Spark: a second check of what the kernels and the engine answer.

All cases are one program in one JVM, step by step together; what fails there is run again alone. Each other way to run
them is a file of its own (``test_cases_...``), so that workers of pytest share them.
"""

from __future__ import annotations

import pytest

from tests.cqt.case import Case, read_cases
from tests.cqt.play import DATA
from tests.cqt.running import run_case
from tests.cqt.ways import Together, Way
from tests.spark.backends import Shared

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("small_tasks")]

CASES = read_cases(DATA / "run")
LANGUAGE = [case for case in read_cases(DATA / "language") if case.headers.get("needs") == "spark"]
TOGETHER = Together(CASES, Way("straight", Shared))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_run(case: Case) -> None:
    TOGETHER.check(case)


def test_one_program_of_all_cases() -> None:
    TOGETHER.check_program()


@pytest.mark.parametrize("case", LANGUAGE, ids=lambda case: case.name)
def test_language(case: Case) -> None:
    run_case(case, Shared)
