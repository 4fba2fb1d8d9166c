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
    "layer_norm_forward": ("y", "mean", "rstd"),
    "rms_norm_forward": ("y",),
    "batch_norm_training_forward": ("y", "mean", "rstd"),
    "batch_norm_inference_forward": ("y",),
}
BIG = ("dx", "y")
# LayerNorm has x_hat, where peers have x.
NOT_READ = {"layer_norm": {"x"}, "batch_norm_reduce": {"w"}}


def read_arrays(workload: Workload, inputs: Arrays) -> list[np.ndarray]:
    unread = NOT_READ.get(workload.operator, set())
    return [array for name, array in inputs.items() if name not in unread]


def output_forms(workload: Workload) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """In the workload's data type; the sums of SyncBatchNorm and all statistics in f32."""
    dtype = NUMPY[workload.dtype]
    in_f32 = workload.is_forward or workload.operator == "batch_norm_reduce"
    small = np.dtype(np.float32) if in_f32 else dtype
    per_row = workload.is_forward and workload.is_row_norm
    length = workload.shape[0 if per_row else 1]
    return {
        name: (workload.stored_shape, dtype) if name in BIG else ((length,), small)
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
