"""Norms through autograd: torch's own kernels against normgrad.torch.enable(), in turn.

usage: python benchmarks/torch_speed.py [--filter REGEX] [--rounds N] [--threads N] [--json FILE]

Each operator, shape, type and layout has a row for its forward pass, its backward pass, and both in one; the shape 4x8 shows
what a call costs. Every result is held against float64 before it is timed. A row is the median of all samples; in each round
both libraries run one after the other, which first changes from round to round. Samples begin after some calls that are not
timed: enable() and disable() move memory about, and a model calls them once. Bars: no row of at least 10^4 elements is lost
(0.95), three quarters of the forward and backward rows are 1.2 times as fast, RMSNorm 3 times, LayerNorm of bf16 backward 1.8
times; a tiny call costs at most as much as torch's own. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812

import normgrad.torch

sys.path.insert(0, str(Path(__file__).parent))
from peers.workloads import CHANNEL_SHAPES, ROW_SHAPES

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
# Of the largest magnitude: what a right result may differ from float64's, and what torch's own is forgiven.
TOLERANCE = {"f32": 1e-5, "bf16": 2e-2, "f16": 3e-3}
TINY = (4, 8)
# Of one library; a sample is one call, or of short ones as many as last so long.
SECONDS_PER_ROUND, SECONDS_PER_SAMPLE = 0.01, 2e-4
CALLS_BEFORE = 8
NOT_LOST, AHEAD, AHEAD_SHARE = 0.95, 1.2, 0.75


PASSES = ("forward", "backward", "both")


def name_of(operator: str, shape: tuple[int, ...], dtype: str, layout: str) -> str:
    suffix = "_channels_last" if layout == "channels_last" else ""
    return f"{operator}{suffix}/{'x'.join(map(str, shape))}/{dtype}"


class Workload:
    def __init__(self, operator: str, shape: tuple[int, ...], dtype: str, layout: str) -> None:
        self.operator, self.shape, self.dtype, self.layout = operator, shape, dtype, layout
        self.name = name_of(operator, shape, dtype, layout)
        generator = torch.Generator().manual_seed(7)
        make = lambda *s: torch.randn(*s, generator=generator)  # noqa: E731
        size = shape[-1] if operator in ("layer_norm", "rms_norm") else shape[1]
        self.x, self.dy, self.w, self.b = make(shape), make(shape), make(size), make(size)
        self.running = make(size), make(size).abs() + 0.5

    def tensors(self, dtype: torch.dtype) -> list[torch.Tensor]:
        """x, dy, w, b: as stored, also when they are wanted in float64."""
        out = [t.to(DTYPES[self.dtype]).to(dtype) for t in (self.x, self.dy, self.w, self.b)]
        if self.layout == "channels_last":
            last = torch.channels_last_3d if len(self.shape) == 5 else torch.channels_last
            out[:2] = [t.contiguous(memory_format=last) for t in out[:2]]
        return out

    def passes(self, dtype: torch.dtype) -> dict[str, Callable[[], list[torch.Tensor]]]:
        """With the kernels that are in place now."""
        x, dy, w, b = self.tensors(dtype)
        inputs = [t.requires_grad_() for t in (x, w, b)]
        if self.operator == "rms_norm":
            inputs.pop()
        running = [r.to(dtype) for r in self.running]

        def forward() -> torch.Tensor:
            if self.operator == "layer_norm":
                return F.layer_norm(x, w.shape, w, b)
            if self.operator == "rms_norm":
                return F.rms_norm(x, w.shape, w, 1e-6)
            return F.batch_norm(x, *running, w, b, self.operator == "batch_norm_training")

        y = forward()
        return {
            "forward": lambda: [forward()],
            "backward": lambda: list(torch.autograd.grad(y, inputs, dy, retain_graph=True)),
            "both": lambda: list(torch.autograd.grad(forward(), inputs, dy)),
        }

    def bar(self, of_pass: str) -> float:
        if self.shape == TINY:
            return 1.0
        if self.operator == "rms_norm" and of_pass != "both":
            return 3.0
        return 1.8 if (self.operator, self.dtype, of_pass) == ("layer_norm", "bf16", "backward") else NOT_LOST


def workloads() -> list[tuple[str, tuple[int, ...], str, str]]:
    out = []
    for operator in ("layer_norm", "rms_norm"):
        out += [(operator, s, d, "row_major") for s in (*ROW_SHAPES, TINY) for d in DTYPES]
    for operator in ("batch_norm_training", "batch_norm_inference"):
        for layout in ("row_major", "channels_last"):
            shapes = [s for s in (*CHANNEL_SHAPES, TINY) if layout == "row_major" or len(s) in (4, 5)]
            out += [(operator, s, d, layout) for s in shapes for d in DTYPES]
    return out


def set_mode(mode: str) -> None:
    normgrad.torch.enable() if mode == "normgrad" else normgrad.torch.disable()


def check(workload: Workload, of_pass: str, run: Callable[[], list[torch.Tensor]]) -> None:
    exact = workload.passes(torch.float64)[of_pass]()
    for got, expected in zip(run(), exact, strict=True):
        error = ((got.double() - expected).abs().max() / expected.abs().max()).item()
        if not error <= TOLERANCE[workload.dtype]:
            raise SystemExit(f"{workload.name} {of_pass}: off by {error:.2g} of the largest element")


def seconds(run: Callable[[], object], calls: int) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - begin) / calls


def measure(workload: Workload, of_pass: str, rounds: int) -> dict[str, float]:
    """Seconds per call of both, by mode."""
    functions, samples = {}, {"torch": [], "normgrad": []}
    shortest = math.inf
    for mode in samples:
        set_mode(mode)
        functions[mode] = workload.passes(DTYPES[workload.dtype])[of_pass]
        if mode == "normgrad":
            check(workload, of_pass, functions[mode])
        functions[mode]()
        shortest = min(shortest, seconds(functions[mode], 3))
    calls = math.ceil(SECONDS_PER_SAMPLE / shortest)
    count = math.ceil(SECONDS_PER_ROUND / (calls * shortest))
    for r in range(rounds):
        for mode in list(samples)[:: 1 if r % 2 else -1]:
            set_mode(mode)
            for _ in range(CALLS_BEFORE):
                functions[mode]()
            samples[mode] += [seconds(functions[mode], calls) for _ in range(count)]
    set_mode("torch")
    return {mode: statistics.median(s) for mode, s in samples.items()}


def summary(rows: list[dict]) -> None:
    """Of each operator, layout, pass and type: the least speed-up, the geometric mean, the greatest."""
    print(f"\n{'least, mean, greatest':44}" + "".join(f"{d:>24}" for d in DTYPES))
    for key in dict.fromkeys(row["family"] for row in rows):
        cells = []
        for dtype in DTYPES:
            ratios = [row["speedup"] for row in rows if (row["family"], row["dtype"]) == (key, dtype)]
            numbers = (min(ratios), statistics.geometric_mean(ratios), max(ratios)) if ratios else ()
            cells.append("".join(f"{n:8.2f}" for n in numbers).rjust(24))
        print(f"{key:44}" + "".join(cells))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only rows whose names match somewhere")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", help="also write the rows there")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows, missed = [], 0
    print(f"torch {torch.__version__}, {options.threads} threads, medians of {options.rounds} rounds, microseconds")
    print(f"{'pass':60} {'torch':>10} {'normgrad':>10} {'speedup':>7} {'bar':>5}")
    for arguments in workloads():
        workload = None
        for of_pass in PASSES:
            name = f"{name_of(*arguments)} {of_pass}"
            if not re.search(options.filter, name):
                continue
            workload = workload or Workload(*arguments)
            times, bar = measure(workload, of_pass, options.rounds), workload.bar(of_pass)
            ratio = times["torch"] / times["normgrad"]
            missed += ratio < bar
            tiny = workload.shape == TINY
            family = f"{name.split('/')[0]} {of_pass}{', 4x8' if tiny else ''}"
            rows.append({"name": name, "family": family, "dtype": workload.dtype, **times, "speedup": ratio, "bar": bar})
            print(f"{name:60} {times['torch'] * 1e6:10.1f} {times['normgrad'] * 1e6:10.1f} {ratio:7.2f} {bar:5.2f}"
                  f"{'' if ratio >= bar else '  MISSED'}", flush=True)
    summary(rows)
    single = [row for row in rows if row["family"].endswith(PASSES[:2])]
    ahead = sum(row["speedup"] >= AHEAD for row in single)
    print(f"\n{len(rows) - missed} of {len(rows)} bars reached; {ahead} of {len(single)} forward and backward rows are "
          f"{AHEAD} times as fast, asked are {AHEAD_SHARE:.0%}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if missed or ahead < AHEAD_SHARE * len(single) else 0


if __name__ == "__main__":
    sys.exit(main())
