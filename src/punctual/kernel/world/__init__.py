"""Uncertain top-k in arrays: rows that exist with a probability, rules whose rows exclude each other, and who is best.

Public: the functions below, each over sequences or arrays of one value per row. :func:`rank_together` is the pass that
several queries over the same rows share.
"""

from punctual.kernel.world.answers import global_topk, pk_topk, prf, pt_k, u_kranks
from punctual.kernel.world.candidates import candidates
from punctual.kernel.world.closed_forms import expected_ranks, prfe
from punctual.kernel.world.input.rows import WorldError
from punctual.kernel.world.input.wanted import Wanted
from punctual.kernel.world.likeliest import u_topk
from punctual.kernel.world.ranked import Ranked
from punctual.kernel.world.ranks import RankTable, rank_probabilities, topk_probabilities
from punctual.kernel.world.streams import topk_streams, topk_streams_exclusive
from punctual.kernel.world.together import rank_together

__all__ = [
    "RankTable",
    "Ranked",
    "Wanted",
    "WorldError",
    "candidates",
    "expected_ranks",
    "global_topk",
    "pk_topk",
    "prf",
    "prfe",
    "pt_k",
    "rank_probabilities",
    "rank_together",
    "topk_probabilities",
    "topk_streams",
    "topk_streams_exclusive",
    "u_kranks",
    "u_topk",
]
