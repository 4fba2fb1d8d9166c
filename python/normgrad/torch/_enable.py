"""``enable()``: unmodified models use normgrad on CPUs."""

import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules._functions import SyncBatchNorm as _torchs_sync_batch_norm

from .. import _core

_enabled = False
_sync_forward = nn.SyncBatchNorm.forward
_ddp_check = nn.parallel.DistributedDataParallel._passing_sync_batchnorm_handle


def _forward_on_cpu(self, input):
    """torch's own SyncBatchNorm, which refuses what does not lie on an accelerator before it asks for kernels."""
    if input.device.type != "cpu":
        return _sync_forward(self, input)
    self._check_input_dim(input)
    self._check_non_zero_input_channels(input)
    group = self.process_group or (dist.group.WORLD if dist.is_available() and dist.is_initialized() else None)
    by_batch = self.training or (self.running_mean is None and self.running_var is None)
    alone = group is None or dist.get_world_size(group) == 1
    if alone or not by_batch:
        return nn.modules.batchnorm._BatchNorm.forward(self, input)
    momentum = 0.0 if self.momentum is None else self.momentum
    if self.training and self.track_running_stats:
        self.num_batches_tracked.add_(1)
        if self.momentum is None:
            momentum = 1.0 / float(self.num_batches_tracked)
    tracked = not self.training or self.track_running_stats
    return _torchs_sync_batch_norm.apply(
        input,
        self.weight,
        self.bias,
        self.running_mean if tracked else None,
        self.running_var if tracked else None,
        self.eps,
        momentum,
        group,
        dist.get_world_size(group),
    )


def _ddp_check_on_cpu(self, module):
    """It refuses SyncBatchNorm where the module lies on no accelerator; there is nothing else that it checks."""
    if self.device_type != "cpu":
        _ddp_check(self, module)


def enable():
    """LayerNorm, RMSNorm, BatchNorm and SyncBatchNorm of unmodified models are computed by normgrad on CPUs, forward and
    backward, until ``disable()``. What ``torch.compile`` makes code for itself stays its own."""
    global _enabled
    if _enabled:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that kernels are replaced
        _core.put_kernels_in("aten")
    nn.SyncBatchNorm.forward = _forward_on_cpu
    nn.parallel.DistributedDataParallel._passing_sync_batchnorm_handle = _ddp_check_on_cpu
    _enabled = True


def disable():
    """torch's own kernels again."""
    global _enabled
    if not _enabled:
        return
    _core.take_kernels_out("aten")
    nn.SyncBatchNorm.forward = _sync_forward
    nn.parallel.DistributedDataParallel._passing_sync_batchnorm_handle = _ddp_check
    _enabled = False


def is_enabled():
    return _enabled
