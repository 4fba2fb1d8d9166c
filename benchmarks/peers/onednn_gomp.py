"""oneDNN on OpenMP, as frameworks build it: the last package of that kind."""

from __future__ import annotations

import sys
from pathlib import Path

from .onednn import OneDnn
from .worker import Settings


def make(settings: Settings) -> OneDnn:
    folder = (
        Path(sys.prefix) / "onednn-cpu-gomp/lib"
    )  # apart: its library has the name of the newest
    return OneDnn(settings, "onednn-gomp", folder / "libdnnl.so.3")
