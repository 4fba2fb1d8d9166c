"""What each operator reads and writes as ours does it."""

from __future__ import annotations

import math

import numpy as np

from .arrays import NUMPY, Arrays, private_array
from .workloads import Workload

OUTPUTS = {
    "layer_norm": ("dx", "dw", "db"),
    "rms_norm": ("dx", "dw"),
    "batch_norm_training": ("dx", "dw", "db"),
    "batch_norm_inference": ("dx", "dw", "db"),
    "batch_norm_reduce": ("sum_dy", "sum_dy_xmu", "dw", "db"),
    "batch_norm_elementwise": ("dx",),
}
# LayerNorm has x_hat, where peers have x.
NOT_READ = {"layer_norm": {"x"}, "batch_norm_reduce": {"w"}}


def read_arrays(workload: Workload, inputs: Arrays) -> list[np.ndarray]:
    unread = NOT_READ.get(workload.operator, set())
    return [array for name, array in inputs.items() if name not in unread]


def output_forms(workload: Workload) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """In the workload's data type; the sums of SyncBatchNorm in f32, as its statistics."""
    dtype = NUMPY[workload.dtype]
    small = np.dtype(np.float32) if workload.operator == "batch_norm_reduce" else dtype
    return {
        name: (workload.stored_shape, dtype) if name == "dx" else ((workload.shape[1],), small)
        for name in OUTPUTS[workload.operator]
    }


def output_arrays(workload: Workload) -> Arrays:
    """Warm, and used again by every call."""
    return {name: private_array(*form) for name, form in output_forms(workload).items()}


def moved_bytes(workload: Workload, inputs: Arrays) -> int:
    written = sum(
        math.prod(shape) * dtype.itemsize for shape, dtype in output_forms(workload).values()
    )
    return written + sum(array.nbytes for array in read_arrays(workload, inputs))
