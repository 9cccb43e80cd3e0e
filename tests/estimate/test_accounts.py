"""Models by account: those that were used last stay, however many names there are."""

from __future__ import annotations

import threading

from punctual.estimate.accounts import MOST, Accounts
from punctual.estimate.linear_cost import LinearCost

GUESS = LinearCost.guessed(100.0, rows=1.0)


def learn(accounts: Accounts, name: str) -> None:
    accounts.learn(name, {"rows": 10.0}, 500.0, GUESS)


def test_no_more_are_kept_than_were_used_last() -> None:
    accounts = Accounts()
    for number in range(3 * MOST):
        learn(accounts, f"ingest {number}")
        learn(accounts, "panes of a unit that runs")
        assert len(accounts.costs) <= MOST
    assert accounts.costs["panes of a unit that runs"].seen == 3 * MOST
    assert list(accounts.costs)[-2:] == [f"ingest {3 * MOST - 1}", "panes of a unit that runs"]
    assert accounts.predict("ingest 0", {"rows": 10.0}) is None
    assert accounts.predict(f"ingest {3 * MOST - 5}", {"rows": 10.0}) is not None


def test_what_was_kept_before_is_cut_too() -> None:
    """A state of a version that kept everything."""
    known = {f"ingest {number}": GUESS for number in range(2 * MOST)}
    found = Accounts(known).costs
    assert list(found) == list(known)[MOST:]


def test_threads_learn_side_by_side() -> None:
    accounts = Accounts()
    problems: list[BaseException] = []

    def work(which: str) -> None:
        try:
            for number in range(2 * MOST):
                learn(accounts, f"{which} {number}")
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(which,)) for which in ("reader", "holder")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert len(accounts.costs) == MOST
