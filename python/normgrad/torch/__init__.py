"""normgrad for PyTorch on CPUs.

``enable()`` makes unmodified models use it; ``convert(module)`` or the modules themselves do so for one model, also inside
``torch.compile``; ``functional`` has the functions. The operators are ``torch.ops.normgrad.*``.
"""

import torch as _torch

_version = tuple(int(part) for part in _torch.__version__.split("+")[0].split(".")[:2] if part.isdigit())
if _version < (2, 10):
    raise ImportError(f"normgrad.torch needs torch 2.10 or later, and this is {_torch.__version__}")

from . import _operators  # noqa: E402, F401 - defines torch.ops.normgrad
from . import functional  # noqa: E402
from ._enable import disable, enable, is_enabled  # noqa: E402
from .modules import (  # noqa: E402
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    LayerNorm,
    RMSNorm,
    SyncBatchNorm,
    convert,
)

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LayerNorm",
    "RMSNorm",
    "SyncBatchNorm",
    "convert",
    "disable",
    "enable",
    "functional",
    "is_enabled",
]
