"""The JSON of a run: which rows there are, and what to call them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Row = dict[str, Any]
DTYPES = ("f32", "bf16", "f16")
NAMES = {
    "layer_norm": "LayerNorm",
    "rms_norm": "RMSNorm",
    "batch_norm_training": "BatchNorm, training",
    "batch_norm_inference": "BatchNorm, inference",
    "batch_norm_reduce": "BatchNorm, reduce half",
    "batch_norm_elementwise": "BatchNorm, elementwise half",
}
PASSES = ("forward", "backward")
FORWARD = "_forward"  # how the operators of forward passes end


def load(path: Path) -> dict[str, Any]:
    run = json.loads(path.read_text())
    for key in ("date", "machine", "command", "rows"):
        if key not in run:
            raise ValueError(f"{path} has no '{key}': it is not a file that ./scripts/bench wrote")
    return run


def pass_of(row: Row) -> str:
    return PASSES[not row["operator"].endswith(FORWARD)]


def of_pass(rows: Iterable[Row], which: str) -> list[Row]:
    return [row for row in rows if pass_of(row) == which]


def title(row: Row) -> str:
    """The same for both passes."""
    norm = row["operator"].removesuffix(FORWARD)
    name = NAMES.get(norm, norm)
    return name if row["layout"] == "row_major" else f"{name}, {row['layout'].replace('_', '-')}"


def right_speed_up(row: Row) -> float | None:
    """Over the fastest peer that computed the right thing."""
    if "right_speedup" in row:  # a median of several runs
        return row["right_speedup"]
    wrong = row.get("wrong_peers", {})
    times = [us for name, us in row.get("peers", {}).items() if name not in wrong]
    return min(times) / row["ours_us"] if times else None


def grouped(rows: Iterable[Row]) -> dict[str, dict[str, dict[str, Row]]]:
    """Operator and layout: shape: data type: row, in the order of the file."""
    groups: dict[str, dict[str, dict[str, Row]]] = {}
    for row in rows:
        groups.setdefault(title(row), {}).setdefault(row["shape"], {})[row["dtype"]] = row
    return groups


def machine(run: dict[str, Any]) -> str:
    """A processor, how many cores it has here, its last cache."""
    of = run["machine"]
    caches = [f"L{cache['level']} {cache['bytes'] >> 20} MiB" for cache in of["caches"][-1:]]
    return ", ".join([of["cpu"], f"{of['cores']} cores", *caches])


def versions(run: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in run.get("versions", {}).items())


def caption(run: dict[str, Any]) -> str:
    runs = f", medians of {run['runs']} runs" if "runs" in run else ""
    return f"{run['date'][:10]}, {machine(run)}: {run['command']}{runs}"


def most_threads(rows: list[Row]) -> list[Row]:
    most = max(row["threads"] for row in rows)
    return [row for row in rows if row["threads"] == most]


def peer_names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.get("peers", {})))
