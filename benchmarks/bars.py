"""How fast every row has to be: prints which rows of one run or of several reach their bars.

bars.py RUN.json...: files of ./scripts/bench or ./scripts/bench --peers. Of several runs each row
counts with its median. Exit code 1 if a bar is missed.

A row has a fraction of the limit, and, where peers were measured, a speed-up over the fastest of
them that computed the right thing. Forward and backward passes have bars of their own.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from pictures.runs import PASSES, load, pass_of, right_speed_up, title

NOT_LOST, AHEAD = 0.95, 1.2  # speed-up: of every row; of a share of the rows
AHEAD_SHARE = {"forward": 2 / 3, "backward": 3 / 4}
TINY = ("16x768", "64x768")  # no fraction of the limit is asked; backward ahead of every peer
SMALL = 300_000  # elements: half of a fraction is asked of BatchNorm below
TWIN = 1 / 1.5  # padded and permuted tensors: speed of the row-major twin


@dataclass
class Bar:
    rows: str
    least: float  # of what a row is held to


def bar_of(row: dict[str, Any], cache_bytes: int) -> Bar:
    """The least fraction of the limit."""
    operator, f32 = row["operator"], row["dtype"] == "f32"
    kind, where = ("f32", "16-bit")[not f32], "beyond the cache"
    if row.get("twin_us"):
        return Bar("padded and permuted, of the row-major twin", TWIN)
    if row["shape"] in TINY:
        return Bar("tiny, no fraction asked", 0)
    inside = row["bytes"] <= cache_bytes
    if inside:
        where = "in cache"
    if pass_of(row) == "forward":
        least = 0.65
        if inside:
            least = 0.40 if f32 else 0.25
        if operator.startswith("batch_norm") and row["elements"] < SMALL:
            return Bar(f"{kind} forward, small BatchNorm", least / 2)
        return Bar(f"{kind} forward, {where}", least)
    if not operator.startswith("batch_norm"):
        if f32:
            return Bar(f"f32 LayerNorm, RMSNorm, {where}", 0.45 if inside else 0.60)
        return Bar(f"16-bit LayerNorm, RMSNorm, {where}", 0.28 if inside else 0.42)
    if operator != "batch_norm_training":
        name, least = "BatchNorm inference, reduce, elementwise", 0.70
        if inside:
            least = 0.45 if f32 else 0.28
    elif row["layout"] == "channels_last":
        name, least = "BatchNorm training, channels-last", 0.80
        if inside:
            least = 0.35 if f32 else 0.22
        else:
            where += ", of the two-pass limit"
    else:
        name, least = "BatchNorm training, row-major", 0.65 if f32 else 0.50
        if inside:
            least = 0.45 if f32 else 0.28
    if row["elements"] < SMALL:
        return Bar(f"{kind} {name}, small", least / 2)
    return Bar(f"{kind} {name}, {where}", least)


def fraction(row: dict[str, Any], cache_bytes: int) -> float:
    if row.get("twin_us"):
        return row["twin_us"] / row["ours_us"]
    limit = row["limit_us"]
    if row["bytes"] > cache_bytes and row.get("two_pass_limit_us"):
        limit = row["two_pass_limit_us"]
    return limit / row["ours_us"]


@dataclass
class Judged:
    name: str
    of_pass: str
    bar: Bar
    tiny: bool
    fractions: list[float] = field(default_factory=list)
    speed_ups: list[float] = field(default_factory=list)

    @property
    def fraction(self) -> float:
        return statistics.median(self.fractions)

    @property
    def speed_up(self) -> float | None:
        return statistics.median(self.speed_ups) if self.speed_ups else None

    @property
    def is_slow(self) -> bool:
        return self.fraction < self.bar.least

    @property
    def is_lost(self) -> bool:
        least = 1.0 if self.tiny and self.of_pass == "backward" else NOT_LOST
        return self.speed_up is not None and self.speed_up < least

    def line(self) -> str:
        verdict = "FAIL" if self.is_slow or self.is_lost else "pass"
        peers = f"{self.speed_up:8.2f}" if self.speed_up is not None else f"{'-':>8}"
        return f"  {verdict}  {self.name:<76} {self.fraction:6.2f} {peers}"


def judged(paths: Iterable[Path]) -> Iterator[Judged]:
    rows: dict[tuple[Any, ...], Judged] = {}
    for run in map(load, paths):
        cache_bytes = run["machine"]["caches"][-1]["bytes"]
        for row in run["rows"]:
            key = tuple(row[part] for part in ("operator", "layout", "shape", "dtype", "threads"))
            of_pass = pass_of(row)
            where = f"{row['shape']} {row['dtype']}, {row['threads']} threads"
            name = f"{title(row)}, {of_pass} {where}"
            if key not in rows:
                bar, tiny = bar_of(row, cache_bytes), row["shape"] in TINY
                rows[key] = Judged(name, of_pass, bar, tiny)
            rows[key].fractions.append(fraction(row, cache_bytes))
            if (speed_up := right_speed_up(row)) is not None:
                rows[key].speed_ups.append(speed_up)
    yield from rows.values()


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows = sorted(judged(map(Path, sys.argv[1:])), key=lambda row: row.bar.rows)
    print("Bars: the least fraction of the limit, and the speed-up over the fastest peer")
    for name, group in groupby(rows, key=lambda row: row.bar.rows):
        members = list(group)
        print(f"\n{name}: {members[0].bar.least:.2f}")
        for row in members:
            print(row.line())
    print()
    reached = [summarize(which, [row for row in rows if row.of_pass == which]) for which in PASSES]
    return int(not all(reached))


def summarize(which: str, rows: list[Judged]) -> bool:
    """Prints how many rows of a pass reach their bars; do all that must?"""
    if not rows:
        return True
    slow, lost = sum(row.is_slow for row in rows), sum(row.is_lost for row in rows)
    line = f"{which}: {len(rows) - slow} of {len(rows)} rows reach their fraction"
    compared = [row.speed_up for row in rows if row.speed_up is not None]
    if not compared:
        print(line)
        return slow == 0
    ahead, share = sum(speed_up >= AHEAD for speed_up in compared), AHEAD_SHARE[which]
    print(
        f"{line}; {lost} of {len(compared)} are lost to a peer; {ahead}"
        f" ({ahead / len(compared):.0%}) are {AHEAD} times as fast as the fastest, asked are"
        f" {share:.0%}"
    )
    return slow == 0 and lost == 0 and ahead >= share * len(compared)


if __name__ == "__main__":
    sys.exit(main())
