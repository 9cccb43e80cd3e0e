"""Something that starts aside: once, for whoever waits, and with what went wrong."""

from __future__ import annotations

import threading

import pytest

from punctual.runtime.jvm.starting import Starting


def test_it_starts_once_and_not_in_the_caller_s_thread() -> None:
    made: list[threading.Thread] = []

    def start() -> int:
        made.append(threading.current_thread())
        return 7

    one = Starting(start)
    assert not one.begun()
    one.begin()
    assert one.begun()
    assert (one.get(), one.get()) == (7, 7)
    assert len(made) == 1
    assert made[0] is not threading.current_thread()


def test_it_starts_when_it_is_first_needed() -> None:
    one = Starting(lambda: 7)
    assert one.get() == 7


def test_nobody_waits_before_it_is_needed() -> None:
    go_on = threading.Event()
    one = Starting(lambda: go_on.wait(60))
    one.begin()
    go_on.set()
    assert one.get()


def test_what_went_wrong_is_raised_whenever_it_is_needed() -> None:
    def start() -> int:
        raise ValueError("no")

    one = Starting(start)
    one.begin()
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            one.get()
