"""All cases of a folder the same way at once, and each of them alone when that fails.

Cases that share one program share its jobs, its type checks and its restarts; that makes it affordable to run every
case in several ways. A case that fails in company is run again alone, so that the report is about that case only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.cqt.case import Case
from tests.cqt.play import Play
from tests.cqt.running import MakeBackend, run_case, run_together


@dataclass(frozen=True, slots=True)
class Way:
    """How cases are run: on which data plane, with which options, stopped and resumed between all steps or not."""

    name: str
    backend: MakeBackend
    options: dict[str, str] = field(default_factory=dict)
    resume: bool = False


@dataclass(slots=True)
class Together:
    """The outcome of all cases run one way; run when first asked for."""

    cases: Sequence[Case]
    way: Way
    crash: Exception | None = None
    """What brought the common program down; then every case is run alone."""
    _problems: dict[str, Exception] | None = None

    def check(self, case: Case) -> None:
        """Raise what is wrong with the case, found alone where possible."""
        problems = self.run()
        if self.crash is not None or case.name in problems:
            run_case(case, self.way.backend, resume=self.way.resume, options=self.way.options)
        if case.name in problems:
            raise AssertionError("holds alone, fails together with other cases") from problems[case.name]

    def check_program(self) -> None:
        """Raise what brought the common program down."""
        self.run()
        if self.crash is not None:
            raise AssertionError("cases that run together bring each other down") from self.crash

    def run(self) -> dict[str, Exception]:
        """All cases together; what failed, by case."""
        if self._problems is None:
            plays = [Play(case, prefix=f"{case.name}_") for case in self.cases]
            try:
                self._problems = run_together(plays, self.way.backend, resume=self.way.resume, options=self.way.options)
            except Exception as problem:
                self.crash, self._problems = problem, {}
        return self._problems
