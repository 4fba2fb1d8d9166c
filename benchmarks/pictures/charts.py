"""The pictures: fraction of the limit and speed-up over each peer, by pass; cost per element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .runs import DTYPES, Row, caption, grouped, most_threads, of_pass, peer_names, title
from .svg import COLOURS, Axis, Svg, log_ticks

LABELS = 150  # width of the shapes' names
LINE = 17  # height of a workload
TOP = 88

Draw = Callable[[float, dict[str, Row]], None]


def bottom(rows: list[Row]) -> float:
    """Where grouped_lines ends."""
    groups = grouped(rows).values()
    return TOP + 16 + LINE * (1.5 * len(groups) + sum(map(len, groups)))


def grouped_lines(svg: Svg, rows: list[Row], draw: Draw, right: float) -> None:
    """A heading per operator and a line per shape, which `draw` fills."""
    y = TOP + 16.0
    for heading, shapes in grouped(rows).items():
        svg.text(10, y + 4, heading, "head")
        y += LINE
        for shape, by_dtype in shapes.items():
            svg.text(LABELS - 10, y + 4, shape, "small end")
            svg.line(LABELS, y, right, y, "grid")
            draw(y, by_dtype)
            y += LINE
        y += LINE / 2


def under(svg: Svg, run: dict[str, Any], y: float) -> str:
    svg.text(10, y + 20, caption(run), "small")
    return svg.render(y + 32)


def fraction_chart(run: dict[str, Any], which: str) -> str:
    rows = of_pass(most_threads(run["rows"]), which)
    svg = Svg(860)
    axis = Axis(LABELS + 40, 840, 0, 1)
    heading = f"{which.capitalize()}, fraction of the limit: time to move the same bytes / ours"
    svg.text(10, 22, heading, "title")
    svg.legend(10, 44, DTYPES)
    svg.text(840, 44, f"{rows[0]['threads']} threads; right is better", "small end")

    def draw(y: float, by_dtype: dict[str, Row]) -> None:
        for dtype, row in by_dtype.items():
            hint = f"{dtype}: {row['fraction']:.2f}"
            svg.dot(axis.place(row["fraction"]), y, COLOURS[DTYPES.index(dtype)], hint)

    end = bottom(rows)
    for tenth in range(0, 11, 2):
        x = axis.place(tenth / 10)
        svg.line(x, TOP, x, end, "mark" if tenth == 10 else "grid")
        svg.text(x, TOP - 6, "limit" if tenth == 10 else f"{tenth / 10:g}", "small middle")
    grouped_lines(svg, rows, draw, 840)
    return under(svg, run, end)


def speed_ups(row: Row) -> dict[str, float]:
    return {name: us / row["ours_us"] for name, us in row["peers"].items()}


def speed_up_chart(run: dict[str, Any], which: str) -> str:
    rows = [row for row in of_pass(most_threads(run["rows"]), which) if row.get("peers")]
    peers = peer_names(rows)
    every = [value for row in rows for value in speed_ups(row).values()]
    low, high = min(0.5, *every) / 1.1, max(2.0, *every) * 1.1
    svg = Svg(1000)
    heading = f"{which.capitalize()}, speed-up over each peer: its time / our time"
    svg.text(10, 22, heading, "title")
    svg.legend(10, 44, peers)
    svg.text(990, 44, f"{rows[0]['threads']} threads; logarithmic; right is better", "small end")
    width = (1000 - LABELS) / len(DTYPES)
    axes = {
        dtype: Axis(LABELS + i * width + 8, LABELS + (i + 1) * width - 12, low, high, log=True)
        for i, dtype in enumerate(DTYPES)
    }

    def draw(y: float, by_dtype: dict[str, Row]) -> None:
        for dtype, row in by_dtype.items():
            for name, value in speed_ups(row).items():
                x = axes[dtype].place(value)
                svg.dot(x, y, COLOURS[peers.index(name)], f"{name}, {dtype}: {value:.2f}x")

    end = bottom(rows)
    ticks = log_ticks(low, high)
    if len(ticks) > 5:  # powers of ten alone
        ticks = [tick for tick in ticks if f"{tick:e}".startswith("1")]
    for dtype, axis in axes.items():
        svg.text(axis.begin, TOP - 22, dtype, "head")
        for tick in ticks:
            x = axis.place(tick)
            svg.line(x, TOP, x, end, "mark" if tick == 1 else "grid")
            svg.text(x, TOP - 6, f"{tick:g}x", "small middle")
    grouped_lines(svg, rows, draw, 990)
    return under(svg, run, end)


def scaling_chart(run: dict[str, Any]) -> str:
    """Nanoseconds per element over the number of elements, a panel per operator."""
    panels: dict[str, dict[tuple[str, int], list[tuple[float, float]]]] = {}
    for row in run["rows"]:
        curves = panels.setdefault(title(row), {})
        cost = row["ours_us"] * 1e3 / row["elements"]
        curves.setdefault((row["dtype"], row["threads"]), []).append((row["elements"], cost))
    keys = list(dict.fromkeys(key for curves in panels.values() for key in curves))
    points = [point for curves in panels.values() for curve in curves.values() for point in curve]
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    svg = Svg(1000)
    svg.text(10, 22, "Cost per element in ns, from 10^4 to 10^8 elements", "title")
    dtypes = [dtype for dtype in DTYPES if any(key[0] == dtype for key in keys)]
    svg.legend(10, 44, dtypes)
    svg.text(990, 44, "dashed: 1 thread", "small end")
    width = 980 / len(panels)
    up = Axis(330, TOP, 0, max(y for _, y in points) * 1.05)
    for index, (heading, curves) in enumerate(panels.items()):
        left = 10 + index * width
        across = Axis(left + 30, left + width - 20, low, high, log=True)
        svg.text(left + 30, TOP - 10, heading, "head")
        draw_grid(svg, across, up)
        for (dtype, threads), curve in curves.items():
            path = [(across.place(x), up.place(y)) for x, y in sorted(curve)]
            svg.curve(path, COLOURS[dtypes.index(dtype)], dashed=threads == 1)
    return under(svg, run, 360)


def draw_grid(svg: Svg, across: Axis, up: Axis) -> None:
    for quarter in range(5):
        value = up.high / 1.05 * quarter / 4
        svg.line(across.begin, up.place(value), across.end, up.place(value), "grid")
        svg.text(across.begin - 4, up.place(value) + 4, f"{value:.2g}", "small end")
    for power in range(math.ceil(across.low), math.floor(across.high) + 1):
        svg.text(across.place(10.0**power), up.begin + 18, f"1e{power}", "small middle")
