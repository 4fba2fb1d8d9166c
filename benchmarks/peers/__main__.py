"""The command line of the comparison; see --help."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pictures.averages import text_lines

from .contenders import LIMIT, OURS, PEERS
from .report import Progress, machine, print_heading, print_row, write
from .timing import LEAST_ROUNDS
from .worker import Settings
from .workloads import Workload, chosen_workloads

PREFIX = "build/peers-prefix"
HELPER = "build/release/benchmarks/libnormgrad_peers_helper.so"
CACHE = Path("build/peers-cache")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="./scripts/bench --peers",
        description="Measures normgrad beside other libraries, and all of them beside the limit.",
        epilog="Every contender has a process of its own and is checked before it is timed. In "
        "each round every one has its turn; medians are written after every workload. "
        "benchmarks/plot makes the pictures and the table.",
    )
    add, json = parser.add_argument, Path("build/peers.json")
    add("--threads", type=int, default=2, metavar="N", help="threads of every contender (2)")
    add("--filter", default="", metavar="REGEX", help="only workloads whose name matches somewhere")
    add("--quick", action="store_true", help="a few workloads")
    add("--with", default=",".join(PEERS), dest="peers", metavar="NAMES", help="these peers alone")
    add("--rounds", type=int, default=7, metavar="N", help="interleaved, at least 7 (7)")
    add("--json", type=Path, default=json, metavar="FILE", help=f"where the rows go ({json})")
    add("--realtime", action="store_true", help="on a busy machine: as ./scripts/bench has it")
    add("--list", action="store_true", help="show the names and end")
    return parser


def parse() -> argparse.Namespace:
    parser = make_parser()
    options = parser.parse_args()
    options.peers = options.peers.split(",")
    if options.rounds < LEAST_ROUNDS or options.threads < 1:
        parser.error(f"--rounds takes a number from {LEAST_ROUNDS}, --threads one from 1")
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    if options.realtime and os.geteuid() != 0:
        parser.error("--realtime needs root")
    return options


def command(options: argparse.Namespace) -> str:
    """What to type for the same run again."""
    words = ["./scripts/bench", "--peers", "--threads", str(options.threads)]
    if options.filter:
        words += ["--filter", options.filter]
    if options.peers != list(PEERS):
        words += ["--with", ",".join(options.peers)]
    words += ["--rounds", str(options.rounds)]
    words += [f"--{name}" for name in ("quick", "realtime") if getattr(options, name)]
    return shlex.join(words)


def measure(options: argparse.Namespace, workloads: list[Workload]) -> None:
    from .driver import Measurement, start  # not before: --help needs no numpy

    settings = Settings(options.threads, options.realtime, PREFIX, HELPER, str(CACHE.resolve()))
    processes, versions = start(settings, [LIMIT, OURS, *options.peers])
    run: dict[str, Any] = {
        "machine": machine(),
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": command(options),
        "versions": {"python": platform.python_version()} | versions,
        "rows": [],
    }
    print(", ".join(f"{name} {version}" for name, version in run["versions"].items()))
    print_heading(options.peers)
    progress = Progress(len(workloads))
    for workload in workloads:
        progress.show(workload.name)
        row = Measurement(workload, processes).row(options.rounds) | {"threads": options.threads}
        run["rows"].append(row)
        write(options.json, run)
        progress.clear()
        print_row(row, options.peers)
    print("\n".join(["", *text_lines(run["rows"]), ""]))
    print("~ other programs kept the processors busy   ! wrong by more than rounding explains")
    print(f"Written: {options.json}")


def main() -> int:
    options = parse()
    workloads = chosen_workloads(options.filter, options.quick)
    if not workloads:
        print("no workload matches; try --list", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(workload.name for workload in workloads))
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        measure(options, workloads)
    except KeyboardInterrupt:
        print(f"\nCut off. The rows so far: {options.json}", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
