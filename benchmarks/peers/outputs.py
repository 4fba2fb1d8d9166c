"""The outputs of each operator as ours writes them: warm, and used again by every call."""

from __future__ import annotations

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


def output_arrays(workload: Workload) -> Arrays:
    """In the workload's data type; the sums of SyncBatchNorm in f32, as its statistics."""
    dtype = NUMPY[workload.dtype]
    small = np.dtype(np.float32) if workload.operator == "batch_norm_reduce" else dtype
    return {
        name: private_array(workload.stored_shape, dtype)
        if name == "dx"
        else private_array((workload.shape[1],), small)
        for name in OUTPUTS[workload.operator]
    }
