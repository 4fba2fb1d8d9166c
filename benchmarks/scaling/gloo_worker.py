"""One process of a measurement over gloo: the exchange of SyncBatchNorm's backward alone.

usage: gloo_worker.py RANK RANKS FOLDER ROUNDS; the first rank prints a line of JSON
per exchange. It runs with a python that has torch, and needs nothing else of this package.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist

CHANNELS = (64, 256, 1024, 4096)


def median_us(rounds: int, exchange: Callable[[], object]) -> float:
    """The median of the slowest rank's times: nobody goes on before the last has its sums."""
    for _ in range(rounds // 4 + 1):
        exchange()
    times = torch.empty(rounds, dtype=torch.float64)
    for i in range(rounds):
        dist.barrier()
        begin = time.perf_counter()
        exchange()
        times[i] = (time.perf_counter() - begin) * 1e6
    dist.all_reduce(times, op=dist.ReduceOp.MAX)
    return statistics.median(times.tolist())


def report(mode: str, ranks: int, channels: int, sums: torch.Tensor, us: float) -> None:
    row = {"mode": mode, "ranks": ranks, "channels": channels, "width": sums.element_size()}
    row |= {"bytes": sums.numel() * sums.element_size(), "us": round(us, 3)}
    if dist.get_rank() == 0:
        print(json.dumps(row), flush=True)


def ping_pong(sums: torch.Tensor, rank: int) -> None:
    for sender in (0, 1):
        dist.send(sums, 1 - sender) if rank == sender else dist.recv(sums, sender)


def main(rank: int, ranks: int, folder: str, rounds: int) -> None:
    torch.set_num_threads(1)
    store = f"file://{folder}/store{ranks}"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=ranks)
    for channels in CHANNELS:
        for dtype in (torch.float32, torch.float64):
            sums = torch.zeros(2 * channels, dtype=dtype)  # zeros: they stay
            rows = [torch.empty_like(sums) for _ in range(ranks)]
            if ranks == 2:
                us = median_us(rounds, lambda sums=sums: ping_pong(sums, rank))
                report("ping_pong", ranks, channels, sums, us / 2)
            us = median_us(rounds, lambda sums=sums: dist.all_reduce(sums))
            report("all_reduce", ranks, channels, sums, us)
            us = median_us(rounds, lambda rows=rows, sums=sums: dist.all_gather(rows, sums))
            report("rank_order", ranks, channels, sums, us)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
