"""The numbers that go in: made once by the driver, the same bits for every contender."""

from __future__ import annotations

import mmap
from pathlib import Path

import ml_dtypes
import numpy as np

from .workloads import Workload

Arrays = dict[str, np.ndarray]

NUMPY = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
}


def private_array(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros on pages of their own, all touched; every contender has such."""
    size = int(np.prod(shape)) * dtype.itemsize
    memory = mmap.mmap(-1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    array = np.frombuffer(memory, dtype=dtype, count=size // dtype.itemsize).reshape(shape)
    array[...] = 0
    return array


def rest_axes(a: np.ndarray) -> tuple[int, ...]:
    """All axes but the channels', which are axis 1."""
    return tuple(axis for axis in range(a.ndim) if axis != 1)


def along_channels(values: np.ndarray, rank: int) -> np.ndarray:
    """Shaped so that it multiplies an array whose axis 1 are the channels."""
    return values.reshape((1, -1) + (1,) * (rank - 2))


def make_inputs(workload: Workload) -> Arrays:
    """Logical arrays; big ones of channels-last workloads are views of memory in that order."""
    random = np.random.Generator(np.random.SFC64([workload.elements, len(workload.operator)]))
    dtype = NUMPY[workload.dtype]

    def uniform(low: float, high: float, shape: tuple[int, ...]) -> np.ndarray:
        values = random.random(shape, dtype=np.float32)
        values *= np.float32(high - low)
        values += np.float32(low)
        return values.astype(dtype)

    big = workload.shape
    inputs = {} if workload.is_forward else {"dy": uniform(-1, 1.125, big)}
    inputs["x"] = uniform(-1.75, 2.25, big)
    inputs["w"] = uniform(0.5, 1.5, big[1:2])
    if workload.is_forward and workload.norm != "rms_norm":
        inputs["b"] = uniform(-1, 1, big[1:2])
    if workload.operator == "layer_norm":
        x = inputs["x"].astype(np.float64)
        x -= x.mean(axis=1, keepdims=True)
        sigma = np.sqrt(np.mean(x * x, axis=1) + workload.eps)
        inputs["x_hat"] = (x / sigma[:, None]).astype(dtype)
        inputs["sigma"] = sigma.astype(dtype)
    elif not workload.is_row_norm and workload.operator != "batch_norm_training_forward":
        inputs |= channel_statistics(workload, inputs)
    return inputs


def channel_statistics(workload: Workload, inputs: Arrays) -> Arrays:
    """Training and inference have all in one data type; the halves of SyncBatchNorm keep f32."""
    x = inputs["x"].astype(np.float64)
    axes = rest_axes(x)
    mean = x.mean(axis=axes)
    x -= along_channels(mean, x.ndim)
    variance = np.mean(x * x, axis=axes)
    if workload.norm in ("batch_norm_training", "batch_norm_inference"):
        statistics = {"mean": mean, "var": variance}
        if takes_rstd(workload):
            statistics = {"mean": mean, "rstd": 1 / np.sqrt(variance)}
        return {name: values.astype(NUMPY[workload.dtype]) for name, values in statistics.items()}
    statistics = {"mean": mean, "rstd": 1 / np.sqrt(variance + 1e-5)}
    if workload.operator == "batch_norm_elementwise":
        dy = inputs["dy"].astype(np.float64)
        statistics["sum_dy"] = dy.sum(axis=axes)
        statistics["sum_dy_xmu"] = (dy * x).sum(axis=axes)
    return {name: values.astype(np.float32) for name, values in statistics.items()}


def takes_rstd(workload: Workload) -> bool:
    """aclnn's BatchNorm in training takes 1/sqrt(variance), InfiniOp's the variance."""
    return workload.operator == "batch_norm_training" and workload.is_channels_last


def is_big(workload: Workload, array: np.ndarray) -> bool:
    return array.shape == workload.shape


def stored(workload: Workload, array: np.ndarray) -> np.ndarray:
    """A logical array in the order of the workload's memory."""
    if workload.is_channels_last and is_big(workload, array):
        return np.ascontiguousarray(np.moveaxis(array, 1, -1))
    return np.ascontiguousarray(array)


def logical(workload: Workload, array: np.ndarray) -> np.ndarray:
    """The same memory with the axes of the workload's shape."""
    if workload.is_channels_last and array.size == workload.elements:
        return np.moveaxis(array.reshape(workload.stored_shape), -1, 1)
    return array


def save(folder: Path, name: str, array: np.ndarray) -> None:
    # npy files know no bf16: the name of the type goes into the name of the file.
    np.save(
        folder / f"{name}.{array.dtype.name}.npy",
        np.ascontiguousarray(array).view(f"u{array.itemsize}"),
    )


def load(path: Path) -> tuple[str, np.ndarray]:
    name, type_name, _ = path.name.rsplit(".", 2)
    dtype = np.dtype(getattr(ml_dtypes, type_name, None) or type_name)
    return name, np.load(path, mmap_mode="r").view(dtype)


def load_private(folder: Path) -> Arrays:
    arrays = {}
    for path in sorted(folder.glob("*.npy")):
        name, array = load(path)
        arrays[name] = private_array(array.shape, array.dtype)
        arrays[name][...] = array
    return arrays
