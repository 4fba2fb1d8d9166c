"""``enable()``: unmodified models use normgrad on CPUs."""

import warnings

from torch import nn

from .. import _core
from ._sync import sync_batch_norm, synchronizes
from .modules import Counted

_enabled = False
_sync_forward = nn.SyncBatchNorm.forward
_ddp_check = nn.parallel.DistributedDataParallel._passing_sync_batchnorm_handle


def _forward_on_cpu(self, input):
    """torch's module, which refuses what does not lie on an accelerator, with our exchange. torch's own loses digits to
    float32, and from a process without elements it sends the input's type, from others that of the statistics: an engine
    that gets both for 16-bit data may end the process."""
    if input.device.type != "cpu":
        return _sync_forward(self, input)
    self._check_input_dim(input)
    self._check_non_zero_input_channels(input)
    if not synchronizes(self):
        return nn.modules.batchnorm._BatchNorm.forward(self, input)
    momentum = Counted._next_momentum(self)
    return sync_batch_norm(input, *Counted._running(self), self.weight, self.bias, momentum, self.eps, self.process_group)


def _ddp_check_on_cpu(self, module):
    """It refuses SyncBatchNorm where the module lies on no accelerator; there is nothing else that it checks."""
    if self.device_type != "cpu":
        _ddp_check(self, module)


def enable() -> None:
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


def disable() -> None:
    """torch's own kernels again."""
    global _enabled
    if not _enabled:
        return
    _core.take_kernels_out("aten")
    nn.SyncBatchNorm.forward = _sync_forward
    nn.parallel.DistributedDataParallel._passing_sync_batchnorm_handle = _ddp_check
    _enabled = False


def is_enabled() -> bool:
    """Whether ``enable()`` is in effect."""
    return _enabled
