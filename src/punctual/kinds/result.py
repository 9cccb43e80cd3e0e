"""What a kind makes of a job: the rows of each answer, and the fields that it has a say in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Result:
    """One entry for each instant of the job.

    rows : a list of structs per answer: the query's columns
    error : JSON by answer (NULL where it is exact), None where all of them are
    basis, quality, kept : as in answers; the same for all of them, or one each; no quality: that of all rows
    incomplete : answers that lack rows though their windows are covered; None: none of them
    fields : further columns that the answers of this kind have
    """

    rows: pa.ListArray
    error: pa.Array | None = None
    basis: str | pa.Array = "exact"
    quality: NDArray[np.float64] | None = None
    kept: float | NDArray[np.float64] = 1.0
    incomplete: NDArray[np.bool_] | None = None
    fields: Mapping[str, pa.Array] = field(default_factory=dict)
