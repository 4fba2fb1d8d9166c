"""A training run to watch: stock torch against normgrad.torch.enable(), on the CPU.

usage: python examples/train_tiny.py [--steps N] [--out FILE.png|FILE.svg] [--processes N]

Trains a small transformer (LayerNorm and RMSNorm) and a small convnet (BatchNorm) in float32 and bfloat16 on synthetic
data, each twice from the same start, with torch's own kernels and with normgrad's, step by step in turn. Draws the loss
curves and the time per step to one picture, and prints them: medians, and how many times as fast as torch's they are. With
--processes N the convnet has SyncBatchNorm and N processes (gloo), which torch alone refuses on CPUs.

Needs: pip install .[examples]
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import matplotlib
import torch
import torch.distributed as dist
import torch.nn.functional as F
from matplotlib import pyplot
from torch import nn
from tqdm import tqdm

import normgrad.torch

matplotlib.use("Agg")  # to a file, without a screen


class Block(nn.Module):
    def __init__(self, width, norm):
        super().__init__()
        self.first, self.second = norm(width), norm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        h = self.first(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.second(x))


class Transformer(nn.Module):
    """Says which token comes next; the data repeats itself with a period that it has to find out."""

    def __init__(self, tokens=64, width=128, length=64):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.position = nn.Parameter(torch.randn(length, width) / 8)
        self.blocks = nn.Sequential(Block(width, nn.LayerNorm), Block(width, nn.RMSNorm))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, tokens)
        self.tokens, self.length = tokens, length

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.embedding(x) + self.position)))

    def batch(self, generator, size=32):
        start = torch.randint(self.tokens, (size, 1), generator=generator)
        step = torch.randint(1, 4, (size, 1), generator=generator)
        sequence = (start + step * torch.arange(self.length + 1)) % self.tokens
        return sequence[:, :-1], sequence[:, 1:]

    def loss(self, output, target):
        return F.cross_entropy(output.flatten(0, 1).float(), target.flatten())


class ConvNet(nn.Module):
    """Tells stripes from checks from blobs, under noise."""

    def __init__(self, width=32, norm=nn.BatchNorm2d):
        super().__init__()
        layers = []
        for before, after in ((3, width), (width, width), (width, 2 * width)):
            layers += [nn.Conv2d(before, after, 3, padding=1), norm(after), nn.ReLU(), nn.AvgPool2d(2)]
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(2 * width, 3)

    def forward(self, x):
        return self.head(self.layers(x).mean((2, 3)))

    def batch(self, generator, size=32, side=32):
        kind = torch.randint(3, (size,), generator=generator)
        phase = torch.rand(size, 2, generator=generator) * 6
        u, v = torch.meshgrid(*[torch.linspace(0, 12, side)] * 2, indexing="ij")
        a = torch.sin(u + phase[:, 0, None, None])
        b = torch.sin(v + phase[:, 1, None, None])
        picture = torch.stack([a, a * b, a + b], 1)[torch.arange(size), kind]
        return picture[:, None] + torch.randn(size, 3, side, side, generator=generator), kind

    def loss(self, output, target):
        return F.cross_entropy(output.float(), target)


def milliseconds(times):
    return 1000 * statistics.median(times)


class Training:
    """One model on its way: losses and seconds of each step."""

    def __init__(self, make, dtype, rank=0):
        torch.manual_seed(0)
        self.dtype = dtype
        self.net = make().to(dtype)
        self.model = nn.parallel.DistributedDataParallel(self.net) if dist.is_initialized() else self.net
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=2e-3)
        self.generator = torch.Generator().manual_seed(1 + rank)
        self.losses, self.times = [], []

    def step(self):
        x, target = self.net.batch(self.generator)
        if x.is_floating_point():
            x = x.to(self.dtype)
        begin = time.perf_counter()
        loss = self.net.loss(self.model(x), target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.times.append(time.perf_counter() - begin)
        self.losses.append(loss.item())


def use(kernels):
    normgrad.torch.enable() if kernels == "normgrad" else normgrad.torch.disable()


def train(trainings, steps, title, quiet=False):
    """Steps of all in turn, each with its kernels, so that what else the machine does falls on all alike."""
    with tqdm(range(steps), desc=title, disable=quiet) as bar:
        for _ in bar:
            for kernels, training in trainings.items():
                use(kernels)
                training.step()
            bar.set_postfix_str(", ".join(
                f"{k}: loss {t.losses[-1]:.3f}, {milliseconds(t.times):.1f} ms" for k, t in trainings.items()
            ))
    return {(title, kernels): (t.losses, t.times) for kernels, t in trainings.items()}


def draw(runs, path):
    titles = list(dict.fromkeys(title for title, _ in runs))
    figure, axes = pyplot.subplots(2, len(titles), figsize=(3.4 * len(titles), 5.6), squeeze=False)
    colours = {"torch": "lightgray", "normgrad": "tab:blue"}
    for column, title in enumerate(titles):
        above, below = axes[0][column], axes[1][column]
        for (name, kernels), (losses, times) in runs.items():
            if name != title:
                continue
            above.plot(losses, label=kernels, color=colours[kernels], lw=1.2 if kernels == "normgrad" else 5)
            below.bar(kernels, milliseconds(times), color=colours[kernels])
        above.set_title(title, fontsize=9)
        above.set_xlabel("step", fontsize=8)
        above.legend(fontsize=8)
    axes[0][0].set_ylabel("loss")
    axes[1][0].set_ylabel("ms per step (median)")
    figure.tight_layout()
    figure.savefig(path)


def single(options):
    runs = {}
    for dtype in (torch.float32, torch.bfloat16):
        for make in (Transformer, ConvNet):
            title = f"{make.__name__}, {str(dtype).removeprefix('torch.')}"
            runs |= train({kernels: Training(make, dtype) for kernels in ("torch", "normgrad")}, options.steps, title)
    normgrad.torch.disable()
    return runs


def worker(rank, options, folder):
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // options.processes))
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=options.processes)
    use("normgrad")  # torch's DistributedDataParallel asks when it is made
    training = Training(lambda: ConvNet(norm=nn.SyncBatchNorm), torch.float32, rank)
    title = f"ConvNet, SyncBatchNorm, {options.processes} processes"
    runs = train({"normgrad": training}, options.steps, title, quiet=rank != 0)
    if rank == 0:
        torch.save(runs, f"{folder}/runs.pt")
    dist.destroy_process_group()


def together(options):
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(worker, (options, folder), nprocs=options.processes)
        return torch.load(f"{folder}/runs.pt")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--out", default="train_tiny.png", help="the picture; its ending says of what kind")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    # What would be found out at the end otherwise, after all the training.
    kinds = pyplot.figure().canvas.get_supported_filetypes()
    if Path(options.out).suffix[1:].lower() not in kinds:
        parser.error(f"--out is {options.out}, but must end with one of .{', .'.join(kinds)}")
    if not Path(options.out).resolve().parent.is_dir():
        parser.error(f"--out is {options.out}, but there is no such folder")
    if options.steps < 1 or options.processes < 1:
        parser.error("--steps and --processes must be 1 at least")
    runs = single(options) if options.processes == 1 else together(options)
    draw(runs, options.out)
    for (title, kernels), (losses, times) in runs.items():
        line = f"{title:44} {kernels:9} loss {losses[0]:.3f} -> {losses[-1]:.3f}, {milliseconds(times):.2f} ms per step"
        own = runs.get((title, "torch"))
        print(line + (f", {milliseconds(own[1]) / milliseconds(times):.2f} x torch" if own and kernels != "torch" else ""))
    print(f"drawn: {options.out}")


if __name__ == "__main__":
    main()
