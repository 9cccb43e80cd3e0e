"""How far a state has come: what every file that is written vouches for.

A log that lost its last records looks like one that never had them, and so does a folder that lost its newest file. So
every file of the state and every record of a log says how far all the others had come when it was written: that was
durable by then, and must still be there. Numbers only grow, and each is counted after it is durable, so a crash never
leaves a file that speaks of something that is not on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Positions:
    """Numbers of the newest program, of committed batches, of records in both logs, of saves of what is displayed."""

    program: int = 0
    batches: int = 0
    journal: int = 0
    answers: int = 0
    displayed: int = 0

    def numbers(self) -> tuple[int, ...]:
        """All of them, in order."""
        return tuple(getattr(self, one.name) for one in fields(self))

    def lacks(self, vouched: Positions) -> tuple[str, int, int] | None:
        """What is behind the vouched ones, if anything is: its name, how far it should have come, how far it has.

        >>> Positions(1, 7, 2, 5).lacks(Positions(1, 7, 2, 6))
        ('answers', 6, 5)
        """
        for one, wanted, here in zip(fields(self), vouched.numbers(), self.numbers()):
            if here < wanted:
                return one.name, wanted, here
        return None
