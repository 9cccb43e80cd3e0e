"""What the run says of possible worlds, and the rounds that it keeps from window to window, in memory alone."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.config import Options
from punctual.engine.answers.function_jobs import FunctionJobs
from punctual.engine.answers.round_model import RoundModel
from punctual.kernel.draw.kept.kept_folds import KeptFolds
from punctual.kinds.world_run import WorldRun
from punctual.plan.worlds import PythonFunction
from punctual.runtime.backend import Backend


class WorldRuns:
    """Made for every pass by the options of that time."""

    def __init__(self, backend: Backend, model: RoundModel) -> None:
        self._backend = backend
        self._model = model
        self._kept = KeptFolds(0)

    def of(self, options: Options, functions: Mapping[str, PythonFunction]) -> WorldRun:
        """What a pass needs to know."""
        if self._kept.rounds != options.rounds_kept:
            self._kept = KeptFolds(options.rounds_kept)
        called = FunctionJobs(self._backend, functions, options.max_function_time_us)
        kept = self._kept if options.rounds_kept else None
        return WorldRun(options.seed, options.closed_forms, self._model, called, kept=kept)

    def only(self, queries: frozenset[str]) -> None:
        """Keep no rounds of queries that are gone; on the holder's thread, which has them."""
        self._kept.only(queries)
