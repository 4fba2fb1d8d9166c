"""What is measured: the workloads, their names and their shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

ROW_SHAPES = (
    (8192, 768),
    (4096, 1024),
    (2048, 4096),
    (512, 8192),
    (65536, 64),
    (64, 65536),
    (16, 768),
    (64, 768),
    (4097, 1000),
)
# Batch, channels, the rest.
CHANNEL_SHAPES = (
    (32, 64, 56, 56),
    (32, 256, 14, 14),
    (8, 512, 7, 7),
    (32, 64, 12544),
    (128, 1024),
    (4, 3, 224, 224),
    (16, 32, 16, 28, 28),
)
ROW_OPERATORS = ("layer_norm", "rms_norm")
CHANNEL_OPERATORS = (
    "batch_norm_training",
    "batch_norm_inference",
    "batch_norm_reduce",
    "batch_norm_elementwise",
)
FORWARD = "_forward"  # how the names of forward passes end; the others are backward passes
FORWARD_OPERATORS = ("layer_norm", "rms_norm", "batch_norm_training", "batch_norm_inference")
DTYPES = ("f32", "bf16", "f16")
ROW_MAJOR, CHANNELS_LAST = "row_major", "channels_last"

# Forward passes add it to the variance. Gradients of RMSNorm and of BatchNorm in training have
# none: InfiniOp has no place for it.
EPS = 1e-5
GRADIENTS_WITH_EPS = ("layer_norm", "batch_norm_inference")

# The limit of fewer elements than this takes one thread, whatever the others do.
WORTH_THREADS = 65536

QUICK = re.compile(r"8192x768|16x768|32x256x14x14|/4x3x224x224")


@dataclass(frozen=True)
class Workload:
    operator: str
    layout: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def name(self) -> str:
        """As normgrad_bench --list has it."""
        suffix = f"_{CHANNELS_LAST}" if self.is_channels_last else ""
        return f"{self.operator}{suffix}/{self.shape_text}/{self.dtype}"

    @property
    def shape_text(self) -> str:
        return "x".join(map(str, self.shape))

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def is_forward(self) -> bool:
        return self.operator.endswith(FORWARD)

    @property
    def norm(self) -> str:
        """The operator, whichever its pass."""
        return self.operator.removesuffix(FORWARD)

    @property
    def is_row_norm(self) -> bool:
        return self.norm in ROW_OPERATORS

    @property
    def is_channels_last(self) -> bool:
        return self.layout == CHANNELS_LAST

    @property
    def channels(self) -> int:
        return self.shape[1]

    @property
    def per_channel(self) -> int:
        return self.elements // self.channels

    @property
    def eps(self) -> float:
        return EPS if self.is_forward or self.operator in GRADIENTS_WITH_EPS else 0.0

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The extents in the order they lie in memory, slowest first."""
        if not self.is_channels_last:
            return self.shape
        return (self.shape[0], *self.shape[2:], self.shape[1])

    @property
    def takes_two_passes(self) -> bool:
        """Channels of a row-major tensor fit into the cache one by one, these only together."""
        return self.norm == "batch_norm_training" and self.is_channels_last

    def limit_threads(self, most: int) -> int:
        return 1 if self.elements < WORTH_THREADS else most


def places(operator: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every layout and shape that the operator is measured in."""
    if operator.removesuffix(FORWARD) in ROW_OPERATORS:
        yield from product((ROW_MAJOR,), ROW_SHAPES)
        return
    for layout, shape in product((ROW_MAJOR, CHANNELS_LAST), CHANNEL_SHAPES):
        # (N, C) is both at once, and counts as channels-last: its channel is innermost.
        if layout == CHANNELS_LAST or len(shape) > 2:
            yield layout, shape


def all_workloads() -> Iterator[Workload]:
    forward = [operator + FORWARD for operator in FORWARD_OPERATORS]
    for operator in (*ROW_OPERATORS, *CHANNEL_OPERATORS, *forward):
        for (layout, shape), dtype in product(places(operator), DTYPES):
            yield Workload(operator, layout, shape, dtype)


def chosen_workloads(pattern: str, quick: bool) -> list[Workload]:
    wanted = re.compile(pattern)
    return [
        workload
        for workload in all_workloads()
        if wanted.search(workload.name) and (not quick or QUICK.search(workload.name))
    ]
