"""Functional forms, as in ``torch.nn.functional``.

Tensors that do not lie in main memory go to torch's own, and so does what transforms of ``torch.func`` and forward-mode
differentiation see, for which operators from outside torch have no rules, and RMSNorm with a weight that is neither of the
input's type nor float32.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import forward_ad

__all__ = ["batch_norm", "layer_norm", "rms_norm"]
_ops = torch.ops.normgrad


def _is_torchs(x):
    if x.device.type != "cpu":
        return True
    if torch.compiler.is_compiling():
        return False
    return forward_ad._current_level >= 0 or torch._C._functorch.peek_interpreter_stack() is not None


def _check_shape(x, normalized_shape):
    shape = tuple(normalized_shape)
    if not shape or tuple(x.shape[-len(shape):]) != shape:
        raise RuntimeError(
            f"the input has shape {tuple(x.shape)}, but must end with normalized_shape, {shape}, which must not be empty"
        )
    return shape


def layer_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """LayerNorm over the last ``len(normalized_shape)`` dimensions."""
    if _is_torchs(x):
        return F.layer_norm(x, normalized_shape, weight, bias, eps)
    return _ops.native_layer_norm(x, _check_shape(x, normalized_shape), weight, bias, eps)[0]


def rms_norm(x: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """RMSNorm over the last ``len(normalized_shape)`` dimensions."""
    if _is_torchs(x) or (weight is not None and weight.dtype not in (x.dtype, torch.float32)):
        return F.rms_norm(x, normalized_shape, weight, eps)
    y = _ops._fused_rms_norm(x, _check_shape(x, normalized_shape), weight, eps)[0]
    if x.dim() in (4, 5):  # torch's keeps channels-last, in which there are no rows
        y = y.contiguous(memory_format=torch._prims_common.suggest_memory_format(x))
    return y


def check_running(x, **running):
    """Before anything is computed: what is broadcast later would take one channel's numbers for all."""
    if x.dim() < 2:
        return  # which the operator refuses, in its words
    for name, statistic in running.items():
        if statistic is not None and tuple(statistic.shape) != (x.shape[1],):
            shape = ", ".join(map(str, statistic.shape))
            raise RuntimeError(f"{name} has shape ({shape}), but must have shape ({x.shape[1]}), the channels of the input")


def update_running(running, fresh, momentum):
    """running := (1 - momentum)*running + momentum*fresh, computed in float64 and rounded once."""
    if running is None:
        return
    with torch.no_grad():
        running.copy_((1 - momentum) * running.double() + momentum * fresh.double())


def batch_norm(x: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """BatchNorm. ``training``: with the statistics of x, and the running ones are updated."""
    if _is_torchs(x):
        return F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)
    check_running(x, running_mean=running_mean, running_var=running_var)
    if eps < 0 or (training and eps == 0):
        raise ValueError(f"eps must be positive in training, and never negative, but is {eps}")
    if not training:
        for name, running in (("running_mean", running_mean), ("running_var", running_var)):
            if running is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        return _ops.batch_norm_inference(x, weight, bias, running_mean, running_var, eps)
    F._verify_batch_size(x.size())
    y, mean, _, var = _ops.batch_norm_training(x, weight, bias, eps)
    if running_mean is not None or running_var is not None:
        n = x.numel() // x.shape[1] if x.shape[1] else 0
        if n:  # nothing has no statistics
            update_running(running_mean, mean, momentum)
            update_running(running_var, var * (n / (n - 1)), momentum)
    return y
