"""oneDNN: the primitives of its C API. The newest package runs on SYCL and TBB."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import numpy as np

from .arrays import Arrays, private_array
from .native import address, repeated
from .outputs import output_arrays, output_forms
from .worker import Case, NotSupported, Settings
from .workloads import Workload

DTYPES = {"float16": 1, "bfloat16": 2, "float32": 3}
CPU, IN_ORDER = 1, 1
FORWARD_TRAINING, FORWARD_INFERENCE, BACKWARD = 64, 96, 128
GLOBAL_STATS, SCALE, SHIFT, RMS = 0x1, 0x2, 0x4, 0x20
SRC, DST, MEAN, VARIANCE, SCALE_ARG, SHIFT_ARG = 1, 17, 49, 50, 51, 52
DIFF_SRC, DIFF_DST, DIFF_SCALE, DIFF_SHIFT = 129, 145, 255, 256
UNIMPLEMENTED = 3
Dims = ctypes.c_int64 * 12


class ExecArg(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]


class Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]


class OneDnn:
    def __init__(self, settings: Settings, name: str, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))
        self.library.dnnl_version.restype = ctypes.POINTER(Version)
        v = self.library.dnnl_version().contents
        self.versions = {name: f"{v.major}.{v.minor}.{v.patch}"}
        self.has_rms = (v.major, v.minor) >= (3, 8)
        self.helper = settings.helper
        self.engine = self.create("engine_create", CPU, ctypes.c_size_t(0))
        self.stream = self.create("stream_create", self.engine, IN_ORDER)

    def create(self, name: str, *arguments: object) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        status = getattr(self.library, f"dnnl_{name}")(ctypes.byref(made), *arguments)
        if status == UNIMPLEMENTED:
            raise NotSupported(name)
        if status != 0:
            raise RuntimeError(f"dnnl_{name} returned {status}")
        return made

    def description(
        self, shape: tuple[int, ...], dtype: str, strides: list[int]
    ) -> ctypes.c_void_p:
        dims = (Dims(*shape), DTYPES[dtype], Dims(*strides))
        return self.create("memory_desc_create_with_strides", len(shape), *dims)

    def big(self, workload: Workload, array: np.ndarray) -> ctypes.c_void_p:
        strides = [stride // array.itemsize for stride in array.strides]
        if workload.is_channels_last:
            strides = [strides[0], strides[-1], *strides[1:-1]]
        return self.description(workload.shape, array.dtype.name, strides)

    def small(self, array: np.ndarray) -> ctypes.c_void_p:
        return self.description(array.shape, array.dtype.name, [1])

    def vector(self, length: int) -> ctypes.c_void_p:
        return self.description((length,), "float32", [1])

    def prepare(self, workload: Workload, inputs: Arrays) -> Case:
        if workload.operator in ("batch_norm_reduce", "batch_norm_elementwise"):
            raise NotSupported(workload.operator)
        if workload.norm == "rms_norm" and not self.has_rms:
            raise NotSupported(workload.operator)
        if workload.is_forward:
            return self.prepare_forward(workload, inputs)
        statistics = {
            name: f32(array) for name, array in row_or_channel_statistics(workload, inputs).items()
        }
        w = f32(inputs["w"])
        outputs = output_arrays(workload)
        # Weights and their gradients are f32 whatever the data type.
        outputs |= {name: f32(array) for name, array in outputs.items() if name != "dx"}
        data = self.big(workload, inputs["x"])
        of_rows = [self.small(statistics["var"])] if workload.is_row_norm else []
        primitive = self.create("primitive_create", self.backward(workload, data, of_rows))
        memory = {
            SRC: (inputs["x"], data),
            DIFF_DST: (inputs["dy"], data),
            DIFF_SRC: (outputs["dx"], data),
            VARIANCE: (statistics["var"], self.small(statistics["var"])),
            SCALE_ARG: (w, self.small(w)),
            DIFF_SCALE: (outputs["dw"], self.small(w)),
        }
        if "mean" in statistics:
            memory[MEAN] = (statistics["mean"], self.small(statistics["mean"]))
        if "db" in outputs:
            memory[DIFF_SHIFT] = (outputs["db"], self.small(w))
            if workload.is_row_norm:  # asks for the shift, though no result depends on it
                memory[SHIFT_ARG] = (f32(np.zeros_like(w)), self.small(w))
        return Case({"": self.run_of(primitive, memory)}, lambda: outputs)

    def prepare_forward(self, workload: Workload, inputs: Arrays) -> Case:
        given = workload.operator == "batch_norm_inference_forward"
        computed = workload.norm in ("layer_norm", "batch_norm_training")
        forms = output_forms(workload)
        outputs = {"y": private_array(*forms["y"])}
        if computed:  # var, where others give rstd
            outputs |= {name: private_array(*forms["mean"]) for name in ("mean", "var")}
        statistics = {n: f32(inputs[n]) for n in ("mean", "var")} if given else outputs
        data = self.big(workload, inputs["x"])
        of_rows = [self.vector(workload.shape[0])] if workload.is_row_norm else []
        purpose = FORWARD_TRAINING if computed else FORWARD_INFERENCE
        forward = self.forward(workload, purpose, data, of_rows)
        small = {SCALE_ARG: f32(inputs["w"])}
        if "b" in inputs:
            small[SHIFT_ARG] = f32(inputs["b"])
        if given or computed:
            small |= {MEAN: statistics["mean"], VARIANCE: statistics["var"]}
        memory = {SRC: (inputs["x"], data), DST: (outputs["y"], data)}
        memory |= {kind: (array, self.small(array)) for kind, array in small.items()}
        primitive = self.create("primitive_create", forward)
        return Case({"": self.run_of(primitive, memory)}, lambda: outputs)

    def common(self, workload: Workload, of_rows: list) -> tuple[str, tuple]:
        """What the descriptions of both passes share: the kind, and their last arguments."""
        flags = SCALE | (RMS if workload.norm == "rms_norm" else SHIFT)
        if workload.norm == "batch_norm_inference":
            flags |= GLOBAL_STATS
        kind = "layer" if workload.is_row_norm else "batch"
        return f"{kind}_normalization", (*of_rows, ctypes.c_float(workload.eps), flags)

    def forward(
        self, workload: Workload, purpose: int, data: ctypes.c_void_p, of_rows: list
    ) -> ctypes.c_void_p:
        name, last = self.common(workload, of_rows)
        arguments = (self.engine, purpose, data, data, *last, None)
        return self.create(f"{name}_forward_primitive_desc_create", *arguments)

    def backward(self, workload: Workload, data: ctypes.c_void_p, of_rows: list) -> ctypes.c_void_p:
        forward = self.forward(workload, FORWARD_TRAINING, data, of_rows)
        name, last = self.common(workload, of_rows)
        arguments = (self.engine, BACKWARD, data, data, data, *last, forward, None)
        return self.create(f"{name}_backward_primitive_desc_create", *arguments)

    def run_of(self, primitive: ctypes.c_void_p, memory: dict) -> object:
        arguments = (ExecArg * len(memory))()
        for slot, (kind, (array, description)) in zip(arguments, memory.items(), strict=True):
            handle = self.create(
                "memory_create", description, self.engine, ctypes.c_void_p(address(array))
            )
            slot.arg, slot.memory = kind, handle.value
        given = [primitive.value, self.stream.value, len(memory), ctypes.addressof(arguments)]
        execute = repeated(self.helper, self.library.dnnl_primitive_execute, given)

        def run(times: int, keep: object = (arguments, memory)) -> None:
            execute(times)
            self.library.dnnl_stream_wait(self.stream)

        return run


def f32(array: np.ndarray) -> np.ndarray:
    wide = private_array(array.shape, np.dtype(np.float32))
    wide[...] = array
    return wide


def row_or_channel_statistics(workload: Workload, inputs: Arrays) -> Arrays:
    if not workload.is_row_norm:
        variance = inputs["var"] if "var" in inputs else 1 / inputs["rstd"].astype(np.float64) ** 2
        return {"mean": inputs["mean"], "var": variance}
    x = inputs["x"].astype(np.float64)
    if workload.operator == "rms_norm":
        return {"var": np.mean(x * x, axis=1)}
    return {"mean": x.mean(axis=1), "var": x.var(axis=1)}


def make(settings: Settings) -> OneDnn:
    folder = Path(sys.prefix) / "lib"
    # SYCL finds the processor through OpenCL, and that its driver by this name.
    os.environ["OCL_ICD_FILENAMES"] = str(folder / "libintelocl.so")
    for library in ("libintlc.so.5", "libimf.so", "libsvml.so", "libtbb.so.12", "libsycl.so.9"):
        ctypes.CDLL(str(folder / library), mode=ctypes.RTLD_GLOBAL)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-settings.threads :])  # TBB's threads
    return OneDnn(settings, "onednn", folder / "libdnnl.so.3")
