"""What is wrong with a compressed file that Spark could not read: Spark says only that it could not."""

from __future__ import annotations

import os

import pyarrow as pa

_MAGIC = {".gz": ("gzip", b"\x1f\x8b"), ".bz2": ("bzip2", b"BZh"), ".zst": ("zstd", b"\x28\xb5\x2f\xfd")}
_PIECE_BYTES = 1 << 20


def damage(path: str) -> str | None:
    """What is wrong, found by unpacking the file to its end; None when that works, or when it is not compressed."""
    kind, magic = _MAGIC.get(os.path.splitext(path)[1].lower(), (None, b""))
    if kind is None:
        return None
    try:
        with open(path, "rb") as file:
            if file.read(len(magic)) != magic:
                return f"it is named like a {kind} file and is none"
        with pa.input_stream(path, compression=kind.replace("bzip2", "bz2")) as stream:
            while stream.read(_PIECE_BYTES):
                pass
    except (OSError, pa.ArrowException) as problem:
        return f"it is a damaged {kind} file: {problem}"
    return None
