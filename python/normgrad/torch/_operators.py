"""The operators ``torch.ops.normgrad.*``: schemas, what they look like to the compiler, gradients.

Names and arguments are those of aten where it has such an operator. Statistics are float64; batch_norm_stats gives the
biased variance besides mean and rstd.
"""

import torch

from .. import _core
from . import _stock

_library = torch.library.Library("normgrad", "DEF")

_SCHEMAS = (
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"
    " -> (Tensor, Tensor, Tensor)",
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd,"
    " Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
    "_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight,"
    " bool[2] output_mask) -> (Tensor, Tensor)",
    "batch_norm_training(Tensor input, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    "batch_norm_inference(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,"
    " float eps) -> Tensor",
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean,"
    " Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask)"
    " -> (Tensor, Tensor, Tensor)",
    "batch_norm_stats(Tensor input, float eps) -> (Tensor, Tensor, Tensor)",
    "batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float eps) -> Tensor",
    "batch_norm_backward_reduce(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight,"
    " bool input_g, bool weight_g, bool bias_g) -> (Tensor, Tensor, Tensor, Tensor)",
    "batch_norm_backward_elemt(Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight,"
    " Tensor sum_dy, Tensor sum_dy_xmu, Tensor count) -> Tensor",
)
OPS = tuple(schema.split("(")[0] for schema in _SCHEMAS)

for _schema in _SCHEMAS:
    _library.define(_schema)
_stock.define()
_core.put_kernels_in("normgrad")
_ops = torch.ops.normgrad


# The layouts that the kernels give their results, which are torch's: row-major, or, of BatchNorm, channels-last if the input is
# (TorchTensor::like in C++).


def _like(x):
    return torch.empty_like(x, memory_format=torch._prims_common.suggest_memory_format(x))


def _rows_like(x):
    return x.new_empty(x.shape)


def _statistic_dtype(x):
    return torch.float64 if x.dtype in (torch.float16, torch.bfloat16, torch.float32) else x.dtype


def _of_rows(x, normalized_shape):
    k = len(normalized_shape)
    return x.new_empty(tuple(x.shape[: x.dim() - k]) + (1,) * k, dtype=_statistic_dtype(x))


def _of_channels(x):
    return x.new_empty(x.shape[1], dtype=_statistic_dtype(x))


def _fake(name):
    return torch.library.register_fake(f"normgrad::{name}", lib=_library)


@_fake("native_layer_norm")
def _(x, normalized_shape, weight, bias, eps):
    return _rows_like(x), _of_rows(x, normalized_shape), _of_rows(x, normalized_shape)


def _gradient(parameter, wanted):
    return parameter.new_empty(parameter.shape) if wanted and parameter is not None else None


@_fake("native_layer_norm_backward")
def _(dy, x, normalized_shape, mean, rstd, weight, bias, mask):
    return _rows_like(x) if mask[0] else None, _gradient(weight, mask[1]), _gradient(bias, mask[2])


@_fake("_fused_rms_norm")
def _(x, normalized_shape, weight, eps):
    return _rows_like(x), _of_rows(x, normalized_shape)


@_fake("_fused_rms_norm_backward")
def _(dy, x, normalized_shape, rstd, weight, mask):
    return _rows_like(x) if mask[0] else None, _gradient(weight, mask[1])


@_fake("batch_norm_training")
def _(x, weight, bias, eps):
    return _like(x), _of_channels(x), _of_channels(x), _of_channels(x)


@_fake("batch_norm_inference")
def _(x, weight, bias, running_mean, running_var, eps):
    return _like(x)


@_fake("native_batch_norm_backward")
def _(dy, x, weight, running_mean, running_var, mean, invstd, train, eps, mask):
    dtype = x.dtype if weight is None else weight.dtype
    parameter = lambda wanted: x.new_empty(x.shape[1], dtype=dtype) if wanted else None  # noqa: E731
    return _like(x) if mask[0] else None, parameter(mask[1]), parameter(mask[2])


@_fake("batch_norm_stats")
def _(x, eps):
    return _of_channels(x), _of_channels(x), _of_channels(x)


@_fake("batch_norm_elemt")
def _(x, weight, bias, mean, invstd, eps):
    return _like(x)


@_fake("batch_norm_backward_reduce")
def _(dy, x, mean, invstd, weight, sums, dw_wanted, db_wanted):
    dtype = _statistic_dtype(x) if weight is None else weight.dtype
    parameter = lambda wanted: x.new_empty(x.shape[1], dtype=dtype) if wanted else None  # noqa: E731
    total = lambda: _of_channels(x) if sums else None  # noqa: E731
    return total(), total(), parameter(dw_wanted), parameter(db_wanted)


@_fake("batch_norm_backward_elemt")
def _(dy, x, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    return _like(x)


# Gradients. The statistics that an operator returns are for its own backward, and have none.


def _no_second_order(*grads):
    raise RuntimeError("normgrad: gradients of gradients are not supported; use torch's own operators for them")


def _register(name, backward, setup):
    torch.library.register_autograd(f"normgrad::{name}", backward, setup_context=setup, lib=_library)


def _save_layer_norm(ctx, inputs, output):
    x, ctx.shape, weight, bias, _ = inputs
    _, mean, rstd = output
    ctx.save_for_backward(x, weight, bias, mean, rstd)
    ctx.mark_non_differentiable(mean, rstd)


def _layer_norm_backward(ctx, dy, *_):
    x, weight, bias, mean, rstd = ctx.saved_tensors
    mask = [ctx.needs_input_grad[i] for i in (0, 2, 3)]
    dx, dw, db = _ops.native_layer_norm_backward(dy, x, ctx.shape, mean, rstd, weight, bias, mask)
    return dx, None, dw, db, None


def _save_rms_norm(ctx, inputs, output):
    x, ctx.shape, weight, _ = inputs
    _, rstd = output
    ctx.save_for_backward(x, weight, rstd)
    ctx.mark_non_differentiable(rstd)


def _rms_norm_backward(ctx, dy, *_):
    x, weight, rstd = ctx.saved_tensors
    mask = [ctx.needs_input_grad[i] for i in (0, 2)]
    dx, dw = _ops._fused_rms_norm_backward(dy, x, ctx.shape, rstd, weight, mask)
    return dx, None, dw, None


def _save_batch_norm(ctx, inputs, output):
    x, weight, _, ctx.eps = inputs
    _, mean, rstd, var = output
    ctx.save_for_backward(x, weight, mean, rstd)
    ctx.mark_non_differentiable(mean, rstd, var)


def _batch_norm_backward(ctx, dy, *_):
    x, weight, mean, rstd = ctx.saved_tensors
    mask = list(ctx.needs_input_grad[:3])
    dx, dw, db = _ops.native_batch_norm_backward(dy, x, weight, None, None, mean, rstd, True, ctx.eps, mask)
    return dx, dw, db, None


def _save_inference(ctx, inputs, output):
    x, weight, _, mean, var, ctx.eps = inputs
    ctx.save_for_backward(x, weight, mean, var)


def _inference_backward(ctx, dy):
    x, weight, mean, var = ctx.saved_tensors
    mask = list(ctx.needs_input_grad[:3])
    dx, dw, db = _ops.native_batch_norm_backward(dy, x, weight, mean, var, None, None, False, ctx.eps, mask)
    return dx, dw, db, None, None, None


_register("native_layer_norm", _layer_norm_backward, _save_layer_norm)
_register("_fused_rms_norm", _rms_norm_backward, _save_rms_norm)
_register("batch_norm_training", _batch_norm_backward, _save_batch_norm)
_register("batch_norm_inference", _inference_backward, _save_inference)
for _name in ("native_layer_norm_backward", "_fused_rms_norm_backward", "native_batch_norm_backward"):
    _register(_name, lambda ctx, *grads: _no_second_order(*grads), lambda ctx, inputs, output: None)
