"""numpy arrays as torch tensors and back, without a copy."""

from __future__ import annotations

import logging

import ml_dtypes
import numpy as np
import torch

from .arrays import Arrays
from .worker import Settings
from .workloads import Workload


def start(settings: Settings) -> None:
    # It would warn of CUDA, which its package has and this machine may lack.
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
    torch.set_num_threads(settings.threads)
    torch.set_grad_enabled(False)


def to_torch(workload: Workload, array: np.ndarray) -> torch.Tensor:
    if array.dtype == ml_dtypes.bfloat16:
        tensor = torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(array)
    if not workload.is_channels_last or array.size != workload.elements or array.ndim == 2:
        return tensor
    if array.ndim == 3:  # channels-last is known for 4 and 5 dimensions
        tensor = tensor.unsqueeze(2)
    return tensor.movedim(-1, 1)


def to_numpy(workload: Workload, tensor: torch.Tensor) -> np.ndarray:
    if tensor.numel() != workload.elements:
        tensor = tensor.flatten()  # statistics of rows have a trailing 1
    elif workload.is_channels_last:
        tensor = tensor.movedim(1, -1).contiguous().reshape(workload.stored_shape)
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def to_tensors(workload: Workload, inputs: Arrays) -> dict[str, torch.Tensor]:
    return {name: to_torch(workload, array) for name, array in inputs.items()}


def per_channel(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return values.reshape((1, -1) + (1,) * (like.dim() - 2))
