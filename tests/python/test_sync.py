"""SyncBatchNorm over gloo: several processes give what one process gives for the whole batch."""

import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest
from bound import Exact, assert_within

torch = pytest.importorskip("torch")

WORKER = pathlib.Path(__file__).with_name("sync_worker.py")
CHANNELS = 5
SPLITS = {
    "even, 2": [(0, 6), (6, 12)],
    "uneven, 2": [(0, 1), (1, 12)],
    "uneven, 4": [(0, 2), (2, 3), (3, 9), (9, 12)],
    "one empty, 2": [(0, 0), (0, 12)],
    "one empty, 4": [(0, 5), (5, 6), (6, 6), (6, 12)],
}


class Processes:
    """Workers that take one task after the other: to start one takes longer than any task."""

    def __init__(self):
        self.workers = []

    def answers(self, folder, task):
        """What each process of the task says; an empty line is that of a dead one."""
        torch.save(task, folder / "task.pt")
        count = len(task["rows"])
        while len(self.workers) < count:
            command = [sys.executable, str(WORKER), str(len(self.workers))]
            self.workers.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for worker in self.workers[:count]:
            print(folder, file=worker.stdin, flush=True)
        return [worker.stdout.readline().strip() for worker in self.workers[:count]]

    def end(self):
        for worker in self.workers:
            worker.stdin.close()
        return [worker.wait(60) for worker in self.workers]


@pytest.fixture(scope="module")
def processes():
    all_of_them = Processes()
    yield all_of_them
    assert all_of_them.end() == [0] * len(all_of_them.workers)


def make_task(split, dtype=torch.float32, way="ours", sums=torch.float64, in_rank_order=False, order=None, **more):
    generator = torch.Generator().manual_seed(3)
    x, dy = (torch.randn(12, CHANNELS, 7, generator=generator).to(dtype) for _ in range(2))
    w, b = (torch.randn(CHANNELS, generator=generator) for _ in range(2))
    rows = SPLITS[split]
    return dict(rows=rows, x=x + 3, dy=dy, w=w, b=b, channels=CHANNELS, way=way, sums=sums, timeout=60,
                in_rank_order=in_rank_order, order=order or list(range(len(rows))), **more)


def results(processes, folder, task):
    assert processes.answers(folder, task) == ["done"] * len(task["rows"])
    parts = [torch.load(folder / f"result{i}.pt") for i in range(len(task["rows"]))]
    for part in parts:  # torch's own code has no gradients for a part without elements
        if task["way"] == "enabled" and part["y"].numel() == 0 and part["dx"] is None:
            part["dx"] = torch.zeros_like(part["y"])
            part["dw"], part["db"] = torch.zeros_like(task["w"]), torch.zeros_like(task["w"])
    return parts


def check(task, parts, extra):
    x, w, b, dy = (t.double().numpy() for t in (task["x"], task["w"], task["b"], task["dy"]))
    along = (1, CHANNELS, 1)
    e = Exact(x, w.reshape(along), b.reshape(along), dy, (0, 2), 1e-5, parameter_axes=(0, 2))
    dtype = str(task["x"].dtype).removeprefix("torch.")
    whole = {name: torch.cat([p[name] for p in parts]).double().numpy() for name in ("y", "dx")}
    assert_within(whole["y"], e.y, e.y_scale, dtype, dtype, extra=extra, what="y")
    assert_within(whole["dx"], e.dx, e.dx_scale, dtype, dtype, extra=extra, what="dx")
    for name in ("dw", "db"):  # of each process alone; the gradients' all-reduce is DDP's business
        for p, (begin, end) in zip(parts, task["rows"]):
            term = dy[begin:end] if name == "db" else dy[begin:end] * ((x - e.mean) * e.rstd)[begin:end]
            assert_within(p[name].double().numpy(), term.sum((0, 2)), np.abs(term).sum((0, 2)), "float32", dtype,
                          is_sum=True, extra=extra, what=name)
    unbiased = e.var.ravel() * e.n / (e.n - 1)
    for p in parts:
        assert_within(p["running_mean"].numpy(), 0.1 * e.mean.ravel(), np.abs(x).mean((0, 2)), "float32", "float32",
                      extra=extra, what="running_mean")
        assert_within(p["running_var"].numpy(), 0.9 + 0.1 * unbiased, 1 + unbiased, "float32", "float32", extra=extra,
                      what="running_var")


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("sums", [torch.float64, torch.float32])
def test_equals_one_process(split, sums, processes, tmp_path):
    task = make_task(split, sums=sums)
    check(task, results(processes, tmp_path, task), 0.0 if sums == torch.float64 else 2.0**-22)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bit_data(dtype, processes, tmp_path):
    task = make_task("uneven, 2", dtype=dtype)
    check(task, results(processes, tmp_path, task), 0.0)


@pytest.mark.parametrize("split", ["uneven, 2", "uneven, 4", "one empty, 2"])
def test_torchs_own_code_with_enable(split, processes, tmp_path):
    """It exchanges f32."""
    task = make_task(split, way="enabled")
    check(task, results(processes, tmp_path, task), 2.0**-22)


@pytest.mark.parametrize("way", ["ours", "enabled"])
def test_in_distributed_data_parallel(way, processes, tmp_path):
    task = make_task("uneven, 2", way=way, ddp=True)
    parts = results(processes, tmp_path, task)
    assert torch.equal(parts[0]["dw"], parts[1]["dw"])


def test_same_bits_in_rank_order(processes, tmp_path):
    """The same parts on other processes, in other places of the engine's ring or tree."""
    bits = []
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        folder = tmp_path / "".join(map(str, order))
        folder.mkdir()
        task = make_task("uneven, 4", in_rank_order=True, sums=torch.float32, order=order)
        parts = results(processes, folder, task)
        bits.append([p[name] for p in parts for name in ("y", "dx", "dw", "db", "running_mean", "running_var")])
    for other in bits[1:]:
        assert all(torch.equal(a, b) for a, b in zip(bits[0], other))


def test_a_process_that_dies_is_an_error_of_the_others(tmp_path):
    task = make_task("even, 2", dies=1)
    task["timeout"] = 5
    two = Processes()
    begin = time.monotonic()
    answers = two.answers(tmp_path, task)
    assert answers[1] == "" and "Error" in answers[0], answers
    assert time.monotonic() - begin < 60
    assert two.end() == [0, 7]
    assert not (tmp_path / "result0.pt").exists()
