"""Files that a task writes for the state."""

from __future__ import annotations

import os
import uuid

import pyarrow as pa


def write_payload(folder: str, payload: pa.Buffer) -> str:
    """Write under a name that no other attempt of the task uses; the commit names the one that counts."""
    path = os.path.join(folder, f"{uuid.uuid4().hex}.arrow")
    with open(path, "wb") as file:
        file.write(payload)
        file.flush()
        os.fsync(file.fileno())
    return path
