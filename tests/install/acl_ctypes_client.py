"""Loads the operators as frameworks do, libopapi.so by name and every function by its own, and computes with them.

usage: acl_ctypes_client.py <include directory>, after set_env.sh. Standard library only.
"""
import ctypes
import pathlib
import re
import sys

OPERATORS = ctypes.CDLL("libopapi.so")
RUNTIME = ctypes.CDLL("libascendcl.so")
VOID, I64 = ctypes.c_void_p, ctypes.c_int64
FLOAT, FORMAT_ND = 0, 2


def declared_functions(include):
    """What frameworks look up: operators, and the makers and destroyers of their arguments."""
    names = set()
    for header in [*include.glob("aclnn/*.h"), *include.glob("aclnnop/*.h")]:
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        names |= set(re.findall(r"\b(aclnn[A-Z]\w*|aclCreate\w+|aclDestroy\w+)\(", text))
    return sorted(names)


def check(code):
    assert code == 0, f"code {code}"


def tensor(shape, values):
    """The tensor and the memory that it shows: ours, since host memory is as good as any here."""
    memory = (ctypes.c_float * len(values))(*values)
    create = OPERATORS.aclCreateTensor
    create.restype = VOID
    create.argtypes = [VOID, ctypes.c_uint64, ctypes.c_int, VOID, I64, ctypes.c_int, VOID, ctypes.c_uint64, VOID]
    extents = (I64 * len(shape))(*shape)
    handle = create(extents, len(shape), FLOAT, None, 0, FORMAT_ND, extents, len(shape), memory)
    assert handle is not None
    return VOID(handle), memory


def reduce_backward():
    """The document's numbers."""
    inputs = [tensor([4, 2], [1, 1, 1, 2, 2, 2, 3, 3]), tensor([4, 2], [0, 1, 2, 3, 4, 5, 6, 7]),
              tensor([2], [1, 1]), tensor([2], [1, 1]), tensor([2], [1, 1])]
    outputs = [tensor([2], [0, 0]) for _ in range(4)]
    size, executor = ctypes.c_uint64(), VOID()
    phase_1 = OPERATORS.aclnnBatchNormReduceBackwardGetWorkspaceSize
    phase_1.argtypes = [VOID] * 5 + [ctypes.c_bool] * 3 + [VOID] * 6
    check(phase_1(*[t for t, _ in inputs], True, True, True, *[t for t, _ in outputs],
                  ctypes.byref(size), ctypes.byref(executor)))
    workspace = ctypes.create_string_buffer(size.value) if size.value else None
    phase_2 = OPERATORS.aclnnBatchNormReduceBackward
    phase_2.argtypes = [VOID, ctypes.c_uint64, VOID, VOID]
    check(phase_2(workspace, size.value, executor, None))
    check(RUNTIME.aclrtSynchronizeStream(None))
    for handle, _ in inputs + outputs:
        check(OPERATORS.aclDestroyTensor(handle))
    return [list(memory) for _, memory in outputs]


def main(include):
    names = declared_functions(pathlib.Path(include))
    missing = [name for name in names if not hasattr(OPERATORS, name)]
    assert not missing, f"libopapi.so and what it needs do not have {missing}"
    assert len(names) >= 2 * 8 + 2 * 7, names
    print(f"libopapi.so: found all {len(names)} functions")

    check(RUNTIME.aclrtSetDevice(0))
    got = reduce_backward()
    assert got == [[7, 8], [21, 30], [21, 30], [7, 8]], got
    check(RUNTIME.aclrtResetDevice(0))
    print(f"aclnnBatchNormReduceBackward: {got}")


if __name__ == "__main__":
    main(sys.argv[1])
