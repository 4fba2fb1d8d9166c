"""What torch computes itself: float64 and other types that are not ours.

The kernels in C++ hand such calls to the operators ``normgrad::stock_*`` defined here: torch's own kernels, taken before
anything replaces them, or, for what torch has no CPU kernel of, its formulas in torch's operations. Results lie as those
of the kernels do: see _operators.py.
"""

import torch

_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_library = torch.library.Library("normgrad", "FRAGMENT")

_HAVE_KERNELS = (
    "native_layer_norm",
    "native_layer_norm_backward",
    "native_batch_norm",
    "native_batch_norm_backward",
)


def _define(name, kernel, schema=None):
    if schema is None:
        schema = str(getattr(torch.ops.aten, name).default._schema).removeprefix(f"aten::{name}")
    _library.define(f"stock_{name}{schema}")
    _library.impl(f"stock_{name}", kernel, "CPU")


def _torchs_own(name):
    kernel = torch.library.get_kernel(f"aten::{name}", "CPU")
    return lambda *args: kernel.call_boxed(_KEYS, *args)


def _batch_norm_backward_of_something(own):
    """torch's own divides by the number of elements, as integers: the process would end."""

    def backward(dy, x, weight, running_mean, running_var, mean, invstd, train, eps, mask):
        if x.numel():
            return own(dy, x, weight, running_mean, running_var, mean, invstd, train, eps, mask)
        parameter = lambda wanted: x.new_zeros(x.shape[1]) if wanted else None  # noqa: E731
        return torch.empty_like(x) if mask[0] else None, parameter(mask[1]), parameter(mask[2])

    return backward


def _rms_norm(x, normalized_shape, weight, eps):
    dims = tuple(range(-len(normalized_shape), 0))
    if not normalized_shape or tuple(x.shape[-len(normalized_shape):]) != tuple(normalized_shape):
        raise RuntimeError(f"the input has shape {tuple(x.shape)}, but must end with {tuple(normalized_shape)}")
    dtype = x.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise NotImplementedError(f'"rms_norm" not implemented for {dtype}')
    if dtype in (torch.float16, torch.bfloat16):
        x = x.float()
    if eps is None:
        eps = torch.finfo(x.dtype).eps
    rstd = torch.rsqrt(x.square().mean(dims, keepdim=True) + eps)
    y = x * rstd
    return (y if weight is None else y * weight).to(dtype).contiguous(), rstd.to(dtype).contiguous()


def _rms_norm_backward(dy, x, normalized_shape, rstd, weight, mask):
    k = len(normalized_shape)
    rows = tuple(range(x.dim() - k))
    dims = tuple(range(-k, 0))
    x_hat = x * rstd
    a = dy if weight is None else dy * weight
    dx = (rstd * (a - x_hat * (a * x_hat).mean(dims, keepdim=True))).contiguous() if mask[0] else None
    dw = None
    if mask[1] and weight is not None:
        dw = ((dy * x_hat).sum(rows) if rows else dy * x_hat).contiguous()
    return dx, dw


def _per_channel(v, x):
    return v.reshape(1, -1, *([1] * (x.dim() - 2)))


def _laid_out_as(x, result):
    """Elementwise operations keep any order of x's dimensions; a BatchNorm keeps channels-last alone."""
    return result.contiguous(memory_format=torch._prims_common.suggest_memory_format(x))


def _others(x):
    return tuple(d for d in range(x.dim()) if d != 1)


def _stats_and_var(x, eps):
    var, mean = torch.var_mean(x, _others(x), correction=0)
    return mean, torch.rsqrt(var + eps), var


def _stats(x, eps):
    return _stats_and_var(x, eps)[:2]


def _gather(x, mean, invstd, running_mean, running_var, momentum, eps, counts):
    counts = counts.to(mean.dtype).reshape(-1, 1)
    total = counts.sum()
    mean_all = (counts * mean).sum(0) / total
    squares = (counts * (invstd.pow(-2) - eps + (mean - mean_all).square())).sum(0)
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(momentum * mean_all)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(momentum * squares / (total - 1))
    return mean_all, torch.rsqrt(squares / total + eps)


def _elemt(x, weight, bias, mean, invstd, eps):
    y = (x - _per_channel(mean, x)) * _per_channel(invstd, x)
    if weight is not None:
        y = y * _per_channel(weight, x)
    return _laid_out_as(x, y if bias is None else y + _per_channel(bias, x))


def _reduce(dy, x, mean, invstd, weight, sums, dw_wanted, db_wanted):
    sum_dy = dy.sum(_others(x))
    sum_dy_xmu = (dy * (x - _per_channel(mean, x))).sum(_others(x))
    return (
        sum_dy if sums else None,
        sum_dy_xmu if sums else None,
        sum_dy_xmu * invstd if dw_wanted else None,
        sum_dy.clone() if db_wanted else None,
    )


def _backward_elemt(dy, x, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    n = count.sum().to(x.dtype)
    scale = invstd if weight is None else invstd * weight
    x_mu = x - _per_channel(mean, x)
    c2 = invstd.square() * sum_dy_xmu / n
    return _laid_out_as(x, _per_channel(scale, x) * (dy - _per_channel(sum_dy / n, x) - x_mu * _per_channel(c2, x)))


def _batch_norm_training(x, weight, bias, eps):
    mean, rstd, var = _stats_and_var(x, eps)
    return _elemt(x, weight, bias, mean, rstd, eps), mean, rstd, var


def _batch_norm_inference(x, weight, bias, running_mean, running_var, eps):
    channels = x.shape[1]
    mean = x.new_zeros(channels) if running_mean is None else running_mean.expand(channels)
    invstd = x.new_ones(channels) if running_var is None else torch.rsqrt(running_var + eps).expand(channels)
    return _elemt(x, weight, bias, mean, invstd, eps)


def define():
    for name in _HAVE_KERNELS:
        kernel = _torchs_own(name)
        _define(name, _batch_norm_backward_of_something(kernel) if name == "native_batch_norm_backward" else kernel)
    _define("_fused_rms_norm", _rms_norm)
    _define("_fused_rms_norm_backward", _rms_norm_backward)
    _define("batch_norm_stats", _stats)
    _define("batch_norm_stats_and_var", _stats_and_var, "(Tensor x, float eps) -> (Tensor, Tensor, Tensor)")
    _define("batch_norm_gather_stats_with_counts", _gather)
    _define("batch_norm_elemt", _elemt)
    _define("batch_norm_backward_reduce", _reduce)
    _define("batch_norm_backward_elemt", _backward_elemt)
    _define("batch_norm_training", _batch_norm_training, "(Tensor x, Tensor? w, Tensor? b, float eps) -> (Tensor, Tensor, Tensor, Tensor)")
    _define("batch_norm_inference", _batch_norm_inference,
            "(Tensor x, Tensor? w, Tensor? b, Tensor? mean, Tensor? var, float eps) -> Tensor")
