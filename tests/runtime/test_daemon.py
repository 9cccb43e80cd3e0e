"""What workers need is loaded before they are forked, and out of the garbage collector's reach."""

from __future__ import annotations

import json
import subprocess
import sys

from punctual.runtime.operators.daemon import LOADED

LOOK = """
import gc, json, sys
from punctual.runtime.operators import daemon
before = sorted(set(daemon.LOADED) & set(sys.modules))
daemon.load()
print(json.dumps([before, sorted(set(daemon.LOADED) & set(sys.modules)), gc.get_freeze_count(), gc.isenabled()]))
"""


def test_modules_are_loaded_and_kept_and_garbage_is_collected_again() -> None:
    said = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True).stdout
    before, loaded, frozen, collecting = json.loads(said)
    assert "punctual.runtime.operators.direct" not in before
    assert loaded == sorted(LOADED)
    assert frozen > 10_000
    assert collecting
