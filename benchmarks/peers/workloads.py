"""What is measured: the workloads, their names and their shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

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
DTYPES = ("f32", "bf16", "f16")
ROW_MAJOR, CHANNELS_LAST = "row_major", "channels_last"

# The forward pass added it to the variance. RMSNorm and BatchNorm in training have none: InfiniOp
# has no place for it.
EPS = {"layer_norm": 1e-5, "batch_norm_inference": 1e-5}

# The limit of fewer elements than this takes one thread, whatever the others do.
WORTH_THREADS = 32768

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
    def is_row_norm(self) -> bool:
        return self.operator in ROW_OPERATORS

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
        return EPS.get(self.operator, 0.0)

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The extents in the order they lie in memory, slowest first."""
        if not self.is_channels_last:
            return self.shape
        return (self.shape[0], *self.shape[2:], self.shape[1])

    @property
    def takes_two_passes(self) -> bool:
        """Channels of a row-major tensor fit into the cache one by one, these only together."""
        return self.operator == "batch_norm_training" and self.is_channels_last

    def limit_threads(self, most: int) -> int:
        return 1 if self.elements < WORTH_THREADS else most


def all_workloads() -> Iterator[Workload]:
    for operator in ROW_OPERATORS:
        for shape in ROW_SHAPES:
            for dtype in DTYPES:
                yield Workload(operator, ROW_MAJOR, shape, dtype)
    for operator in CHANNEL_OPERATORS:
        for layout in (ROW_MAJOR, CHANNELS_LAST):
            for shape in CHANNEL_SHAPES:
                # (N, C) is both at once, and counts as channels-last: its channel is innermost.
                if layout == ROW_MAJOR and len(shape) == 2:
                    continue
                for dtype in DTYPES:
                    yield Workload(operator, layout, shape, dtype)


def chosen_workloads(pattern: str, quick: bool) -> list[Workload]:
    wanted = re.compile(pattern)
    return [
        workload
        for workload in all_workloads()
        if wanted.search(workload.name) and (not quick or QUICK.search(workload.name))
    ]
