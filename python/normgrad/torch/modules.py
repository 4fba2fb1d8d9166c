"""Modules that take the place of torch's: same arguments, same ``state_dict``."""

import torch
from torch import nn

from . import functional
from ._sync import sync_batch_norm, synchronizes


class LayerNorm(nn.LayerNorm):
    """``torch.nn.LayerNorm``, computed by normgrad on CPUs."""

    def forward(self, input):
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(nn.RMSNorm):
    """``torch.nn.RMSNorm``, computed by normgrad on CPUs."""

    def forward(self, x):
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class Counted:
    """What ``torch.nn``'s BatchNorm modules do before they compute."""

    def _next_momentum(self):
        if not (self.training and self.track_running_stats):
            return 0.0 if self.momentum is None else self.momentum
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the average of all batches
                return 1.0 / float(self.num_batches_tracked)
        return 0.0 if self.momentum is None else self.momentum

    def _uses_batch(self):
        return self.training or (self.running_mean is None and self.running_var is None)

    def _running(self):
        if self.training and not self.track_running_stats:
            return None, None
        return self.running_mean, self.running_var

    def _normalize(self, input):
        momentum = self._next_momentum()
        return functional.batch_norm(
            input, *self._running(), self.weight, self.bias, self._uses_batch(), momentum, self.eps
        )


class BatchNorm1d(Counted, nn.BatchNorm1d):
    """``torch.nn.BatchNorm1d``, computed by normgrad on CPUs."""

    def forward(self, input):
        self._check_input_dim(input)
        return self._normalize(input)


class BatchNorm2d(Counted, nn.BatchNorm2d):
    """``torch.nn.BatchNorm2d``, computed by normgrad on CPUs."""

    def forward(self, input):
        self._check_input_dim(input)
        return self._normalize(input)


class BatchNorm3d(Counted, nn.BatchNorm3d):
    """``torch.nn.BatchNorm3d``, computed by normgrad on CPUs."""

    def forward(self, input):
        self._check_input_dim(input)
        return self._normalize(input)


class SyncBatchNorm(Counted, nn.modules.batchnorm._BatchNorm):
    """``torch.nn.SyncBatchNorm`` for CPUs, over any engine of ``torch.distributed`` that has all-gather and all-reduce.

    sums_dtype: what the sums of the backward pass travel in, float64 or, at half the bytes, float32.
    in_rank_order: they are gathered and added in the order of the ranks: the same bits however the engine would add.
    more: what torch's takes besides, such as bias.
    """

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True,
                 process_group=None, device=None, dtype=None, *, sums_dtype=torch.float64, in_rank_order=False,
                 **more):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, **more)
        self.process_group = process_group
        self.sums_dtype = sums_dtype
        self.in_rank_order = in_rank_order

    def _check_input_dim(self, input):
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input):
        self._check_input_dim(input)
        if not synchronizes(self):
            return self._normalize(input)
        momentum = self._next_momentum()
        # Attributes of a converted torch.nn.SyncBatchNorm are missing.
        sums_dtype = getattr(self, "sums_dtype", torch.float64)
        in_rank_order = getattr(self, "in_rank_order", False)
        return sync_batch_norm(input, *self._running(), self.weight, self.bias, momentum, self.eps,
                               self.process_group, sums_dtype, in_rank_order)


_PLACES = {
    nn.LayerNorm: LayerNorm,
    nn.RMSNorm: RMSNorm,
    nn.BatchNorm1d: BatchNorm1d,
    nn.BatchNorm2d: BatchNorm2d,
    nn.BatchNorm3d: BatchNorm3d,
    nn.SyncBatchNorm: SyncBatchNorm,
}


def convert(module):
    """Makes every norm of torch inside ``module``, or itself, one of normgrad's. In place: parameters, buffers, hooks and
    optimizers that know them stay. Returns the module. Subclasses of torch's modules are left alone."""
    for child in module.modules():
        ours = _PLACES.get(type(child))
        if ours is not None:
            child.__class__ = ours
    return module
