"""normgrad, through its installed C libraries.

Gradients: InfiniOp where it has the operator (LayerNorm, RMSNorm, row-major BatchNorm in training);
else aclnn, with an executor that is made once and run again and again. Forward passes: the C++
contract, with a plan that is made once.
"""

from __future__ import annotations

import ctypes
import weakref
from pathlib import Path

import numpy as np

from .arrays import Arrays, logical, private_array
from .native import address, repeated, words
from .outputs import output_arrays
from .worker import Case, Run, Settings
from .workloads import Workload

INFINI_DTYPES = {"f32": 13, "f16": 12, "bf16": 19}
ACL_DTYPES = {"float32": 0, "float16": 1, "bfloat16": 27, "int32": 3}
ACL_FORMAT_ND, ACL_FORMAT_NCDHW = 2, 30
CONTRACT = "libnormgrad_peers_ours.so"
Dims = ctypes.c_int64 * 8


class Argument(ctypes.Structure):
    """Of benchmarks/peers_ours.cc."""

    _fields_ = [
        *[("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("address", ctypes.c_void_p)],
        *[("rank", ctypes.c_int64), ("shape", Dims), ("strides", Dims)],
    ]


class Ours:
    def __init__(self, settings: Settings) -> None:
        folder = Path(settings.prefix) / "lib"
        self.helper = settings.helper
        self.infiniop = ctypes.CDLL(str(folder / "libinfiniop.so"))
        self.opapi = ctypes.CDLL(str(folder / "libopapi_nn.so"))
        self.acl = ctypes.CDLL(str(folder / "libascendcl.so"))
        self.acl_base = ctypes.CDLL(str(folder / "libnnopbase.so"))
        self.acl_base.aclCreateTensor.restype = ctypes.c_void_p
        self.acl_base.aclCreateBoolArray.restype = ctypes.c_void_p
        library = ctypes.CDLL(str(folder / "libnormgrad.so"))
        library.normgradGetLastError.restype = ctypes.c_char_p
        self.last_error = library.normgradGetLastError
        # After the installed libnormgrad, which it then shares.
        self.contract = ctypes.CDLL(str(Path(settings.helper).with_name(CONTRACT)))
        self.contract.normgrad_peers_begin.restype = ctypes.c_void_p
        self.contract.normgrad_peers_end.argtypes = [ctypes.c_void_p]
        self.versions = {"normgrad": version_of(Path(settings.prefix))}
        self.handle = ctypes.c_void_p()
        self.must(self.infiniop.infiniopCreateHandle(ctypes.byref(self.handle)))
        self.must(self.acl.aclInit(None))
        self.must(self.acl.aclrtSetDevice(0))
        self.stream = ctypes.c_void_p()
        self.must(self.acl.aclrtCreateStream(ctypes.byref(self.stream)))

    def must(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(f"status {status}: {self.last_error().decode()}")

    def prepare(self, workload: Workload, inputs: Arrays) -> Case:
        outputs = output_arrays(workload)
        arrays = inputs | outputs
        if workload.is_forward:
            run = self.contract_run(workload, arrays)
        elif workload.operator == "layer_norm":
            order = ("dx", "dw", "db", "dy", "w", "x_hat", "sigma")
            run = self.infiniop_run("LayerNormBackward", workload, arrays, order)
        elif workload.operator == "rms_norm":
            order = ("dx", "dw", "dy", "x", "w")
            run = self.infiniop_run("RMSNormBackward", workload, arrays, order)
        elif workload.operator == "batch_norm_training" and not workload.is_channels_last:
            order = ("dx", "dw", "db", "x", "dy", "w", "mean", "var")
            run = self.infiniop_run("BatchNormBackward", workload, arrays, order)
        else:
            run = self.aclnn_run(workload, arrays)
        return Case({"": run}, lambda: outputs)

    def contract_run(self, workload: Workload, arrays: Arrays) -> Run:
        arguments = [argument(name, logical(workload, array)) for name, array in arrays.items()]
        call = self.contract.normgrad_peers_begin(
            workload.norm.encode(),
            ctypes.c_double(workload.eps),
            (Argument * len(arguments))(*arguments),
            ctypes.c_int64(len(arguments)),
        )
        if not call:
            raise RuntimeError(self.last_error().decode())
        run = keeping(repeated(self.helper, self.contract.normgrad_peers_run, [call]), arrays)
        weakref.finalize(run, self.contract.normgrad_peers_end, call)
        return run

    def infiniop_run(
        self, operator: str, workload: Workload, arrays: Arrays, order: tuple[str, ...]
    ) -> Run:
        dtype = INFINI_DTYPES[workload.dtype]
        shapes = [arrays[name].shape for name in order]
        if operator == "BatchNormBackward":  # takes (N, C, L)
            whole = (*workload.shape[:2], workload.per_channel // workload.shape[0])
            shapes = [whole if len(shape) > 1 else shape for shape in shapes]
        descriptors = [self.infiniop_tensor(shape, dtype) for shape in shapes]
        operation, size = ctypes.c_void_p(), ctypes.c_size_t()
        create = getattr(self.infiniop, f"infiniopCreate{operator}Descriptor")
        self.must(create(self.handle, ctypes.byref(operation), *descriptors))
        get_size = getattr(self.infiniop, f"infiniopGet{operator}WorkspaceSize")
        self.must(get_size(operation, ctypes.byref(size)))
        workspace = private_array((size.value,), np.dtype(np.uint8))
        function = getattr(self.infiniop, f"infiniop{operator}")
        addresses = [address(arrays[name]) for name in order]
        run = repeated(
            self.helper, function, [operation.value, address(workspace), size.value, *addresses, 0]
        )
        return keeping(run, arrays, workspace)

    def infiniop_tensor(self, shape: tuple[int, ...], dtype: int) -> ctypes.c_void_p:
        descriptor = ctypes.c_void_p()
        create = self.infiniop.infiniopCreateTensorDescriptor
        self.must(create(ctypes.byref(descriptor), len(shape), words(shape), None, dtype))
        return descriptor

    def aclnn_run(self, workload: Workload, arrays: Arrays) -> Run:
        tensors = {name: self.acl_tensor(workload, array) for name, array in arrays.items()}
        if workload.operator == "batch_norm_reduce":
            name = "BatchNormReduceBackward"
            inputs = [tensors[t] for t in ("dy", "x", "mean", "rstd", "w")]
            outputs = [tensors[t] for t in ("sum_dy", "sum_dy_xmu", "dw", "db")]
            arguments = [*inputs, *[ctypes.c_bool(True)] * 3, *outputs]
        elif workload.operator == "batch_norm_elementwise":
            name = "BatchNormElemtBackward"
            count = private_array((1,), np.dtype(np.int32))
            count[0] = workload.per_channel
            tensors["count"] = self.acl_tensor(workload, count)
            arrays = arrays | {"count": count}
            order = ("dy", "x", "mean", "rstd", "w", "sum_dy", "sum_dy_xmu", "count", "dx")
            arguments = [tensors[t] for t in order]
        else:
            name = "BatchNormBackward"
            arguments = self.batch_norm_backward_arguments(workload, tensors)
        return self.aclnn_executor_run(name, arguments, arrays)

    def batch_norm_backward_arguments(
        self, workload: Workload, tensors: dict[str, ctypes.c_void_p]
    ) -> list:
        mask = ctypes.c_void_p(
            self.acl_base.aclCreateBoolArray((ctypes.c_bool * 3)(*[True] * 3), 3)
        )
        training = workload.operator == "batch_norm_training"
        running = [None, None] if training else [tensors["mean"], tensors["var"]]
        saved = [tensors["mean"], tensors["rstd"]] if training else [None, None]
        return [
            *(tensors[t] for t in ("dy", "x", "w")),
            *running,
            *saved,
            ctypes.c_bool(training),
            ctypes.c_double(workload.eps),
            mask,
            *(tensors[t] for t in ("dx", "dw", "db")),
        ]

    def aclnn_executor_run(self, name: str, arguments: list, arrays: Arrays) -> Run:
        size, executor = ctypes.c_uint64(), ctypes.c_void_p()
        first = getattr(self.opapi, f"aclnn{name}GetWorkspaceSize")
        self.must(first(*arguments, ctypes.byref(size), ctypes.byref(executor)))
        self.must(self.acl_base.aclSetAclOpExecutorRepeatable(executor))
        workspace = private_array((size.value,), np.dtype(np.uint8))
        second = getattr(self.opapi, f"aclnn{name}")
        given = [address(workspace), size.value, executor.value, self.stream.value]
        return keeping(repeated(self.helper, second, given), arrays, workspace)

    def acl_tensor(self, workload: Workload, array: np.ndarray) -> ctypes.c_void_p:
        view = logical(workload, array)
        shape, strides = view.shape, [stride // view.itemsize for stride in view.strides]
        layout = ACL_FORMAT_NCDHW if len(shape) == 5 else ACL_FORMAT_ND
        dims, count = words(shape), ctypes.c_uint64(len(shape))
        storage = words([array.size])
        tensor = self.acl_base.aclCreateTensor(
            dims,
            count,
            ACL_DTYPES[array.dtype.name],
            words(strides),
            ctypes.c_int64(0),
            layout,
            storage,
            ctypes.c_uint64(1),
            ctypes.c_void_p(address(array)),
        )
        if not tensor:
            raise RuntimeError(self.last_error().decode())
        return ctypes.c_void_p(tensor)


def argument(name: str, array: np.ndarray) -> Argument:
    strides = [stride // array.itemsize for stride in array.strides]
    dims = array.ndim, Dims(*array.shape), Dims(*strides)
    return Argument(name.encode(), array.dtype.name.encode(), address(array), *dims)


def keeping(run: Run, *memory: object) -> Run:
    """A run that keeps what its addresses point to."""

    def kept(times: int, keep: object = memory) -> None:
        run(times)

    return kept


def version_of(prefix: Path) -> str:
    for line in (prefix / "lib/pkgconfig/infiniop.pc").read_text().splitlines():
        if line.startswith("Version:"):
            return line.split()[1]
    return "unknown"


def make(settings: Settings) -> Ours:
    return Ours(settings)
