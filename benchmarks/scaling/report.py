"""The tables of docs/scaling.md, all from docs/scaling.json, and what is written into the page."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from .fit import adding_us, deviations, exchanges, fitted, gamma_of, local_ns
from .fit import cost as cost_of
from .layers import resnet50
from .model import WAYS, Link, Way

Run = dict[str, Any]
PS = (2, 4, 8, 64, 512, 10_000)
CHANNELS, SIDE, IMAGES = 256, 14, 32
# Assumed, not measured: latency in us of a message between two programs, bytes per us.
NETWORKS = {"25 GbE, TCP": (30.0, 2900.0), "200 Gb/s, RDMA": (2.0, 23000.0)}
LAYER = [(CHANNELS, SIDE)]
NAMES = {"gloo": "gloo", "mpi": "Open MPI"}
MODES = {"all_reduce": "all-reduce", "rank_order": "rank order"}


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines]


def three(value: float) -> str:
    """Three digits at most: no model is better."""
    return f"{value:.3g}" if value < 1000 else f"{float(f'{value:.3g}'):.0f}"


def time(us: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{three(us / size)} {unit}"
    return f"{three(us)} us"


def size(count: float) -> str:
    for unit, base in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= base:
            return f"{three(count / base)} {unit}"
    return f"{three(count)} B"


def link_of(run: Run, network: str) -> Link:
    alpha, bytes_per_us = NETWORKS[network]
    return Link(alpha, bytes_per_us, gamma_of(run))


def layers_us(
    run: Run, way: Way, p: int, link: Link, layers: list[tuple[int, int]], width: int = 8
) -> float:
    """Exchanges of these layers one after the other and, in rank order, the adding."""
    total = 0.0
    for channels, _ in layers:
        total += way.of(p, channels, width).us(link)
        if way.in_rank_order:
            total += adding_us(run, p, 2 * channels + way.digits, width)
    return total


def predictions(run: Run, network: str) -> list[str]:
    link = link_of(run, network)
    rows = []
    for name, layers in ((f"C = {CHANNELS}", LAYER), ("ResNet-50", resnet50())):
        for way in WAYS:
            cells = [time(layers_us(run, way, p, link, layers)) for p in PS]
            rows.append([f"{name}, {way.name}", *cells])
    return table([f"modelled: {network}", *[f"{p} ranks" for p in PS]], rows)


def f32_sums(run: Run) -> list[str]:
    """Time with f32 sums / time with f64 sums."""
    layers = resnet50()
    rows = []
    for network in NETWORKS:
        link = link_of(run, network)
        for way in WAYS:
            both = [[layers_us(run, way, p, link, layers, w) for w in (4, 8)] for p in PS]
            rows.append([f"{network}, {way.name}", *[f"{f32 / f64:.2f}" for f32, f64 in both]])
    head = "modelled: ResNet-50, time with f32 sums / with f64"
    return table([head, *[f"{p} ranks" for p in PS]], rows)


def bytes_sent(_: Run) -> list[str]:
    rows = []
    for name, layers in ((f"C = {CHANNELS}", LAYER), ("ResNet-50", resnet50())):
        for way in WAYS:
            sent = [sum(way.of(p, c).sent for c, _ in layers) for p in PS]
            rows.append([f"{name}, {way.name}", *map(size, sent)])
    return table(["modelled: bytes that the busiest rank sends", *[f"{p} ranks" for p in PS]], rows)


def messages(_: Run) -> list[str]:
    rows = [[way.name, *[str(way.of(p, CHANNELS).hops) for p in PS]] for way in WAYS]
    head = f"modelled: messages one after the other, C = {CHANNELS}"
    return table([head, *[f"{p} ranks" for p in PS]], rows)


def memory(_: Run) -> list[str]:
    """What a rank holds of the others' messages."""
    rows = []
    for channels in (CHANNELS, max(c for c, _ in resnet50())):
        for name, n in (("rank order", 2 * channels + 4), ("forward", 2 * channels + 1)):
            cells = [size(p * n * 8) for p in PS]
            rows.append([f"C = {channels}, {name}", *cells])
    return table(["computed: gathered messages, f64", *[f"{p} ranks" for p in PS]], rows)


def parameters(run: Run) -> list[str]:
    rows = []
    for engine, name in NAMES.items():
        of = fitted(run, engine)
        link = of.own_core
        cells = [f"{three(link.alpha_us)} us", f"{three(of.shared_core.alpha_us)} us"]
        cells += [f"{three(link.bytes_per_us / 1e3)} GB/s", f"{three(link.call_us)} us"]
        rows.append([f"fitted here: {name}, one machine", *cells])
    for network, (alpha, bytes_per_us) in NETWORKS.items():
        cells = [f"{three(alpha)} us", "", f"{three(bytes_per_us / 1e3)} GB/s", "0 us"]
        rows.append([f"assumed: {network}", *cells])
    return table(["", "alpha", "alpha, 3 ranks on 2 cores", "bandwidth", "per call"], rows)


def percent(values: list[float]) -> list[str]:
    far = max(values, key=abs)
    return [f"{statistics.median(values):+.0%}", f"{far:+.0%}"]


