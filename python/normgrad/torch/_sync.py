"""SyncBatchNorm over ``torch.distributed``: one exchange forward, one backward.

Forward: each process gathers the float64 mean, rstd and count of all. Backward: one all-reduce of sum(dy) and
sum(dy*(x - mean)). ``in_rank_order``: these sums are gathered and added in the order of the ranks instead, so that their
bits do not depend on how the engine arranges an all-reduce. Processes without elements take part with a count of 0.
"""

import torch
import torch.distributed as dist

_ops = torch.ops.normgrad


def _exchange(row, group):
    """(processes, len(row)): the rows of all."""
    world = dist.get_world_size(group)
    rows = [torch.empty_like(row) for _ in range(world)]
    dist.all_gather(rows, row, group=group)
    return torch.stack(rows)


def gather_statistics(x, eps, group):
    """(mean, rstd, unbiased variance, counts) of the whole batch."""
    channels = x.shape[1]
    count = x.numel() // channels if channels else 0
    row = torch.zeros(2 * channels + 1, dtype=torch.float64)
    if count:
        mean, rstd = _ops.batch_norm_stats(x, eps)
        row[:channels], row[channels:-1], row[-1] = mean, rstd, count
    rows = _exchange(row, group)
    counts = rows[:, -1].contiguous()
    some = counts > 0  # the statistics of nothing are none
    part = rows[some]
    stats = _ops.gather_stats(x, part[:, :channels], part[:, channels:-1], eps, counts[some])
    return *stats, counts


def add_up(sums, group, in_rank_order):
    if not in_rank_order:
        dist.all_reduce(sums, group=group)
        return sums
    rows = _exchange(sums, group)
    total = rows[0].clone()
    for row in rows[1:]:
        total += row
    return total


class SyncBatchNormFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps, group, sums_dtype, in_rank_order, statistics):
        mean, rstd, counts = statistics
        ctx.save_for_backward(x, weight, mean, rstd, counts)
        ctx.group, ctx.sums_dtype, ctx.in_rank_order = group, sums_dtype, in_rank_order
        return _ops.batch_norm_elemt(x, weight, bias, mean, rstd, eps)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, weight, mean, rstd, counts = ctx.saved_tensors
        need_dx, need_dw, need_db = ctx.needs_input_grad[:3]
        # Every process takes part in the exchange, whether or not it wants dx.
        sum_dy, sum_dy_xmu, dw, db = _ops.batch_norm_backward_reduce(dy, x, mean, rstd, weight, True, need_dw, need_db)
        sums = torch.cat([sum_dy, sum_dy_xmu]).to(ctx.sums_dtype)
        sums = add_up(sums, ctx.group, ctx.in_rank_order)
        sum_dy, sum_dy_xmu = sums.chunk(2)
        dx = None
        if need_dx:
            dx = _ops.batch_norm_backward_elemt(dy, x, mean, rstd, weight, sum_dy, sum_dy_xmu, counts)
        return dx, dw, db, None, None, None, None, None


def sync_batch_norm(x, weight, bias, eps, group, sums_dtype=torch.float64, in_rank_order=False):
    """(y, mean, unbiased variance) with the statistics of all processes of the group."""
    with torch.no_grad():
        mean, rstd, var, counts = gather_statistics(x, eps, group)
    y = SyncBatchNormFunction.apply(x, weight, bias, eps, group, sums_dtype, in_rank_order, (mean, rstd, counts))
    return y, mean, var
