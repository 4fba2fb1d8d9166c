"""The runs of docs/scaling.json: 2 to 4 ranks of one machine, and what a rank does by itself.

The exchanges are measured twice: the model takes the first time, the second ("again") tells how far
two measurements of the same thing lie apart here.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Row = dict[str, Any]
RANKS = (2, 3, 4)
WORKER = Path(__file__).parent / "gloo_worker.py"
# No process takes a core from another for longer than the exchange wants; ranks take turns.
REALTIME = ["chrt", "--rr", "1"]


def rows_of(text: str) -> list[Row]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def output(command: list[str]) -> str:
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return result.stdout


def gloo(python: str, ranks: int, rounds: int, prefix: list[str]) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        commands = [
            [*prefix, python, str(WORKER), str(rank), str(ranks), folder, str(rounds)]
            for rank in range(ranks)
        ]
        others = [subprocess.Popen(command) for command in commands[1:]]
        rows = rows_of(output(commands[0]))
        if any(other.wait() for other in others):
            raise RuntimeError("a rank of gloo failed")
    return rows


def mpi(program: Path, ranks: int, rounds: int, prefix: list[str]) -> list[Row]:
    launch = ["mpiexec", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks)]
    return rows_of(output([*launch, *prefix, str(program), "--rounds", str(rounds)]))


def cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return " ".join(line.partition(":")[2].split()[:2])
    return "unknown"


def measure(python: str, programs: Path, rounds: int, realtime: bool) -> dict[str, Any]:
    prefix = REALTIME if realtime else []
    run: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "machine": {"cpu": cpu(), "cores": os.cpu_count()},
        "realtime": realtime,
        "rounds": rounds,
        "versions": {
            "torch": output([python, "-c", "import torch; print(torch.__version__)"]).strip(),
            "Open MPI": output(["mpiexec", "--version"]).split()[2],  # mpiexec (OpenRTE) 4.1.4,
        },
    }
    print("local", file=sys.stderr)
    run["local"] = rows_of(output([*prefix, str(programs / "normgrad_sync_local")]))
    program = programs / "normgrad_sync_exchange_mpi"
    for where in (run, run.setdefault("again", {})):
        where |= {"gloo": [], "mpi": []}
        for ranks in RANKS:
            print(f"{ranks} ranks: gloo, MPI", file=sys.stderr)
            where["gloo"] += gloo(python, ranks, rounds, prefix)
            where["mpi"] += mpi(program, ranks, 10 * rounds, prefix)
    return run
