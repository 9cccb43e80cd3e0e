"""A program file and the options given beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from punctual.errors import ConfigError, ParseError


def read_program(path: str) -> tuple[str, str]:
    """The program's text and the folder that its relative paths start from."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(), os.path.dirname(os.path.abspath(path))
    except OSError as problem:
        raise ParseError(
            "parse.no-program",
            f'program "{path}" cannot be read: {problem.strerror}',
            hint="name a file with SQL in it",
        ) from problem
    except UnicodeDecodeError as problem:
        raise ParseError("parse.no-program", f'program "{path}" is not UTF-8 text') from problem


def given_options(pairs: Sequence[str]) -> dict[str, str]:
    """``["tick=2 seconds"]`` as a mapping."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigError("config.bad-value", f'"{pair}" is not of the form option=value', hint="--set tick=2s")
        found[name.strip()] = value.strip()
    return found
