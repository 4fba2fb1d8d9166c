"""What a run shows and writes: progress, a table, JSON."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def machine() -> dict[str, Any]:
    """As normgrad_bench writes it."""
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    caches = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (
            (folder / name).read_text().strip() for name in ("level", "type", "size")
        )
        caches.append(
            {"level": int(level), "type": kind, "bytes": int(size.removesuffix("K")) << 10}
        )
    cpu = found.group(1) if found else "unknown"
    return {"cpu": cpu, "cores": os.cpu_count(), "caches": caches}


def write(path: Path, run: dict[str, Any]) -> None:
    """In one step, so that a run that is cut off leaves a whole file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(run, indent=1) + "\n")
    unfinished.replace(path)


class Progress:
    """One line on stderr: where we are and how long it will take."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.done = 0
        self.started = time.monotonic()

    def show(self, name: str) -> None:
        text = f"[{self.done + 1}/{self.count}] {name}{self.left()}"
        self.done += 1
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def left(self) -> str:
        if self.done == 0:
            return ""
        seconds = (time.monotonic() - self.started) / self.done * (self.count - self.done)
        amount = f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"
        return f", about {amount} left"


def print_heading(peers: list[str]) -> None:
    columns = "".join(f"{name:>14}" for name in peers)
    left = f"{'workload':<58} {'dtype':<5}{'limit us':>10}{'ours us':>10}{'fraction':>9}"
    print(f"{left}{columns}{'speed-up':>9}")


def print_row(row: Row, peers: list[str]) -> None:
    layout = "" if row["layout"] == "row_major" else "_" + row["layout"]
    name = f"{row['operator']}{layout}/{row['shape']}"
    numbers = f"{row['limit_us']:10.1f}{row['ours_us']:10.1f}{row['fraction']:9.2f}"
    columns = "".join(f"{peer_time(row, peer):>14}" for peer in peers)
    speedup = f"{row['speedup']:.2f}" if row["speedup"] else "-"
    disturbed = "~" if row["disturbed"] else ""
    print(f"{name:<58} {row['dtype']:<5}{numbers}{columns}{speedup:>9}{disturbed}", flush=True)


def peer_time(row: Row, peer: str) -> str:
    if peer not in row["peers"]:
        return "-"
    return f"{row['peers'][peer]:.1f}{'!' if peer in row.get('wrong_peers', {}) else ''}"
