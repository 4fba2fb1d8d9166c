"""One process of test_sync.py. For each folder that standard input names, it trains a step with its rows of a batch, as
FOLDER/task.pt says, saves what came out there, and answers with a line: "done", or the error.

usage: sync_worker.py RANK
"""

import datetime
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

import normgrad.torch as ng


def make(task, group):
    if task["way"] == "enabled":
        ng.enable()
        return nn.SyncBatchNorm(task["channels"], process_group=group)
    return ng.SyncBatchNorm(
        task["channels"], process_group=group, sums_dtype=task["sums"], in_rank_order=task["in_rank_order"]
    )


def train(rank, folder):
    task = torch.load(os.path.join(folder, "task.pt"))
    world = len(task["rows"])
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world,
        timeout=datetime.timedelta(seconds=task["timeout"]),
    )
    order = task["order"]  # which process has which part of the batch
    begin, end = task["rows"][order[rank]]
    # In rank order means in the order of the parts, wherever they are.
    group = dist.new_group(sorted(range(world), key=lambda r: order[r]), sort_ranks=False)
    norm = make(task, group)
    with torch.no_grad():
        norm.weight.copy_(task["w"])
        norm.bias.copy_(task["b"])
    if rank == task.get("dies", -1):
        os._exit(7)
    x = task["x"][begin:end].clone().requires_grad_()
    model = nn.parallel.DistributedDataParallel(norm) if task.get("ddp") else norm
    y = model(x)
    y.backward(task["dy"][begin:end])
    torch.save(
        {
            "y": y.detach(), "dx": x.grad, "dw": norm.weight.grad, "db": norm.bias.grad,
            "running_mean": norm.running_mean, "running_var": norm.running_var,
        },
        os.path.join(folder, f"result{order[rank]}.pt"),
    )
    dist.barrier()


def main(rank):
    for line in sys.stdin:
        answer = "done"
        try:
            train(rank, line.strip())
        except Exception as error:  # it is the test's to look at
            answer = f"{type(error).__name__}: {error}".replace("\n", " ")
        ng.disable()
        if dist.is_initialized():
            dist.destroy_process_group()
        print(answer, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
