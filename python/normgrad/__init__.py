"""Gradients of normalization layers on CPUs: fast, reproducible, exact on request.

Functions for numpy arrays and anything with DLPack are here; ``normgrad.torch`` has operators and
modules for PyTorch. Results have the same bits for every number of threads and instruction set.
Data may be float32, float16 or bfloat16 (also ``ml_dtypes.bfloat16``), with any
strides (rows of LayerNorm and RMSNorm lie together), and is not copied. ``out=`` takes the arrays
to write results to: one per result, or None for those that are to be made.
"""


from ._core import (
    batch_norm,
    batch_norm_backward,
    batch_norm_elemt_backward,
    batch_norm_reduce,
    get_arithmetic,
    get_num_threads,
    instruction_set,
    layer_norm,
    layer_norm_backward,
    rms_norm,
    rms_norm_backward,
    set_arithmetic,
    set_num_threads,
)

__all__ = [
    "batch_norm",
    "batch_norm_backward",
    "batch_norm_elemt_backward",
    "batch_norm_reduce",
    "get_arithmetic",
    "get_num_threads",
    "instruction_set",
    "layer_norm",
    "layer_norm_backward",
    "rms_norm",
    "rms_norm_backward",
    "set_arithmetic",
    "set_num_threads",
]
__version__ = "0.1.0"
