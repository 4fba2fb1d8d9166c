"""SyncBatchNorm over gloo: several processes give what one process gives for the whole batch."""

import inspect
import pathlib
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from bound import Exact, assert_within

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import normgrad  # noqa: E402
import normgrad.torch as ng  # noqa: E402

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
    """Workers that take one task after the other."""

    def __init__(self):
        self.workers = []

    def start(self, count):
        """So many, as far as they are not there."""
        self.workers += [None] * (count - len(self.workers))
        new = [rank for rank, worker in enumerate(self.workers[:count]) if worker is None or worker.poll() is not None]
        for rank in new:
            command = [sys.executable, str(WORKER), str(rank)]
            self.workers[rank] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for rank in new:
            assert self.workers[rank].stdout.readline() == "ready\n"

    def answers(self, folder, task):
        """What each process of the task says; an empty line is that of a dead one."""
        torch.save(task, folder / "task.pt")
        count = len(task["rows"])
        self.start(count)
        for worker in self.workers[:count]:
            print(folder, file=worker.stdin, flush=True)
        patience = threading.Timer(2 * task["timeout"] + 60, lambda: [worker.kill() for worker in self.workers[:count]])
        patience.start()  # an engine may also wait beyond its timeout
        answers = [worker.stdout.readline().strip() for worker in self.workers[:count]]
        patience.cancel()
        for worker, answer in zip(self.workers, answers):
            if not answer:
                worker.wait(60)
        return answers

    def end(self):
        for worker in self.workers:
            worker.stdin.close()
        return [worker.wait(60) for worker in self.workers]


@pytest.fixture(scope="module")
def processes():
    all_of_them = Processes()
    yield all_of_them
    assert all_of_them.end() == [0] * len(all_of_them.workers)


DATA = {"near 0": (1.0, 3.0), "small": (1e-10, 0.0), "offset": (1.0, 1e4), "far": (0.05, 1e4)}  # scale, offset
BOTH = {"x", "parameters"}  # what needs gradients


def make_task(split, dtype=torch.float32, data="near 0", length=7, **more):
    generator = torch.Generator().manual_seed(3)
    scale, offset = DATA[data]
    x, dy = (torch.randn(12, CHANNELS, length, generator=generator) for _ in range(2))
    x, dy = (x * scale + offset).to(dtype), dy.to(dtype)
    w, b = (torch.randn(CHANNELS, generator=generator) for _ in range(2))
    rows = SPLITS[split] if isinstance(split, str) else split
    parts = list(range(len(rows)))
    task = dict(rows=rows, x=x, dy=dy, w=w, b=b, channels=CHANNELS, timeout=60, order=parts, only=parts, dies=None,
                sleeps=None, groups=None, compiled=None, way="ours", sums=torch.float64, in_rank_order=False, module={},
                eval=False, ddp=False, needs=[BOTH] * len(parts))
    assert more.keys() <= task.keys()
    return dict(task, **more)


def load(folder, task):
    parts = [torch.load(folder / f"result{i}.pt") for i in task["only"]]
    for part in parts:  # torch's own code has no gradients for a part without elements
        if task["way"] == "torch's own" and part["y"].numel() == 0 and part["dx"] is None:
            part["dx"] = torch.zeros_like(part["y"])
            part["dw"], part["db"] = torch.zeros_like(task["w"]), torch.zeros_like(task["w"])
    return parts


def results(processes, folder, task):
    folder.mkdir(exist_ok=True)
    assert processes.answers(folder, task) == ["done"] * len(task["rows"])
    return load(folder, task)


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def exact_of(task, begin=0, end=None):
    """Of rows of the batch. Subtracting a round number first changes no digit of x, and none is lost in the mean."""
    x, w, b, dy = (t.double().numpy() for t in (task["x"], task["w"], task["b"], task["dy"]))
    along = (1, CHANNELS, 1)
    e = Exact((x - np.round(x.mean()))[begin:end], w.reshape(along), b.reshape(along), dy[begin:end], (0, 2), 1e-5,
              parameter_axes=(0, 2))
    e.shift = np.round(x.mean())
    return e


