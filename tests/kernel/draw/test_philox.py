"""Uniform draws: the published vectors, a second computation, and that a draw follows from its name alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.errors import InternalError
from punctual.kernel.draw import source, uniforms
from punctual.kernel.draw.philox import ROUNDS, block, fill
from tests.kernel.draw.plain import SURPRISE, WORD, distance, identities, philox, uniform

some = settings(derandomize=True, deadline=None, max_examples=60, database=None)
PI = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0]
# The known answers that are published with the generator (Random123, kat_vectors, philox4x32 10).
KNOWN = [
    ([0] * 6, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([WORD] * 6, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (PI, [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]),
]


@pytest.mark.parametrize(("given_words", "answer"), KNOWN, ids=["zeros", "ones", "pi"])
def test_published_answers(given_words: list[int], answer: list[int]) -> None:
    a, b, c, d, k, m = (np.uint64(word) for word in given_words)
    assert [int(word) for word in block((a, b, c, d), k, m)] == answer
    assert philox(given_words[:4], given_words[4:]) == answer


@some
@given(
    st.integers(-(2**63), 2**64), st.text(max_size=5), st.text(max_size=5),
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4), st.integers(0, ROUNDS - 20), st.integers(0, 19),
)  # fmt: skip
def test_a_draw_follows_from_its_name(
    seed: int, stream: str, column: str, rows: list[int], first: int, count: int
) -> None:
    found = uniforms(source(seed, stream, column), np.array(rows, np.uint64), range(first, first + count))
    assert found.tolist() == [
        [uniform(seed, stream, column, row, turn) for turn in range(first, first + count)] for row in rows
    ]


def test_any_piece_has_the_numbers_of_the_whole() -> None:
    rows, drawn_from = identities(50), source(3, "speed", "kmh")
    whole = uniforms(drawn_from, rows, range(101))
    for a, b in ((0, 101), (0, 1), (1, 2), (3, 3), (7, 64), (8, 65), (100, 101)):
        for c, d in ((0, 50), (49, 50), (13, 29)):
            piece = uniforms(drawn_from, rows[c:d], range(a, b))
            assert piece.tobytes() == np.ascontiguousarray(whole[c:d, a:b]).tobytes()


def test_threads_see_the_same_numbers() -> None:
    rows, drawn_from = identities(2_000), source(3, "speed", "kmh")
    whole = uniforms(drawn_from, rows, range(64))
    with ThreadPoolExecutor(4) as threads:
        pieces = list(threads.map(lambda at: uniforms(drawn_from, rows[at : at + 50], range(64)), range(0, 2_000, 50)))
    assert np.concatenate(pieces).tobytes() == whole.tobytes()


def test_numbers_are_uniform_in_every_direction() -> None:
    rows = identities(500)
    found = uniforms(source(1, "a", "x"), rows, range(400))
    assert found.min() > 0.0
    assert found.max() < 1.0
    assert distance(found, lambda x: x) < SURPRISE
    for row in (0, 1, 77):
        assert distance(found[row], lambda x: x) < SURPRISE
        assert distance(found[:, row], lambda x: x) < SURPRISE


@pytest.mark.parametrize("other", [source(2, "a", "x"), source(1, "b", "x"), source(1, "a", "y")])
def test_other_names_draw_other_numbers(other: object) -> None:
    rows = identities(300)
    one, two = uniforms(source(1, "a", "x"), rows, range(200)), uniforms(other, rows, range(200))  # type: ignore[arg-type]
    assert not (one == two).any()
    assert abs(np.corrcoef(one.ravel(), two.ravel())[0, 1]) < 4 / np.sqrt(one.size)


def test_rows_and_rounds_do_not_follow_each_other() -> None:
    found = uniforms(source(1, "a", "x"), np.arange(400, dtype=np.uint64), range(300))
    for one, next_one in ((found[1:], found[:-1]), (found[:, 1:], found[:, :-1]), (found[:, 0::2], found[:, 1::2])):
        assert abs(np.corrcoef(one.ravel(), next_one.ravel())[0, 1]) < 4 / np.sqrt(one.size)


@pytest.mark.parametrize("rounds", [range(0, 10, 2), range(-1, 3), range(5, 4), range(ROUNDS + 1)])
def test_rounds_that_are_none(rounds: range) -> None:
    with pytest.raises(InternalError):
        uniforms(source(1, "a", "x"), np.zeros(1, np.uint64), rounds)


def test_arrays_that_cannot_be_written_to() -> None:
    """Arrow's arrays are no reason to compile anything a second time."""
    rows, drawn_from = identities(10), source(1, "a", "x")
    found = uniforms(drawn_from, rows, range(3))
    before = len(fill.signatures)  # type: ignore[attr-defined]
    rows.flags.writeable = False
    assert (uniforms(drawn_from, rows, range(3)) == found).all()
    assert (uniforms(drawn_from, rows[::2], range(3)) == found[::2]).all()
    assert len(fill.signatures) == before  # type: ignore[attr-defined]
