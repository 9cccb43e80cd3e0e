"""The kind of ``sample_of.py`` with ANSWERS: the answer of number n has the first n + 1 rows of the sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from punctual.kernel.panes.panes import Answered
from punctual.kinds.job import Job
from punctual.kinds.result import Result
from punctual.sql.syntax.clauses import AnswersClause
from tests.kinds.sample_of import SampleOfKind


class NumberedKind(SampleOfKind):
    """Its answers say which number their job had."""

    clauses = frozenset((AnswersClause,))

    def finish(self, job: Job, answered: Answered, reply: list[pa.Array]) -> Result:
        whole = super().finish(job, answered, reply)
        said = pa.array(np.full(len(whole.rows), job.number))
        return replace(whole, rows=pc.list_slice(whole.rows, 0, job.number + 1), fields={**whole.fields, "said": said})