def check_gradients_of_parameters(task, part, rows, e, extra=0.0):
    """Of one process alone; the gradients' all-reduce is DDP's business."""
    x, dy = (t.double().numpy()[slice(*rows)] for t in (task["x"], task["dy"]))
    for name, term in (("db", dy), ("dw", dy * ((x - e.shift - e.mean) * e.rstd))):
        assert_within(part[name].double().numpy(), term.sum((0, 2)), np.abs(term).sum((0, 2)), name_of(part[name].dtype),
                      name_of(task["x"].dtype), extra=extra, what=name)


def check(task, parts, extra=0.0):
    e = exact_of(task)
    dtype = name_of(task["x"].dtype)
    whole = {name: torch.cat([p[name] for p in parts]).double().numpy() for name in ("y", "dx")}
    assert_within(whole["y"], e.y, e.y_scale, dtype, dtype, extra=extra, what="y")
    assert_within(whole["dx"], e.dx, e.dx_scale, dtype, dtype, extra=extra, what="dx")
    for p, rows in zip(parts, task["rows"]):
        check_gradients_of_parameters(task, p, rows, e, extra)
    unbiased = e.var.ravel() * e.n / (e.n - 1)
    m = task["module"].get("momentum", 0.1)
    m = 1.0 if m is None else m  # the average of one batch
    for p in parts:
        statistics = name_of(p["running_var"].dtype)
        assert_within(p["running_mean"].numpy(), m * (e.mean.ravel() + e.shift),
                      m * task["x"].double().abs().mean((0, 2)).numpy(), statistics, statistics, extra=extra,
                      what="running_mean")
        assert_within(p["running_var"].numpy(), (1 - m) + m * unbiased, (1 - m) + m * unbiased, statistics, statistics,
                      extra=extra, what="running_var")
        assert p["batches"] == (0 if task["way"] == "torch's own" else 1)  # which is the module's to count


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("sums", [torch.float64, torch.float32])
def test_equals_one_process(split, sums, processes, tmp_path):
    task = make_task(split, sums=sums)
    check(task, results(processes, tmp_path, task), 0.0 if sums == torch.float64 else 2.0**-22)


