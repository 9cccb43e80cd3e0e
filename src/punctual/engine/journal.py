"""Decisions that answers depend on, written down before they take effect.

A record holds every decision that still matters, by subject, so the last one is enough, and the others are forgotten.
"""

from __future__ import annotations

from typing import Any

import orjson

from punctual.store.records import RecordLog


class Journal:
    """The last record of a state's journal."""

    def __init__(self, log: RecordLog) -> None:
        self._log = log
        self._body: dict[str, Any] = {}
        for _position, payload in log.read(max(0, log.position - 1)):
            self._body = orjson.loads(payload)

    def read(self, subject: str) -> list[Any]:
        """What was decided."""
        found: list[Any] = self._body.get(subject, [])
        return found

    def write(self, subject: str, decisions: list[Any]) -> None:
        """From now on this holds; durable when this returns."""
        if decisions != self.read(subject):
            body = {**self._body, subject: decisions}
            position = self._log.append(orjson.dumps(body))
            self._log.trim(position)
            self._body = body
