"""What answers of a pass used, where queries are in several groups of it."""

from __future__ import annotations

import numpy as np

from punctual.engine.answers.pass_spent import _averaged


def test_several_queries_in_several_groups_have_the_means_of_their_answers() -> None:
    queries, each = ["a", "b", "c", "a", "b"], np.array([1, 2, 1, 1, 1])
    whole = np.array([[1.0, 2.0, 4.0, 7.0, 3.0, 9.0]])
    place: dict[str, tuple[int, int]] = {"c": (3, 1)}
    found = _averaged(place, queries, whole, each)
    assert place == {"a": (6, 1), "b": (7, 1), "c": (3, 1)}
    assert found.tolist() == [[1.0, 2.0, 4.0, 7.0, 3.0, 9.0, 2.0, 5.0]]
