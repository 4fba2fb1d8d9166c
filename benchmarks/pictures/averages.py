"""How fast each family of rows is on average."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from .runs import PASSES, Row, grouped, of_pass, right_speed_up


@dataclass(frozen=True)
class Average:
    family: str
    rows: int
    speed_up: float | None  # geometric mean, over the fastest peer that is right
    fraction: float  # of the limit; median

    @property
    def cells(self) -> tuple[str, ...]:
        speed_up = f"{self.speed_up:.2f}x" if self.speed_up is not None else "-"
        return self.family, str(self.rows), speed_up, f"{self.fraction:.2f}"


def average(family: str, rows: list[Row]) -> Average:
    speed_ups = [value for row in rows if (value := right_speed_up(row)) is not None]
    mean = statistics.geometric_mean(speed_ups) if speed_ups else None
    return Average(family, len(rows), mean, statistics.median(row["fraction"] for row in rows))


def averages(rows: Iterable[Row]) -> list[Average]:
    """Of every family, and of all forward and all backward rows."""
    rows, found = list(rows), []
    for which in PASSES:
        mine = of_pass(rows, which)
        for heading, shapes in grouped(mine).items():
            members = [row for by_dtype in shapes.values() for row in by_dtype.values()]
            found.append(average(f"{heading}, {which}", members))
        if mine:
            found.append(average(f"all {which}", mine))
    return found


def text_lines(rows: Iterable[Row]) -> list[str]:
    heading = f"{'average':<48} {'rows':>5} {'speed-up':>9} {'fraction':>9}"
    every = [each.cells for each in averages(rows)]
    return [heading, *(f"{a:<48} {n:>5} {s:>9} {f:>9}" for a, n, s, f in every)]


def table_lines(rows: Iterable[Row]) -> list[str]:
    """Markdown."""
    lines = ["| average | rows | speed-up | fraction |", "|---|---|---|---|"]
    for each in averages(rows):
        family, *numbers = each.cells
        family = f"**{family}**" if family.startswith("all ") else family
        lines.append(f"| {family} | " + " | ".join(numbers) + " |")
    return lines