def check(run: Run) -> list[str]:
    """Modelled against measured, on runs that no parameter came from."""
    rows = []
    for engine, name in NAMES.items():
        of = fitted(run, engine)
        for ranks, width, links in (
            (2, 8, {"own core": of.own_core}),
            (3, None, {"own core": of.own_core}),
            (4, None, {"own core": of.own_core, "3 ranks": of.shared_core}),
        ):
            for mode, mode_name in MODES.items():
                some = [r for r in exchanges(run[engine], ranks, width) if r["mode"] == mode]
                one = next(r for r in some if r["channels"] == CHANNELS and r["width"] == 8)
                for which, link in links.items():
                    cells = [time(one["us"]), time(cost_of(engine, one).us(link))]
                    off = percent(deviations(engine, some, link))
                    rows.append([f"{name}, {mode_name}", str(ranks), which, *cells, *off])
    head = ["", "ranks", "alpha of", "measured", "modelled"]
    return table([*head, "median deviation", "largest"], rows)


def again(run: Run) -> list[str]:
    """The second time of each exchange against the first."""
    rows = []
    for engine, name in NAMES.items():
        for ranks in (2, 3, 4):
            both = [exchanges(of[engine], ranks) for of in (run, run["again"])]
            off = [b["us"] / a["us"] - 1 for a, b in zip(*both, strict=True)]
            rows.append([name, str(ranks), *percent(off)])
    return table(["measured: second time / first - 1", "ranks", "median", "largest"], rows)


def measured(run: Run) -> list[str]:
    rows = []
    channels = sorted({row["channels"] for row in run["gloo"]})
    for engine, name in NAMES.items():
        for mode, mode_name in MODES.items():
            for ranks in (2, 3, 4):
                for width in (4, 8):
                    cells = [
                        time(row["us"])
                        for row in exchanges(run[engine], ranks, width)
                        if row["mode"] == mode
                    ]
                    rows.append([f"{name}, {mode_name}, f{8 * width}", str(ranks), *cells])
    return table(["measured", "ranks", *[f"C = {c}" for c in channels]], rows)


def work(run: Run) -> list[str]:
    """What a rank computes, and adds up in rank order."""
    layers = resnet50()
    ns = local_ns(run)
    counts = {f"C = {CHANNELS}": LAYER, "ResNet-50": layers}
    rows = []
    for name, some in counts.items():
        elements = IMAGES * sum(c * side * side for c, side in some)
        cells = [str(len(some)), str(sum(c for c, _ in some)), f"{elements / 1e6:.1f} million"]
        rows.append([name, *cells, time(work_us(run, some))])
    head = ["", "layers", "channels", f"elements, {IMAGES} images", "sums and dx"]
    lines = [*table(head, rows), ""]
    adding = [r for r in run["local"] if r["mode"] == "rank_order"]
    ranks = sorted({r["ranks"] for r in adding})
    rows = [
        [f"f{8 * width}", *[time(r["us"]) for r in adding if r["width"] == width]]
        for width in (4, 8)
    ]
    head = f"measured: backward of 1 x {CHANNELS} x 1 in rank order, exchange left out"
    lines += table([head, *[f"{p} ranks" for p in ranks]], rows)
    numbers = ", ".join(
        [
            f"Measured: {three(ns)} ns per element for both halves of backward",
            f"gamma {three(gamma_of(run) * 1e3)} ns per byte added up",
        ]
    )
    return [*lines, "", numbers + "."]


def work_us(run: Run, layers: list[tuple[int, int]]) -> float:
    return IMAGES * sum(c * side * side for c, side in layers) * local_ns(run) / 1e3


def limits(run: Run) -> list[str]:
    """From how many ranks on the exchanges take longer than what a rank computes."""
    rows = []
    for way in WAYS:
        cells = []
        for network in NETWORKS:
            link, layers = link_of(run, network), resnet50()
            counts = [*(1 << k for k in range(1, 14)), PS[-1]]
            over = (
                p for p in counts if layers_us(run, way, p, link, layers) > work_us(run, layers)
            )
            cells.append(str(next(over, f"not up to {PS[-1]}")))
        rows.append([way.name, *cells])
    head = f"modelled: ResNet-50, {IMAGES} images per rank: exchanges exceed the work from"
    return table([head, *NETWORKS], rows)


def caption(run: Run) -> list[str]:
    machine = f"{run['machine']['cpu']}, {run['machine']['cores']} cores"
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    turns = "real-time priority" if run["realtime"] else "ordinary priority"
    return [
        f"{run['date']}, {machine}, {versions}; medians of {run['rounds']} rounds (Open MPI: "
        f"{10 * run['rounds']}), {turns}."
    ]


SECTIONS: dict[str, Callable[[Run], list[str]]] = {
    "caption": caption,
    "parameters": parameters,
    "messages": messages,
    "bytes": bytes_sent,
    "memory": memory,
    "work": work,
    "25 GbE": lambda run: predictions(run, "25 GbE, TCP"),
    "200 Gb/s": lambda run: predictions(run, "200 Gb/s, RDMA"),
    "f32": f32_sums,
    "limits": limits,
    "check": check,
    "again": again,
    "measured": measured,
}


def marks(name: str) -> tuple[str, str]:
    note = "benchmarks/sync_scaling --write writes what follows"
    return f"<!-- {name}: begin ({note}) -->", f"<!-- {name}: end -->"
