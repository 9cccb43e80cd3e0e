"""Files that a task writes for the state."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid

import pyarrow as pa

from punctual.errors import disk_full


def write_payload(folder: str, payload: pa.Buffer) -> str:
    """Write under a name that no other attempt of the task uses; the commit names the one that counts."""
    path = os.path.join(folder, f"{uuid.uuid4().hex}.arrow")
    try:
        with open(path, "wb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(OSError):  # give a full disk its space back
            os.unlink(path)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(path) from error
        raise
    return path
