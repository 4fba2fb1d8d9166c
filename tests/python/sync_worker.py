"""One process of test_sync.py. For each folder that standard input names, it trains a step with its rows of a batch, as
FOLDER/task.pt says, saves what came out there, and answers with a line: "done", or the error.

usage: sync_worker.py RANK
Says "ready" first: what it imports takes longer than any task.
"""

import datetime
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.modules._functions import SyncBatchNorm as torchs_function

import normgrad.torch as ng


class TorchsOwn(nn.SyncBatchNorm):
    """torch's code behind what refuses CPUs, with the kernels that enable() registers."""

    def forward(self, x):
        return torchs_function.apply(
            x, self.weight, self.bias, self.running_mean, self.running_var, self.eps, self.momentum,
            self.process_group, dist.get_world_size(self.process_group),
        )


def make(task, group):
    arguments = dict(task["module"], process_group=group)
    if task["way"] == "ours":
        arguments.update(sums_dtype=task["sums"], in_rank_order=task["in_rank_order"])
        return ng.SyncBatchNorm(task["channels"], **arguments)
    ng.enable()
    return {"enabled": nn.SyncBatchNorm, "torch's own": TorchsOwn}[task["way"]](task["channels"], **arguments)


def step(task, part, rank, group):
    begin, end = task["rows"][part]
    norm = make(task, group).train(not task["eval"])
    with torch.no_grad():
        norm.weight.copy_(task["w"])
        norm.bias.copy_(task["b"])
    if (rank, "forward") == task["dies"]:
        os._exit(7)
    needs = task["needs"][part]
    x = task["x"][begin:end].clone().requires_grad_("x" in needs)
    norm.requires_grad_("parameters" in needs)
    model = nn.parallel.DistributedDataParallel(norm) if task["ddp"] else norm
    if task["compiled"]:
        torch._dynamo.reset()
        model = torch.compile(model, backend="aot_eager", fullgraph=task["compiled"] == "to one graph")
    y = model(x)
    result = {"y": y.detach(), "dx": None, "dw": None, "db": None, "running_mean": norm.running_mean,
              "running_var": norm.running_var, "batches": norm.num_batches_tracked}
    if task["way"] == "ours" and needs and not (task["eval"] or task["compiled"]):
        result["mean"], result["rstd"] = y.grad_fn.saved_tensors[2:4]
    error = None
    if (rank, "backward") == task["dies"]:
        os._exit(7)
    if rank == task["sleeps"]:
        time.sleep(3 * task["timeout"])
    if needs:
        before = time.monotonic()
        try:
            y.backward(task["dy"][begin:end])
        except RuntimeError as raised:
            error = raised
        result.update(dx=x.grad, dw=norm.weight.grad, db=norm.bias.grad, error=str(error or ""),
                      seconds=time.monotonic() - before)
    return result, error


def train(rank, folder):
    task = torch.load(os.path.join(folder, "task.pt"))
    world = len(task["rows"])
    timeout = datetime.timedelta(seconds=task["timeout"])
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world, timeout=timeout,
    )
    order = task["order"]  # which process has which part of the batch
    part = order[rank]
    # In rank order means in the order of the parts, wherever they are.
    everyone = sorted(range(world), key=lambda r: order[r])
    groups = [dist.new_group(ranks, timeout=timeout, sort_ranks=False) for ranks in task["groups"] or [everyone]]
    group = next(g for g in groups if g is not dist.GroupMember.NON_GROUP_MEMBER)
    error = None
    if part in task["only"]:
        result, error = step(task, part, rank, group)
        torch.save(result, os.path.join(folder, f"result{part}.pt"))
    dist.barrier()
    if error is not None:
        raise error


def main(rank):
    print("ready", flush=True)
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
