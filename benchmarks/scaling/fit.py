"""From the runs to the parameters of the model, and how far it is off on other runs.

alpha and bandwidth: ping-pong of 2 ranks. call: the median of what the f32 exchanges of 2 ranks
take beyond that; checked on those of f64. With more ranks than cores a hop waits for the scheduler
too: alpha anew from 3 ranks; checked on 4.
"""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass, replace
from typing import Any

from .model import GLOO, GLOO_ORDER, MPI, MPI_ORDER, Cost, Link

Row = dict[str, Any]
EXCHANGES = ("all_reduce", "rank_order")
WAYS = {
    "gloo": {"all_reduce": GLOO, "rank_order": GLOO_ORDER},
    "mpi": {"all_reduce": MPI, "rank_order": MPI_ORDER},
}


def line(rows: list[Row]) -> tuple[float, float]:
    """us = a + b*bytes with the least squares of the relative errors; neither below 0."""
    x = [(1 / row["us"], row["bytes"] / row["us"]) for row in rows]
    aa, ab, bb = (sum(u[i] * u[j] for u in x) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = sum(u[0] for u in x), sum(u[1] for u in x)
    det = aa * bb - ab * ab
    intercept, slope = (a * bb - b * ab) / det, (aa * b - ab * a) / det
    return (max(intercept, 0.0), b / bb) if intercept < 0 else (intercept, max(slope, 1e-9))


def cost(engine: str, row: Row) -> Cost:
    return WAYS[engine][row["mode"]].of(row["ranks"], row["channels"], row["width"])


def exchanges(rows: list[Row], ranks: int, width: int | None = None) -> list[Row]:
    return [
        row
        for row in rows
        if row["mode"] in EXCHANGES and row["ranks"] == ranks and width in (None, row["width"])
    ]


@dataclass(frozen=True)
class Fitted:
    own_core: Link  # 2 ranks on 2 cores
    shared_core: Link  # more


def gamma_of(run: dict[str, Any]) -> float:
    return line([row for row in run["mpi"] if row["mode"] == "add"])[1]


def fitted(run: dict[str, Any], engine: str) -> Fitted:
    rows = run[engine]
    alpha, per_byte = line([row for row in rows if row["mode"] == "ping_pong"])
    link = Link(alpha, 1 / per_byte, gamma_of(run))
    beyond = [row["us"] - cost(engine, row).us(link) for row in exchanges(rows, 2, 4)]
    link = replace(link, call_us=max(0.0, statistics.median(beyond)))
    still = replace(link, alpha_us=0.0)
    hops = [
        (row["us"] - cost(engine, row).us(still)) / cost(engine, row).hops
        for row in exchanges(rows, 3)
    ]
    return Fitted(link, replace(link, alpha_us=max(0.0, statistics.median(hops))))


def deviations(engine: str, rows: list[Row], link: Link) -> list[float]:
    """modelled / measured - 1"""
    return [cost(engine, row).us(link) / row["us"] - 1 for row in rows]


def adding_us(run: dict[str, Any], p: int, n: int, width: int) -> float:
    """Adding p messages of n numbers in rank order.

    Per number as measured for so many bytes in all; between two of them, linear in the logarithm.
    """
    rows = [row for row in run["local"] if row["mode"] == "rank_order" and row["width"] == width]
    base = rows[0]["us"]  # of two ranks: all but the adding
    points = []
    for row in rows[1:]:
        numbers = row["ranks"] * (2 * row["channels"] + 4)
        points.append((math.log(numbers * width), (row["us"] - base) / numbers))
    at = math.log(p * n * width)
    if at <= points[0][0]:
        return points[0][1] * p * n
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if at <= x1:
            return (y0 + (y1 - y0) * (at - x0) / (x1 - x0)) * p * n
    return points[-1][1] * p * n


def local_ns(run: dict[str, Any]) -> float:
    """Per element: both halves of backward, with one rank."""
    row = next(row for row in run["local"] if row["ranks"] == 1)
    return row["us"] * 1e3 / row["elements"]
