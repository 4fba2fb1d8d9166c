"""SyncBatchNorm over ``torch.distributed``: one exchange forward, one backward.

Forward: each process gathers sum(x), sum((x - its mean)^2) and count of all, in float64. Backward: one all-reduce of
sum(dy) and sum(dy*(x - mean)). ``in_rank_order``: these sums are gathered and added in the order of the ranks instead, so
that their bits do not depend on how the engine arranges an all-reduce. Processes without elements take part with a count
of 0.

Who takes part in the exchange of the backward pass is said in that of the forward pass: without one that wants dx there is
none, and with one that never gets to it, for it needs no gradients, the others raise an error rather than wait.
"""

import torch
import torch.distributed as dist

from .functional import check_running, update_running

_ops = torch.ops.normgrad

# What a process needs of the backward pass.
_NOTHING, _PARAMETERS, _DX = 0.0, 1.0, 2.0


def check_sums_dtype(dtype):
    """Another type would lose what the sums are for."""
    if dtype not in (torch.float64, torch.float32):
        raise ValueError(f"sums_dtype is {dtype}, but must be torch.float64 or torch.float32")


def synchronizes(module):
    """As torch's: never in evaluation, also where that is by the statistics of the batch."""
    if not (module.training and dist.is_available() and dist.is_initialized()):
        return False
    return dist.get_world_size(module.process_group) > 1


def _exchange(row, group):
    """(processes, len(row)): the rows of all."""
    world = dist.get_world_size(group)
    rows = [torch.empty_like(row) for _ in range(world)]
    dist.all_gather(rows, row, group=group)
    return torch.stack(rows)


def _add_in_order(rows):
    total = rows[0].clone()
    for row in rows[1:]:
        total += row
    return total


def _sum_of(mean, count):
    """sum(x), of which mean is the rounded quotient. So it is of other numbers, a unit in the last place away; of them
    this is one of 51 digits, if there is one. Where half such a unit of the mean matters, x is far from 0, has an exponent
    or two, and its sum has so few digits."""
    product = count * mean
    short = 5 * product - (5 * product - product)
    return torch.where(short / count == mean, short, product)


def _rest_of_mean(total, n, mean):
    """What the rounded quotient mean = total/n leaves: (total - n*mean)/n with the exact product, of halves."""

    def halves(v):
        high = (2.0**27 + 1) * v - ((2.0**27 + 1) * v - v)
        return high, v - high

    product = n * mean
    (a, b), (c, d) = halves(n), halves(mean)
    low = ((a * c - product) + a * d + b * c) + b * d
    rest = ((total - product) - low) / n
    return torch.where(rest.isfinite(), rest, 0.0)


def _combine(sums, squares, counts):
    """Mean, what rounding left of it, and the squares around it of a batch in parts that all have elements. As
    src/ops/sync_batch_norm does."""
    n, counts = counts.sum(), counts.reshape(-1, 1)
    total = _add_in_order(sums)
    mean = total / n
    rest = _rest_of_mean(total, n, mean)
    part_mean = sums / counts
    distance = (part_mean - mean) + (_rest_of_mean(sums, counts, part_mean) - rest)
    return mean, rest, _add_in_order(squares + counts * (distance * distance))


def _need(*tensors):
    """Of x and the parameters."""
    needs = [torch.is_grad_enabled() and t is not None and t.requires_grad for t in tensors]
    return _DX if needs[0] else _PARAMETERS if any(needs) else _NOTHING


def gather_statistics(x, eps, group, need):
    """(mean, what rounding left of it, rstd, squares) of the whole batch, (counts, needs) of the processes."""
    channels = x.shape[1]
    count = x.numel() // channels if channels else 0
    row = torch.zeros(2 * channels + 2, dtype=torch.float64)
    if count:
        mean, _, var = _ops.batch_norm_stats(x, eps)
        row[:channels], row[channels:-2] = _sum_of(mean, count), count * var
    row[-2], row[-1] = count, need
    rows = _exchange(row, group)
    counts, needs = rows[:, -2].contiguous(), rows[:, -1].tolist()
    part = rows[counts > 0]  # the statistics of nothing are none
    if not len(part):
        zero, nothing = (torch.full((channels,), v, dtype=torch.float64) for v in (0.0, torch.nan))
        return zero, zero, nothing, nothing, counts, needs
    mean, rest, squares = _combine(part[:, :channels], part[:, channels:-2], part[:, -2])
    return mean, rest, (squares / counts.sum() + eps).sqrt().reciprocal(), squares, counts, needs


def _bias_for(rest, rstd, weight, bias):
    """One that takes off what rounding left of the mean: a bias may have more digits than the data."""
    shift = rest * rstd if weight is None else rest * rstd * weight.double()
    shift = torch.where(shift.isfinite(), shift, 0.0)
    return -shift if bias is None else bias.double() - shift


def add_up(sums, group, in_rank_order):
    """Of all processes. In rank order: in float64, whatever type they travel in."""
    if in_rank_order:
        return _add_in_order(_exchange(sums, group).double())
    dist.all_reduce(sums, group=group)
    return sums


class SyncBatchNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps, group, sums_dtype, in_rank_order, statistics):
        mean, rest, rstd, counts, ctx.needs = statistics
        ctx.save_for_backward(x, weight, mean, rstd, counts)
        ctx.group, ctx.sums_dtype, ctx.in_rank_order = group, sums_dtype, in_rank_order
        return _ops.batch_norm_elemt(x, weight, _bias_for(rest, rstd, weight, bias), mean, rstd, eps)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, weight, mean, rstd, counts = ctx.saved_tensors
        need_dx, need_dw, need_db = ctx.needs_input_grad[:3]
        # Every process takes part in the exchange if one of them wants dx.
        exchanged = _DX in ctx.needs
        if exchanged and _NOTHING in ctx.needs:
            raise RuntimeError(
                f"normgrad: process {ctx.needs.index(_NOTHING)} of the group needs no gradients, of the input or of a"
                " parameter, so that it takes no part in SyncBatchNorm's backward pass, which others need it for"
            )
        sum_dy, sum_dy_xmu, dw, db = _ops.batch_norm_backward_reduce(
            dy, x, mean, rstd, weight, exchanged, need_dw, need_db
        )
        dx = None
        if exchanged:
            sums = torch.cat([sum_dy, sum_dy_xmu]).to(ctx.sums_dtype)
            sum_dy, sum_dy_xmu = add_up(sums, ctx.group, ctx.in_rank_order).chunk(2)
        if need_dx:
            dx = _ops.batch_norm_backward_elemt(dy, x, mean, rstd, weight, sum_dy, sum_dy_xmu, counts)
        return dx, dw, db, None, None, None, None, None


def sync_batch_norm(x, running_mean, running_var, weight, bias, momentum, eps, group, sums_dtype=torch.float64,
                    in_rank_order=False):
    """y, with the statistics of all processes of the group, which the running ones are updated with."""
    check_sums_dtype(sums_dtype)
    check_running(x, running_mean=running_mean, running_var=running_var)
    need = _need(x, weight, bias)
    with torch.no_grad():
        mean, rest, rstd, squares, counts, needs = gather_statistics(x, eps, group, need)
    statistics = mean, rest, rstd, counts, needs
    y = SyncBatchNormFunction.apply(x, weight, bias, eps, group, sums_dtype, in_rank_order, statistics)
    n = counts.sum()
    if n > 0:  # nothing has no statistics
        update_running(running_mean, mean, momentum)
        update_running(running_var, squares / (n - 1), momentum)
    return y
