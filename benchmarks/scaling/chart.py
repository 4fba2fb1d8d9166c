"""Time of a step's exchanges over ranks: per network a panel for a layer, one for ResNet-50."""

from __future__ import annotations

from typing import Any

from pictures.svg import COLOURS, Axis, Svg, log_ticks

from .layers import resnet50
from .model import WAYS
from .report import CHANNELS, IMAGES, LAYER, NETWORKS, layers_us, link_of, work_us

RANKS = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 10_000]


def powers(low: float, high: float) -> list[float]:
    return [tick for tick in log_ticks(low, high) if f"{tick:e}".startswith("1")]


def label(us: float) -> str:
    return f"{us / 1e6:g} s" if us >= 1e6 else f"{us / 1e3:g} ms" if us >= 1e3 else f"{us:g} us"


def scaling_chart(run: dict[str, Any]) -> str:
    svg = Svg(1000)
    svg.text(10, 22, "Modelled: exchanges of one SyncBatchNorm backward over ranks", "title")
    svg.legend(10, 44, [way.name for way in WAYS])
    note = f"f64 sums; dashed: what a rank computes, {IMAGES} images"
    svg.text(990, 44, note, "small end")
    names = {f"one layer, C = {CHANNELS}": LAYER, "ResNet-50": resnet50()}
    top = 90.0
    for network in NETWORKS:
        link = link_of(run, network)
        for index, (name, layers) in enumerate(names.items()):
            left = 10 + index * 490
            across = Axis(left + 60, left + 470, 2, 10_000, log=True)
            up = Axis(top + 230, top, 1, 1e8, log=True)
            svg.text(left + 60, top - 10, f"{name}: {network}", "head")
            for tick in powers(1, 1e8):
                y = up.place(tick)
                svg.line(across.begin, y, across.end, y, "grid")
                svg.text(across.begin - 4, y + 4, label(tick), "small end")
            for p in (2, 10, 100, 1000, 10_000):
                svg.text(across.place(p), up.begin + 18, f"{p}", "small middle")
            work = up.place(work_us(run, layers))
            ends = [(x, work) for x in (across.begin, across.end)]
            svg.curve(ends, "#808080", dashed=True)
            for way, colour in zip(WAYS, COLOURS, strict=False):
                points = [(p, layers_us(run, way, p, link, layers)) for p in RANKS]
                path = [(across.place(p), up.place(us)) for p, us in points]
                svg.curve(path, colour, dashed=False)
        top += 290
    versions = "benchmarks/sync_scaling --write; parameters: docs/scaling.md"
    svg.text(10, top - 20, versions, "small")
    return svg.render(top - 8)
