"""Calls of C libraries: addresses, and loops that run in C."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from .worker import Run

MOST_ARGUMENTS = 12  # of normgrad_bench_repeat


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def words(values: Sequence[int]) -> ctypes.Array:
    return (ctypes.c_size_t * len(values))(*values)


def repeated(helper: str, function: ctypes._CFuncPtr, arguments: Sequence[int]) -> Run:
    """Runs function(*arguments) in a loop of C. It must return 0 for success."""
    library = ctypes.CDLL(helper)
    repeat = library.normgrad_bench_repeat
    repeat.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    code = ctypes.cast(function, ctypes.c_void_p)
    given = words([*arguments, *[0] * (MOST_ARGUMENTS - len(arguments))])

    def run(times: int) -> None:
        status = repeat(code, given, times)
        if status != 0:
            raise RuntimeError(f"{function.__name__} returned {status}")

    return run
