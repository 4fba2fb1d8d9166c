"""Drives the installed libraries as InfiniCore's Python harness does, and checks every number.

Loads $INFINI_ROOT/lib/libinfinirt.so, then libinfiniop.so; destroys the tensor descriptors before the operator is
used; gives it a workspace of exactly the size it asks for, filled with the byte 1. Standard library only.
"""
import ctypes
import math
import os
import random
import struct

ROOT = os.environ["INFINI_ROOT"]
RUNTIME = ctypes.CDLL(os.path.join(ROOT, "lib", "libinfinirt.so"))
OPERATORS = ctypes.CDLL(os.path.join(ROOT, "lib", "libinfiniop.so"))

CPU, NVIDIA = 0, 1
DEVICE_TYPE_NOT_SUPPORTED = 5
# dtype -> (number, struct format, how far a result may be from the exact one, relative to the terms it is made of)
DTYPES = {"f16": (12, "e", 2.0**-10), "f32": (13, "f", 2.0**-23)}


def bind(library, name, *argument_types):
    function = getattr(library, name)
    function.restype = ctypes.c_int32
    function.argtypes = argument_types
    return function


VOID, SIZE = ctypes.c_void_p, ctypes.c_size_t
OUT = ctypes.POINTER(VOID)
set_device = bind(RUNTIME, "infinirtSetDevice", ctypes.c_int32, ctypes.c_int32)
create_handle = bind(OPERATORS, "infiniopCreateHandle", OUT)
destroy_handle = bind(OPERATORS, "infiniopDestroyHandle", VOID)
create_tensor = bind(OPERATORS, "infiniopCreateTensorDescriptor", OUT, ctypes.c_uint64,
                     ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_int64), ctypes.c_int32)
destroy_tensor = bind(OPERATORS, "infiniopDestroyTensorDescriptor", VOID)


def check(status):
    if status != 0:
        raise RuntimeError(f"Error code {status}")


class Tensor:
    """Values in row-major order; in memory with the given strides, in a buffer that is just large enough."""

    def __init__(self, dtype, shape, values=None, strides=None):
        self.number, self.format, _ = DTYPES[dtype]
        self.shape = shape
        self.strides = strides or [math.prod(shape[d + 1:]) for d in range(len(shape))]
        self.item = struct.calcsize(self.format)
        span = 1 + sum((n - 1) * s for n, s in zip(shape, self.strides))
        self.memory = ctypes.create_string_buffer(span * self.item)
        for index, value in enumerate(values or []):
            struct.pack_into(self.format, self.memory, self.offset(index), value)

    def offset(self, index):
        at = 0
        for extent, stride in zip(reversed(self.shape), reversed(self.strides)):
            index, here = divmod(index, extent)
            at += here * stride
        return at * self.item

    def values(self):
        return [struct.unpack_from(self.format, self.memory, self.offset(i))[0] for i in range(math.prod(self.shape))]

    def descriptor(self):
        descriptor = VOID()
        rank = len(self.shape)
        check(create_tensor(ctypes.byref(descriptor), rank, (ctypes.c_uint64 * rank)(*self.shape),
                            (ctypes.c_int64 * rank)(*self.strides), self.number))
        return descriptor


def compute(name, tensors):
    count = len(tensors)
    create = bind(OPERATORS, f"infiniopCreate{name}Descriptor", VOID, OUT, *[VOID] * count)
    get_size = bind(OPERATORS, f"infiniopGet{name}WorkspaceSize", VOID, ctypes.POINTER(SIZE))
    run = bind(OPERATORS, f"infiniop{name}", VOID, VOID, SIZE, *[VOID] * count, VOID)
    destroy = bind(OPERATORS, f"infiniopDestroy{name}Descriptor", VOID)

    handle, descriptor, size = VOID(), VOID(), SIZE()
    check(set_device(CPU, 0))
    check(create_handle(ctypes.byref(handle)))
    descriptors = [tensor.descriptor() for tensor in tensors]
    check(create(handle, ctypes.byref(descriptor), *descriptors))
    for tensor_descriptor in descriptors:
        check(destroy_tensor(tensor_descriptor))
    check(get_size(descriptor, ctypes.byref(size)))
    workspace = ctypes.create_string_buffer(b"\1" * size.value, size.value) if size.value else None
    check(run(descriptor, workspace, size, *[tensor.memory for tensor in tensors], None))
    check(destroy(descriptor))
    check(destroy_handle(handle))


def compare(dtype, name, tensor, expected):
    """expected: for each element the exact value and the sum of the magnitudes of its terms."""
    bound = DTYPES[dtype][2]
    for index, (got, (value, scale)) in enumerate(zip(tensor.values(), expected, strict=True)):
        assert abs(got - value) <= bound * scale, f"{name}[{index}] is {got}, expected {value} ({dtype})"


def centred(g, x_hat, r):
    """(g - mean(g) - x_hat*mean(g*x_hat)) * r, and the magnitude of its terms."""
    mean_g = math.fsum(g) / len(g)
    mean_g_x_hat = math.fsum(a * b for a, b in zip(g, x_hat)) / len(g)
    return [((a - mean_g - b * mean_g_x_hat) * r, (abs(a) + abs(mean_g) + abs(b * mean_g_x_hat)) * abs(r))
            for a, b in zip(g, x_hat)]