WAYS = ["ours", "enabled"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("split", ["uneven, 2", "one empty, 2", "one empty, 4"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_ways_and_types(dtype, split, way, processes, tmp_path):
    task = make_task(split, dtype=dtype, way=way)
    check(task, results(processes, tmp_path, task))


@pytest.mark.parametrize("way", WAYS)
def test_float64(way, processes, tmp_path):
    task = make_task("one empty, 4", dtype=torch.float64, way=way, module=dict(dtype=torch.float64))
    check(task, results(processes, tmp_path, task))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("data", DATA)
def test_running_statistics_are_those_of_one_batch(data, way, processes, tmp_path):
    """momentum=None, so that the first batch is all of them: nothing hides a small variance."""
    task = make_task("uneven, 4", data=data, way=way, module=dict(momentum=None))
    check(task, results(processes, tmp_path, task))


@pytest.mark.parametrize("way", WAYS)
def test_many_elements_far_from_0(way, processes, tmp_path):
    """Without a bias: half an ulp of a mean of 1e4 is more than the bound of an element near the mean."""
    task = make_task("uneven, 2", data="far", length=5000, way=way, module=dict(momentum=None))
    task["b"].zero_()
    check(task, results(processes, tmp_path, task))


@pytest.mark.parametrize("split", ["uneven, 2", "uneven, 4", "one empty, 2"])
def test_torchs_own_code_with_enable(split, processes, tmp_path):
    """It exchanges f32."""
    task = make_task(split, way="torch's own")
    check(task, results(processes, tmp_path, task), 2.0**-22)


@pytest.mark.parametrize("way", WAYS)
def test_groups_of_some_processes(way, processes, tmp_path):
    """Each is a batch of its own."""
    task = make_task("uneven, 4", way=way, groups=[[0, 2], [1, 3]])
    parts = results(processes, tmp_path, task)
    for ranks in task["groups"]:
        rows = [task["rows"][r] for r in ranks]
        ends = np.cumsum([end - begin for begin, end in rows]).tolist()
        batch = {name: torch.cat([task[name][slice(*r)] for r in rows]) for name in ("x", "dy")}
        check(dict(task, **batch, rows=list(zip([0, *ends], ends))), [parts[r] for r in ranks])


@pytest.mark.parametrize("way", WAYS)
def test_in_distributed_data_parallel(way, processes, tmp_path):
    task = make_task("uneven, 2", way=way)
    alone = results(processes, tmp_path / "alone", task)
    check(task, alone)
    parts = results(processes, tmp_path / "ddp", dict(task, ddp=True))
    for name in ("dw", "db"):
        average = (alone[0][name] + alone[1][name]) / 2
        assert all(torch.equal(p[name], average) for p in parts)
    for name in ("y", "dx"):
        assert all(torch.equal(p[name], a[name]) for p, a in zip(parts, alone))


@pytest.mark.parametrize("way", WAYS)
def test_compiled(way, processes, tmp_path):
    """To several graphs: what is exchanged decides how it goes on."""
    task = make_task("one empty, 2", way=way, compiled="to what there is")
    check(task, results(processes, tmp_path, task))


def test_does_not_compile_to_one_graph(processes, tmp_path):
    answers = processes.answers(tmp_path, make_task("even, 2", compiled="to one graph", timeout=30))
    assert all(answer.startswith(("Unsupported", "UserError")) for answer in answers), answers


@pytest.mark.parametrize("way", WAYS)
def test_batch_without_elements(way, processes, tmp_path):
    task = make_task([(0, 0), (0, 0)], way=way)
    for p in results(processes, tmp_path, task):
        assert torch.equal(p["running_mean"], torch.zeros(CHANNELS))
        assert torch.equal(p["running_var"], torch.ones(CHANNELS))
        assert p["y"].shape == p["dx"].shape == (0, CHANNELS, 7)
        assert torch.equal(p["dw"], torch.zeros(CHANNELS)) and torch.equal(p["db"], torch.zeros(CHANNELS))


@pytest.mark.parametrize("way", WAYS)
def test_batch_with_one_element(way, processes, tmp_path):
    """It has no unbiased variance."""
    task = make_task([(0, 1), (1, 1)], length=1, way=way)
    one = results(processes, tmp_path, task)
    assert torch.equal(one[0]["y"].ravel(), task["b"])
    scale = 2 * (task["w"] * task["dy"][:1].ravel()).abs().double().numpy() / np.sqrt(1e-5)
    dx = one[0]["dx"].ravel().numpy()
    assert_within(dx, np.zeros_like(scale), scale, "float32", "float32", what="dx")
    assert all(p["running_var"].isnan().all() for p in one)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tracked", [True, False])
def test_evaluation_is_of_one_process(tracked, way, processes, tmp_path):
    """As torch's: one that evaluates alone waits for nobody."""
    task = make_task("uneven, 2", way=way, eval=True, only=[1], timeout=5, module=dict(track_running_stats=tracked))
    (p,) = results(processes, tmp_path, task)
    x, w, b, dy = (t.double().numpy() for t in (task["x"], task["w"], task["b"], task["dy"]))
    given = (np.zeros((1, CHANNELS, 1)), np.ones((1, CHANNELS, 1))) if tracked else None
    along = (1, CHANNELS, 1)
    e = Exact(x[1:], w.reshape(along), b.reshape(along), dy[1:], (0, 2), 1e-5, parameter_axes=(0, 2), statistics=given)
    for name in ("y", "dx"):
        assert_within(p[name].numpy(), getattr(e, name), getattr(e, name + "_scale"), "float32", "float32", what=name)


@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_x_for_some_processes(way, processes, tmp_path):
    task = make_task("uneven, 2", way=way, needs=[{"parameters"}, BOTH])
    parts = results(processes, tmp_path, task)
    assert parts[0]["dx"] is None
    parts[0]["dx"] = torch.zeros_like(parts[0]["y"])
    e = exact_of(task)
    assert_within(parts[1]["dx"].numpy(), e.dx[1:], e.dx_scale[1:], "float32", "float32", what="dx")
    for p, rows in zip(parts, task["rows"]):
        check_gradients_of_parameters(task, p, rows, e)


@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_x_for_nobody(way, processes, tmp_path):
    """Then the backward pass has nothing to exchange, and one process less of it is waited for by nobody."""
    task = make_task("uneven, 2", way=way, needs=[{"parameters"}, set()], timeout=5)
    parts = results(processes, tmp_path, task)
    check_gradients_of_parameters(task, parts[0], task["rows"][0], exact_of(task))
    assert parts[1]["dw"] is None


@pytest.mark.parametrize("way", WAYS)
def test_a_process_without_gradients_is_an_error_of_the_others(way, processes, tmp_path):
    """It never gets to the exchange of the backward pass. The others say so rather than wait."""
    task = make_task("uneven, 4", way=way, needs=[BOTH, BOTH, set(), {"parameters"}], timeout=20)
    processes.start(4)
    begin = time.monotonic()
    answers = processes.answers(tmp_path, task)
    assert time.monotonic() - begin < 15
    for rank in (0, 1, 3):
        assert "process 2 of the group needs no gradients" in answers[rank], answers
    assert answers[2] == "done"
    e = exact_of(task)
    assert_within(torch.cat([p["y"] for p in load(tmp_path, task)]).numpy(), e.y, e.y_scale, "float32", "float32", what="y")


def cancelling(task):
    """Parts 0 and 2 have huge sums that cancel: what is left of the others depends on the order of the additions."""
    task["x"][3:5] = task["x"][:2]
    task["dy"][:2] = 2.0**41 * torch.arange(1, 1 + 10 * 7).reshape(2, CHANNELS, 7)
    task["dy"][3:5] = -task["dy"][:2]
    task["dy"][5:9] = 0
    return task


def add_in_order(rows):
    total = rows[0].copy()
    for row in rows[1:]:
        total += row
    return total


def dx_in_order_of_the_parts(task, mean, rstd):
    """The sums over the parts are added here, in float64."""
    ops = torch.ops.normgrad
    parts = [(task["x"][b:e], task["dy"][b:e]) for b, e in task["rows"]]
    sums = [ops.batch_norm_backward_reduce(dy, x, mean, rstd, task["w"], True, False, False)[:2] for x, dy in parts]
    total = torch.tensor(add_in_order([torch.cat(s).to(task["sums"]).double().numpy() for s in sums]))
    counts = torch.tensor([x.numel() / CHANNELS for x, _ in parts])
    return [ops.batch_norm_backward_elemt(dy, x, mean, rstd, task["w"], *total.chunk(2), counts) for x, dy in parts]


@pytest.mark.parametrize("sums", [torch.float64, torch.float32])
def test_same_bits_in_rank_order(sums, processes, tmp_path):
    """Those of additions in the order of the parts, on whichever processes they are; the engine's own differ."""
    task = cancelling(make_task("uneven, 4", sums=sums))
    first = None
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        parts = results(processes, tmp_path / str(order), dict(task, order=order, in_rank_order=True))
        first = first or parts[0]
        assert all(torch.equal(p[name], first[name]) for p in parts for name in ("mean", "rstd"))
        expected = dx_in_order_of_the_parts(task, first["mean"], first["rstd"])
        assert all(torch.equal(p["dx"], e) for p, e in zip(parts, expected))
    parts = results(processes, tmp_path / "engine", task)
    assert all(torch.equal(p[name], first[name]) for p in parts for name in ("mean", "rstd"))
    assert not all(torch.equal(p["dx"], e) for p, e in zip(parts, expected))


@pytest.mark.parametrize("split", ["uneven, 2", "one empty, 2"])
def test_same_bits_in_rank_order_of_two(split, processes, tmp_path):
    """Of two numbers there is but one sum: what is left to go wrong is whose part is whose."""
    task = make_task(split, in_rank_order=True)
    for order in ([0, 1], [1, 0]):
        parts = results(processes, tmp_path / str(order), dict(task, order=order))
        expected = dx_in_order_of_the_parts(task, parts[0]["mean"], parts[0]["rstd"])
        assert all(torch.equal(p["dx"], e) for p, e in zip(parts, expected))


@pytest.mark.parametrize("data", DATA)
def test_mean_has_the_digits_of_one_process(data):
    """In exact arithmetic; and what rounding left of it has half of them more."""
    before = normgrad.get_arithmetic()
    normgrad.set_arithmetic("exact")
    try:
        check_means(data)
    finally:
        normgrad.set_arithmetic(before)


def check_means(data):
    from normgrad.torch._sync import _combine, _sum_of

    for seed in range(20):
        scale, offset = DATA[data]
        x = torch.randn(CHANNELS, 1000, generator=torch.Generator().manual_seed(seed)) * scale + offset
        parts = [x[:, :17], x[:, 17:400], x[:, 400:]]
        counts = torch.tensor([p.shape[1] for p in parts], dtype=torch.float64)
        stats = [torch.ops.normgrad.batch_norm_stats(p.t().contiguous(), 1e-5) for p in parts]
        sums = torch.stack([_sum_of(s[0], n) for s, n in zip(stats, counts)])
        mean, rest, _ = _combine(sums, torch.stack([n * s[2] for s, n in zip(stats, counts)]), counts)
        for c in range(CHANNELS):
            exact = sum(map(Fraction, x[c].tolist())) / 1000
            error = abs(Fraction(mean[c].item()) + Fraction(rest[c].item()) - exact)
            assert error <= (2.0**-70 if offset > 1e3 else 2.0**-50) * max(abs(exact), scale), (seed, c, float(error))


def test_takes_the_arguments_of_torchs():
    torchs = inspect.signature(nn.SyncBatchNorm).parameters.values()
    given = {p.name: p.default for p in torchs if p.default is not p.empty}
    assert repr(ng.SyncBatchNorm(3, **given)) == repr(nn.SyncBatchNorm(3, **given))
    if "bias" in given:
        assert ng.SyncBatchNorm(3, bias=False).bias is None
    with pytest.raises(TypeError, match="biases"):
        ng.SyncBatchNorm(3, biases=False)


def alone(tmp_path, task):
    """Answers of processes that are not asked again, how long they took, and their exit codes."""
    some = Processes()
    some.start(len(task["rows"]))
    begin = time.monotonic()
    answers = some.answers(tmp_path, task)
    seconds = time.monotonic() - begin
    return answers, seconds, some.end()


def test_a_process_that_dies_is_an_error_of_the_others(tmp_path):
    answers, seconds, codes = alone(tmp_path, make_task("even, 2", dies=(1, "forward"), timeout=5))
    assert answers[1] == "" and "Error" in answers[0], answers
    assert seconds < 30 and codes == [0, 7]
    assert not (tmp_path / "result0.pt").exists()


def test_a_process_that_dies_before_backward(tmp_path):
    answers, _, codes = alone(tmp_path, make_task("even, 2", dies=(1, "backward"), timeout=5))
    assert answers[1] == "" and codes == [0, 7]
    left = torch.load(tmp_path / "result0.pt")
    assert left["error"] and left["dx"] is None and left["dw"] is None, left["error"]
    assert left["seconds"] < 10


def test_a_process_that_does_not_come_is_an_error_after_the_timeout(tmp_path):
    """And not when it comes at last, which is after three times as long."""
    task = make_task("even, 2", sleeps=1, timeout=3)
    alone(tmp_path, task)
    left = torch.load(tmp_path / "result0.pt")
    assert left["error"] and left["dx"] is None, left["error"]
    assert 2 < left["seconds"] < 7
