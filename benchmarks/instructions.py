"""Instructions per element of a call, held to bars; ./scripts/bench --instructions runs it.

instructions.py PROGRAM DIRECTORY: PROGRAM is normgrad_bench; callgrind's files go to DIRECTORY.

The count is (instructions of 5 calls - instructions of 1 call) / 4 / elements, so that start-up,
input data and the first call's own work cancel. It is the same on every run, however busy the
machine is. Only user code is counted, on one thread.
"""

import math
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TYPES = ("f32", "bf16", "f16")
# At most so many instructions per element, in the order of TYPES.
BARS = {
    "layer_norm/256x768": (3.0, 3.8, 3.4),
    "rms_norm/256x768": (2.8, 3.6, 3.2),
    "batch_norm_training/8x64x28x28": (2.2, 3.0, 2.5),
    "batch_norm_training_channels_last/8x64x28x28": (2.6, 3.4, 2.9),
}
FEW, MANY = 1, 5
SETTINGS = {
    "NORMGRAD_ISA": "avx2",
    "NORMGRAD_ARITHMETIC": "fast",
    "NORMGRAD_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}


def elements(workload: str) -> int:
    return math.prod(int(extent) for extent in workload.split("/")[1].split("x"))


def count(program: str, directory: Path, name: str, calls: int) -> int:
    """All instructions of a process that makes so many calls of a workload."""
    out = directory / f"{name.replace('/', '.')}.{calls}"
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
    command += [program, "--counted", str(calls), "--filter", f"^{name}$"]
    run = subprocess.run(command, env=os.environ | SETTINGS, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{run.stderr}")
    return int(re.search(r"^totals: (\d+)$", out.read_text(), re.MULTILINE).group(1))


def main() -> int:
    program, directory = sys.argv[1], Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    rows = [
        (workload, dtype, bar)
        for workload, bars in BARS.items()
        for dtype, bar in zip(TYPES, bars, strict=True)
    ]

    def per_element(workload: str, dtype: str) -> float:
        few, many = (count(program, directory, f"{workload}/{dtype}", n) for n in (FEW, MANY))
        return (many - few) / (MANY - FEW) / elements(workload)

    print("Instructions per element: AVX2, one thread, callgrind\n")
    print(f"{'':50} {'type':5} {'count':>6} {'bar':>6}")
    missed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda row: per_element(*row[:2]), rows)
        for (workload, dtype, bar), value in zip(rows, counts, strict=True):
            missed += value > bar
            verdict = "FAIL" if value > bar else "pass"
            print(f"{workload:50} {dtype:5} {value:6.3f} {bar:6.1f}  {verdict}", flush=True)
    print(f"\n{len(rows) - missed} of {len(rows)} passed. Where they go, by function:")
    print(f"  callgrind_annotate {directory}/layer_norm.256x768.f32.{MANY}")
    return 0 if missed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
