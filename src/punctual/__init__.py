"""Punctual: many standing queries over streams, each answered on time, on Spark.

>>> import punctual
>>> engine = punctual.connect()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from punctual.engine.engine import Engine, connect
    from punctual.errors import PunctualError

__all__ = ["Engine", "PunctualError", "connect"]

_HOMES = {"Engine": "punctual.engine.engine", "connect": "punctual.engine.engine", "PunctualError": "punctual.errors"}


def __getattr__(name: str) -> Any:
    """Names are loaded when they are used: importing the package has no side effects and takes no time."""
    if name not in _HOMES:
        raise AttributeError(f"module 'punctual' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