def column_sums(rows):
    return [(math.fsum(column), math.fsum(map(abs, column))) for column in zip(*rows)]


def split(values, length):
    return [values[i:i + length] for i in range(0, len(values), length)]


def draw(count):
    return [random.uniform(0.5, 1.5) for _ in range(count)]


def test_layer_norm(dtype):
    rows, columns = 13 * 4, 10
    dy = Tensor(dtype, [13, 4, columns], draw(rows * columns), [50, 10, 1])
    x_hat = Tensor(dtype, [13, 4, columns], draw(rows * columns), [50, 10, 1])
    w, sigma = Tensor(dtype, [columns], draw(columns)), Tensor(dtype, [13, 4], draw(rows))
    dx = Tensor(dtype, [13, 4, columns], None, [50, 10, 1])
    dw, db = Tensor(dtype, [columns], None, [2]), Tensor(dtype, [columns])
    compute("LayerNormBackward", [dx, dw, db, dy, w, x_hat, sigma])
    dy_rows, x_rows, weight = split(dy.values(), columns), split(x_hat.values(), columns), w.values()
    expected = []
    for dy_row, x_row, s in zip(dy_rows, x_rows, sigma.values()):
        expected += centred([a * b for a, b in zip(weight, dy_row)], x_row, 1 / s)
    compare(dtype, "grad_input", dx, expected)
    compare(dtype, "grad_weight", dw, column_sums([[a * b for a, b in zip(p, q)] for p, q in zip(dy_rows, x_rows)]))
    compare(dtype, "grad_bias", db, column_sums(dy_rows))


def test_rms_norm(dtype):
    rows, columns = 13 * 4, 5
    dy = Tensor(dtype, [13, 4, columns], draw(rows * columns), [38, 5, 1])
    x = Tensor(dtype, [13, 4, columns], draw(rows * columns), [39, 5, 1])
    w = Tensor(dtype, [columns], draw(columns))
    dx, dw = Tensor(dtype, [13, 4, columns], None, [37, 5, 1]), Tensor(dtype, [columns], None, [2])
    compute("RMSNormBackward", [dx, dw, dy, x, w])
    expected, terms = [], []
    for dy_row, x_row in zip(split(dy.values(), columns), split(x.values(), columns)):
        r = 1 / math.sqrt(math.fsum(a * a for a in x_row) / columns)
        g = [a * b for a, b in zip(w.values(), dy_row)]
        mean = math.fsum(a * b for a, b in zip(g, x_row)) / columns
        expected += [(r * (a - b * r * r * mean), r * (abs(a) + abs(b * r * r * mean))) for a, b in zip(g, x_row)]
        terms.append([a * b * r for a, b in zip(dy_row, x_row)])
    compare(dtype, "grad_x", dx, expected)
    compare(dtype, "grad_w", dw, column_sums(terms))


def test_batch_norm(dtype):
    n, channels, length = 5, 4, 3
    shape, count = [n, channels, length], n * channels * length
    x, dy = Tensor(dtype, shape, draw(count)), Tensor(dtype, shape, draw(count))
    w, mean, var = (Tensor(dtype, [channels], draw(channels)) for _ in range(3))
    dx, dw, db = Tensor(dtype, shape), Tensor(dtype, [channels], None, [2]), Tensor(dtype, [channels])
    compute("BatchNormBackward", [dx, dw, db, x, dy, w, mean, var])

    def channel(tensor, c):
        return [v for i, v in enumerate(tensor.values()) if i // length % channels == c]

    expected_dw, expected_db, expected_dx = [], [], [None] * count
    for c in range(channels):
        r = 1 / math.sqrt(var.values()[c])
        dy_c, x_hat = channel(dy, c), [(v - mean.values()[c]) * r for v in channel(x, c)]
        expected_db += column_sums([[v] for v in dy_c])
        expected_dw += column_sums([[a * b] for a, b in zip(dy_c, x_hat)])
        places = [i for i in range(count) if i // length % channels == c]
        for place, result in zip(places, centred(dy_c, x_hat, r * w.values()[c])):
            expected_dx[place] = result
    compare(dtype, "grad_input", dx, expected_dx)
    compare(dtype, "grad_weight", dw, expected_dw)
    compare(dtype, "grad_bias", db, expected_db)


def test_other_device():
    """The harness ignores the answer of infinirtSetDevice and relies on infiniopCreateHandle to fail."""
    handle = VOID()
    assert set_device(NVIDIA, 0) == DEVICE_TYPE_NOT_SUPPORTED
    assert create_handle(ctypes.byref(handle)) == DEVICE_TYPE_NOT_SUPPORTED
    assert handle.value is None
    check(set_device(CPU, 0))


def main():
    random.seed(1)
    test_other_device()
    for dtype in DTYPES:
        for test in (test_layer_norm, test_rms_norm, test_batch_norm):
            test(dtype)
            print(f"{test.__name__[5:]} {dtype}: ok")


if __name__ == "__main__":
    main()
