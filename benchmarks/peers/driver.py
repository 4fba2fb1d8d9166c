"""Lets the contenders take turns at one workload after another, and writes down what came out."""

from __future__ import annotations

import contextlib
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from .arrays import Arrays, load, logical, make_inputs, save, stored
from .contenders import LIMIT, MODULES, OURS
from .outputs import moved_bytes
from .reference import Exact, error_of_ours, error_of_peer, reference
from .timing import Sample, row_numbers
from .worker import Settings, serve
from .workloads import Workload

# OpenMP keeps threads of the one before awake for up to 7.5 ms (measured: libgomp, Zen 4).
PAUSE_SECONDS = 10e-3


@dataclass
class Process:
    name: str
    process: multiprocessing.process.BaseProcess
    pipe: Connection

    def ask(self, method: str, *arguments: object) -> None:
        with contextlib.suppress(BrokenPipeError):  # answer() will say so
            self.pipe.send((method, arguments))

    def answer(self) -> Any:
        try:
            succeeded, result = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            raise RuntimeError(f"the process of {self.name} has ended") from None
        if not succeeded:
            raise RuntimeError(f"{self.name}: {result}")
        return result

    def call(self, method: str, *arguments: object) -> Any:
        self.ask(method, *arguments)
        return self.answer()


def start(settings: Settings, wanted: list[str]) -> tuple[list[Process], dict[str, str]]:
    """The processes that came up, and the versions of what they measure."""
    spawn = multiprocessing.get_context("spawn")
    processes, versions = [], {}
    for name in wanted:
        pipe, theirs = spawn.Pipe()
        arguments = (MODULES[name], settings, theirs)
        process = spawn.Process(target=serve, args=arguments, name=name, daemon=True)
        process.start()
        theirs.close()
        processes.append(Process(name, process, pipe))
    alive = []
    for each in processes:
        try:
            versions |= each.answer()
            alive.append(each)
        except RuntimeError as error:
            if each.name in (LIMIT, OURS):
                raise
            print(f"{each.name} is left out: {error}", file=sys.stderr)
    return alive, versions


class Measurement:
    """One workload: prepared, checked, timed in rounds."""

    def __init__(self, workload: Workload, processes: list[Process]) -> None:
        self.workload = workload
        self.processes = processes
        self.wrong: dict[str, float] = {}
        self.bytes = 0
        shared = Path("/dev/shm")
        self.folder = Path(
            tempfile.mkdtemp(prefix="normgrad-", dir=shared if shared.is_dir() else None)
        )

    def row(self, rounds: int) -> dict[str, Any]:
        try:
            inputs = make_inputs(self.workload)
            self.bytes = moved_bytes(self.workload, inputs)
            self.ask_to_prepare(inputs)
            exact = reference(self.workload, inputs)  # meanwhile
            takers = self.takers()
            self.check(takers, exact)
            del inputs, exact
        finally:
            shutil.rmtree(self.folder)
        samples = self.measure(takers, rounds)
        self.drop()
        return self.described(samples)

    def ask_to_prepare(self, inputs: Arrays) -> None:
        for name, array in inputs.items():
            save(self.folder, name, stored(self.workload, array))
        for process in self.processes:
            process.ask("prepare", self.workload, self.folder)

    def takers(self) -> list[Process]:
        """Those that have the operator."""
        takers = []
        for process in self.processes:
            try:
                if process.answer():
                    takers.append(process)
            except RuntimeError as error:
                self.do_without(process, error)
        return takers

    def do_without(self, process: Process, error: RuntimeError) -> None:
        if process.name in (LIMIT, OURS):
            raise error
        print(f"\n{self.workload.name}: {error}", file=sys.stderr)

    def drop(self) -> None:
        """Gives the memory back; who has ended takes no part any more."""
        for process in list(self.processes):
            try:
                process.call("drop")
            except RuntimeError as error:
                self.do_without(process, error)
                self.processes.remove(process)

    def check(self, takers: list[Process], exact: Mapping[str, Exact]) -> None:
        """Ours must be right in every element; a peer that is not is marked."""
        for process in takers:
            error_of = error_of_ours if process.name == OURS else error_of_peer
            errors = [
                self.error_of_outputs(folder, error_of, exact)
                for folder in self.folder.glob(f"{process.process.pid}.*")
            ]
            worst = max(errors, default=0.0)
            if process.name == OURS and worst > 1:
                raise RuntimeError(
                    f"{self.workload.name}: wrong by {worst:.3g} times what is allowed"
                )
            if worst > 1:
                self.wrong[process.name] = round(worst, 2)

    def error_of_outputs(
        self, folder: Path, error_of: Callable[..., float], exact: Mapping[str, Exact]
    ) -> float:
        outputs = dict(map(load, folder.glob("*.npy")))
        return max(
            (
                error_of(self.workload.dtype, logical(self.workload, array), exact[name])
                for name, array in outputs.items()
            ),
            default=0.0,
        )

    def measure(self, takers: list[Process], rounds: int) -> dict[str, dict[str, list[Sample]]]:
        samples: dict[str, dict[str, list[Sample]]] = {process.name: {} for process in takers}
        for turn in ["calibrate", *["time"] * rounds]:
            for process in [each for each in takers if each.name in samples]:
                time.sleep(PAUSE_SECONDS)
                try:
                    times = process.call(turn) or {}
                except RuntimeError as error:
                    self.do_without(process, error)
                    del samples[process.name]
                    continue
                for variant, sample in times.items():
                    samples[process.name].setdefault(variant, []).append(sample)
        return samples

    def described(self, samples: dict[str, dict[str, list[Sample]]]) -> dict[str, Any]:
        row: dict[str, Any] = {
            "operator": self.workload.operator,
            "layout": self.workload.layout,
            "shape": self.workload.shape_text,
            "dtype": self.workload.dtype,
            "elements": self.workload.elements,
            "bytes": self.bytes,
        }
        limit, ours = samples.pop(LIMIT), samples.pop(OURS)
        row |= row_numbers(limit, ours, samples)
        if self.wrong:
            row["wrong_peers"] = self.wrong  # error as a multiple of what is let pass
        return row
