"""What answers say of the samples that they rest on, so that anybody can draw them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from punctual.kinds.drawn_sample import DrawnSample
from punctual.kinds.job import Job


def sample_texts(
    job: Job, kept: NDArray[np.float64], shares: Sequence[Sequence[float]] | None = None, estimated: Sequence[str] = ()
) -> pa.Array:
    """For each answer of a job the samples of its inputs, as JSON.

    ``kept`` are the shares of rows that were read at all, where the job drew no samples of its own, ``shares`` the
    different ones that they are the mean of; ``estimated`` are the clauses that chose rows by estimates.
    """
    texts = []
    for number, share in enumerate(kept.tolist()):
        several = () if shares is None else shares[number]
        drawn = _shed(job, share, several) if job.samples is None else job.samples[number]
        inputs = {one.input: one.said() for one in drawn}
        if estimated:
            inputs = {name: {**said, "estimated": list(estimated)} for name, said in inputs.items()}
        texts.append(orjson.dumps(inputs).decode())
    return pa.array(texts, pa.string())


def _shed(job: Job, share: float, shares: Sequence[float]) -> list[DrawnSample]:
    """What was left of streams that are shed while they are read."""
    found = []
    for name, one in {one.stream: one for one in job.query.inputs}.items():
        by = one.told_apart_by
        found.append(DrawnSample(name, share, name.lower(), by, of=_PLACED.get(by), shares=tuple(shares)))
    return found


_PLACED: Mapping[tuple[str, ...], Literal["lines", "positions"]] = {("line",): "lines", ("path", "row"): "positions"}
"""What has a place in a sample that is drawn while rows are read, where that is none of their columns."""
