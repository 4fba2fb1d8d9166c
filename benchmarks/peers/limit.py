"""The limit: the bytes of the workload, moved with as little arithmetic as possible."""

from __future__ import annotations

import ctypes
from functools import partial

import numpy as np

from .arrays import NUMPY, Arrays, private_array
from .native import address, words
from .outputs import BIG, output_arrays, read_arrays
from .timing import TWO_PASSES
from .worker import Case, Settings
from .workloads import Workload


class Limit:
    def __init__(self, settings: Settings) -> None:
        self.versions: dict[str, str] = {}
        self.threads = settings.threads
        self.move = ctypes.CDLL(settings.helper).normgrad_bench_move_bytes
        integer, long = ctypes.c_int, ctypes.c_int64
        self.move.argtypes = [ctypes.c_void_p, long, long, integer, ctypes.c_bool, integer, long]

    def prepare(self, workload: Workload, inputs: Arrays) -> Case:
        outputs = output_arrays(workload)
        reads = read_arrays(workload, inputs)
        nothing = private_array((0,), NUMPY["f32"])
        big_in = [a for a in reads if a.size == workload.elements]
        big_out = [a for name, a in outputs.items() if name in BIG]
        small_in = [a for a in reads if a.size != workload.elements]
        small_out = [a for name, a in outputs.items() if name not in BIG]
        tensors = [*[*big_in, nothing][:2], *(big_out or [nothing]), *small_in, *small_out]
        table = words([word for a in tensors for word in (address(a), a.nbytes)])
        counts = len(small_in), len(small_out)
        threads = workload.limit_threads(self.threads)

        def run(
            passes: int, non_temporal: bool, times: int, keep: list[np.ndarray] = tensors
        ) -> None:
            self.move(table, *counts, passes, non_temporal, threads, times)

        if not big_out:
            return Case({"none": partial(run, 1, False)})
        runs = {"plain": partial(run, 1, False), "non-temporal": partial(run, 1, True)}
        if workload.takes_two_passes:
            runs |= {f"{TWO_PASSES}{name}": partial(run, 2, name != "plain") for name in list(runs)}
        return Case(runs)


def make(settings: Settings) -> Limit:
    return Limit(settings)
