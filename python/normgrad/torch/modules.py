"""Modules that take the place of torch's: same arguments, same ``state_dict``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn

from . import functional
from ._sync import check_sums_dtype, sync_batch_norm, synchronizes

if TYPE_CHECKING:  # a torch may have been built without it
    from torch.distributed import ProcessGroup


class LayerNorm(nn.LayerNorm):
    """``torch.nn.LayerNorm``, computed by normgrad on CPUs."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(nn.RMSNorm):
    """``torch.nn.RMSNorm``, computed by normgrad on CPUs."""

    def forward(self, x: Tensor) -> Tensor:
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

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return self._normalize(input)


class BatchNorm2d(Counted, nn.BatchNorm2d):
    """``torch.nn.BatchNorm2d``, computed by normgrad on CPUs."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return self._normalize(input)


class BatchNorm3d(Counted, nn.BatchNorm3d):
    """``torch.nn.BatchNorm3d``, computed by normgrad on CPUs."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return self._normalize(input)


class SyncBatchNorm(Counted, nn.modules.batchnorm._BatchNorm):
    """``torch.nn.SyncBatchNorm`` for CPUs, over any engine of ``torch.distributed`` that has all-gather and all-reduce.

    sums_dtype: what the sums of the backward pass travel in, float64 or, at half the bytes, float32.
    in_rank_order: they are gathered and added in the order of the ranks: the same bits however the engine would add.
    On other devices it is torch's own, which knows neither.
    more: what torch's takes besides, such as bias.
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: ProcessGroup | None = None,
                 device: torch.device | str | None = None, dtype: torch.dtype | None = None, *,
                 sums_dtype: torch.dtype = torch.float64, in_rank_order: bool = False, **more: bool) -> None:
        check_sums_dtype(sums_dtype)
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device=device, dtype=dtype, **more)
        self.process_group = process_group
        self.sums_dtype = sums_dtype
        self.in_rank_order = in_rank_order

    # Not one of torch's by its class: DistributedDataParallel refuses those on CPUs. So by what it has.
    _check_input_dim = nn.SyncBatchNorm._check_input_dim
    _check_non_zero_input_channels = nn.SyncBatchNorm._check_non_zero_input_channels

    @classmethod
    def convert_sync_batchnorm(cls, module: nn.Module, process_group: ProcessGroup | None = None) -> nn.Module:
        """As torch's: every BatchNorm inside ``module``, or itself, becomes a SyncBatchNorm, here one of normgrad's. Those
        that are already stay as they are."""
        if isinstance(module, SyncBatchNorm):
            return module
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            return convert(nn.SyncBatchNorm.convert_sync_batchnorm(module, process_group))
        for name, child in module.named_children():
            module.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return module

    def forward(self, input: Tensor) -> Tensor:
        if input.device.type != "cpu":
            return nn.SyncBatchNorm.forward(self, input)
        self._check_input_dim(input)
        self._check_non_zero_input_channels(input)
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


Module = TypeVar("Module", bound=nn.Module)


def convert(module: Module) -> Module:
    """Makes every norm of torch inside ``module``, or itself, one of normgrad's. In place: parameters, buffers, hooks and
    optimizers that know them stay. Returns the module. Subclasses of torch's modules are left alone."""
    for child in module.modules():
        ours = _PLACES.get(type(child))
        if ours is not None:
            child.__class__ = ours
    return module
