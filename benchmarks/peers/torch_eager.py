"""torch as most people run it: the operators of its own passes, one after another."""

from __future__ import annotations

from collections.abc import Callable

import torch

from . import torch_tensors
from .arrays import Arrays
from .outputs import OUTPUTS
from .torch_tensors import per_channel
from .worker import Case, Settings
from .workloads import Workload

Tensors = dict[str, torch.Tensor]
Step = Callable[[], tuple[torch.Tensor, ...]]
aten = torch.ops.aten


def layer_norm(workload: Workload, t: Tensors) -> Step:
    shape, bias = [workload.shape[1]], torch.zeros_like(t["w"])
    _, mean, rstd = torch.native_layer_norm(t["x"], shape, t["w"], bias, workload.eps)
    backward = aten.native_layer_norm_backward
    return lambda: backward(t["dy"], t["x"], shape, mean, rstd, t["w"], bias, [True] * 3)


def rms_norm(workload: Workload, t: Tensors) -> Step:
    x, w = t["x"].requires_grad_(), t["w"].requires_grad_()
    with torch.enable_grad():
        y = torch.nn.functional.rms_norm(x, (workload.shape[1],), w, eps=0.0)
    return lambda: torch.autograd.grad(y, (x, w), t["dy"], retain_graph=True)


def batch_norm(workload: Workload, t: Tensors) -> Step:
    """Training; and the reduce half, which on CPUs is training with dx left out."""
    nothing = torch.zeros_like(t["w"])
    _, mean, rstd = torch.native_batch_norm(
        t["x"], t["w"], nothing, None, None, True, 0.1, workload.eps
    )
    mask = [workload.operator != "batch_norm_reduce", True, True]
    backward = aten.native_batch_norm_backward
    statistics = (None, None, mean, rstd, True, workload.eps)
    return lambda: backward(t["dy"], t["x"], t["w"], *statistics, mask)[1 - mask[0] :]


def batch_norm_inference(workload: Workload, t: Tensors) -> Step:
    backward = aten.native_batch_norm_backward
    statistics = (t["mean"], t["var"], None, None, False, workload.eps)
    return lambda: backward(t["dy"], t["x"], t["w"], *statistics, [True] * 3)


def layer_norm_forward(workload: Workload, t: Tensors) -> Step:
    shape = [workload.shape[1]]
    return lambda: torch.native_layer_norm(t["x"], shape, t["w"], t["b"], workload.eps)


def rms_norm_forward(workload: Workload, t: Tensors) -> Step:
    shape = (workload.shape[1],)
    return lambda: (torch.nn.functional.rms_norm(t["x"], shape, t["w"], workload.eps),)


def batch_norm_forward(workload: Workload, t: Tensors) -> Step:
    training = workload.operator == "batch_norm_training_forward"
    running = (None, None) if training else (t["mean"], t["var"])
    rest = (*running, training, 0.1, workload.eps)
    # In inference it gives two empty statistics besides.
    results = 3 if training else 1
    return lambda: torch.native_batch_norm(t["x"], t["w"], t["b"], *rest)[:results]


def elementwise_coefficients(workload: Workload, t: Tensors) -> list[torch.Tensor]:
    """a, b, c per channel with dx = a*dy + b*x + c."""
    a = t["w"].float() * t["rstd"]
    b = -a * t["rstd"] ** 2 * t["sum_dy_xmu"] / workload.per_channel
    c = -a * t["sum_dy"] / workload.per_channel - b * t["mean"]
    return [per_channel(v, t["x"]) for v in (a, b, c)]


def batch_norm_elementwise(workload: Workload, t: Tensors) -> Step:
    """torch has the operator for GPUs alone; this is the shortest way to say it."""
    a, b, c = (v.to(t["x"].dtype) for v in elementwise_coefficients(workload, t))
    return lambda: (torch.addcmul(torch.addcmul(c, t["dy"], a), t["x"], b),)


STEPS: dict[str, Callable[[Workload, Tensors], Step]] = {
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "batch_norm_training": batch_norm,
    "batch_norm_inference": batch_norm_inference,
    "batch_norm_reduce": batch_norm,
    "batch_norm_elementwise": batch_norm_elementwise,
    "layer_norm_forward": layer_norm_forward,
    "rms_norm_forward": rms_norm_forward,
    "batch_norm_training_forward": batch_norm_forward,
    "batch_norm_inference_forward": batch_norm_forward,
}


def output_names(workload: Workload) -> tuple[str, ...]:
    """The reduce half gives no sums but those that a user of one device needs."""
    return ("dw", "db") if workload.operator == "batch_norm_reduce" else OUTPUTS[workload.operator]


def case_of(workload: Workload, step: Step) -> Case:
    results: list[torch.Tensor] = []

    def run(times: int) -> None:
        for _ in range(times):
            results[:] = step()

    def outputs() -> Arrays:
        names = output_names(workload)
        return {n: torch_tensors.to_numpy(workload, r) for n, r in zip(names, results, strict=True)}

    return Case({"": run}, outputs)


class TorchEager:
    def __init__(self, settings: Settings) -> None:
        torch_tensors.start(settings)
        self.versions = {"torch": torch.__version__}

    def prepare(self, workload: Workload, inputs: Arrays) -> Case:
        tensors = torch_tensors.to_tensors(workload, inputs)
        return case_of(workload, STEPS[workload.operator](workload, tensors))


def make(settings: Settings) -> TorchEager:
    return TorchEager(settings)
