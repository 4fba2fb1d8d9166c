"""Several runs of one command as one run: every row with its medians."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

from .runs import Row, peer_names, right_speed_up

Run = dict[str, Any]
KEY = ("operator", "layout", "shape", "dtype", "threads")


def medians(runs: Iterable[Run]) -> list[Run]:
    """One run for each command and machine, in the order of the first of each."""
    together: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        together.setdefault((run["command"], run["machine"]["cpu"]), []).append(run)
    return [same[0] if len(same) == 1 else merged(same) for same in together.values()]


def merged(runs: list[Run]) -> Run:
    rows: dict[tuple[Any, ...], list[Row]] = {}
    for run in runs:
        for row in run["rows"]:
            rows.setdefault(tuple(row[part] for part in KEY), []).append(row)
    return runs[0] | {"runs": len(runs), "rows": [median_row(same) for same in rows.values()]}


def median_row(rows: list[Row]) -> Row:
    """Times are such that their ratios to ours are the medians of the runs' ratios: machines change
    their speed from run to run."""
    ours = statistics.median(row["ours_us"] for row in rows)

    def beside_ours(times: Iterable[tuple[float | None, Row]]) -> float | None:
        ratios = [us / row["ours_us"] for us, row in times if us is not None]
        return ours * statistics.median(ratios) if ratios else None

    peers = {
        name: beside_ours((row["peers"].get(name), row) for row in rows)
        for name in peer_names(rows)
    }
    wrong: dict[str, float] = {}  # in any run
    for row in rows:
        for name, error in row.get("wrong_peers", {}).items():
            wrong[name] = max(error, wrong.get(name, 0))
    limit = beside_ours((row["limit_us"], row) for row in rows)
    speed_ups = [row["speedup"] for row in rows if row["speedup"] is not None]
    right = [value for row in rows if (value := right_speed_up(row)) is not None]
    return rows[0] | {
        "ours_us": ours,
        "limit_us": limit,
        "two_pass_limit_us": beside_ours((row["two_pass_limit_us"], row) for row in rows),
        "fraction": limit / ours,
        "peers": peers,
        "wrong_peers": wrong,
        "fastest_peer": min(peers, key=peers.get, default=None),
        "speedup": statistics.median(speed_ups) if speed_ups else None,
        "right_speedup": statistics.median(right) if right else None,
        "disturbed": 2 * sum(row["disturbed"] for row in rows) > len(rows),
    }
