"""The process of one contender: gets it ready for a workload, and times it when it is its turn.

Between turns it waits for the driver and takes no processor time.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from .timing import Sample
from .workloads import Workload

TURN_SECONDS = 1e-3  # a turn is at least so long
ATTEMPTS = 4  # at a turn that is not disturbed by other programs
# What ran before left the caches in another state than a caller in a loop finds them in; so the
# first call of a turn is not timed, unless it is so long that this is nothing.
LONG_SECONDS = 10e-3

Run = Callable[[int], None]  # does it so many times


class NotSupported(Exception):
    """The contender has no such operator, or not for this data type."""


@dataclass
class Case:
    """A contender ready for a workload."""

    runs: dict[str, Run]  # ways of doing it; the fastest counts
    outputs: Callable[[], dict] = field(
        default=dict
    )  # after a run: numpy arrays, stored as the inputs


class Contender(Protocol):
    versions: dict[str, str]

    def prepare(self, workload: Workload, inputs: dict) -> Case: ...


@dataclass(frozen=True)
class Settings:
    threads: int
    realtime: bool
    prefix: str  # the installed normgrad
    helper: str  # the library of benchmarks/peers_helper.cc
    cache: str  # where compilers keep what they have compiled


def preemptions() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def time_once(run: Run, calls: int) -> Sample:
    before = preemptions()
    start = time.perf_counter()
    run(calls)
    seconds = time.perf_counter() - start
    return Sample(seconds / calls * 1e6, preemptions() != before)


def time_undisturbed(run: Run, calls: int, warm_up: bool) -> Sample:
    if warm_up:
        run(1)
    sample = time_once(run, calls)
    for attempt in range(1, ATTEMPTS):
        if not sample.disturbed:
            break
        time.sleep(2e-3 * attempt)  # who has slept is more likely to be left alone
        sample = time_once(run, calls)
    return sample


class Worker:
    def __init__(self, contender: Contender) -> None:
        self.contender = contender
        self.case = Case({})
        self.seconds: dict[str, float] = {}  # of a call, roughly

    def versions(self) -> dict[str, str]:
        return self.contender.versions

    def prepare(self, workload: Workload, folder: Path) -> bool:
        """Runs once and leaves the outputs in the folder; False: there is no such operator."""
        from .arrays import load_private, save

        self.drop()
        try:
            self.case = self.contender.prepare(workload, load_private(folder))
        except NotSupported:
            return False
        for name, run in self.case.runs.items():
            run(1)
            target = folder / f"{os.getpid()}.{name}"
            target.mkdir()
            for output, array in self.case.outputs().items():
                save(target, output, array)
        return True

    def calibrate(self) -> None:
        for name, run in self.case.runs.items():
            run(1)
            start = time.perf_counter()
            calls = 0
            while time.perf_counter() - start < TURN_SECONDS:
                run(1)
                calls += 1
            self.seconds[name] = (time.perf_counter() - start) / calls

    def time(self) -> dict[str, Sample]:
        return {
            name: self.time_run(run, self.seconds[name]) for name, run in self.case.runs.items()
        }

    def time_run(self, run: Run, seconds: float) -> Sample:
        return time_undisturbed(run, math.ceil(TURN_SECONDS / seconds), seconds < LONG_SECONDS)

    def drop(self) -> None:
        self.case = Case({})
        self.seconds = {}


def take_precedence(realtime: bool) -> None:
    """As normgrad_bench: over other programs, if root; threads made from now on inherit it."""
    if os.geteuid() != 0:
        return
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    if realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def set_environment(settings: Settings) -> None:
    """What libraries read while they are loaded."""
    threads = str(settings.threads)
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NORMGRAD_THREADS"):
        os.environ[variable] = threads
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = settings.cache
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


def serve(module: str, settings: Settings, pipe: Connection) -> None:
    """Answers (method, arguments) with (True, result) or (False, what went wrong)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver's end is ours
    with contextlib.suppress(EOFError, ConnectionError):
        try:
            set_environment(settings)
            take_precedence(settings.realtime)
            contender = importlib.import_module(f".{module}", __package__).make(settings)
        except Exception:  # the others go on without this one
            pipe.send((False, traceback.format_exc(limit=-4)))
            return
        worker = Worker(contender)
        pipe.send((True, worker.versions()))
        while True:
            method, arguments = pipe.recv()
            pipe.send(answer(worker, method, arguments))


def answer(worker: Worker, method: str, arguments: tuple) -> tuple[bool, object]:
    try:
        return True, getattr(worker, method)(*arguments)
    except Exception:  # the others go on without this one
        worker.drop()
        return False, traceback.format_exc(limit=-4)
