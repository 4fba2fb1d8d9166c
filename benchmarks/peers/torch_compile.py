"""torch.compile of the same passes: one fused kernel, compiled for the shape."""

from __future__ import annotations

from collections.abc import Callable

import torch

from . import torch_tensors
from .arrays import Arrays
from .torch_eager import STEPS, Step, Tensors, case_of, elementwise_coefficients
from .worker import Case, Settings
from .workloads import Workload


def rms_norm(workload: Workload, t: Tensors) -> Step:
    def forward(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, (workload.shape[1],), w, eps=0.0)

    def backward(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.func.vjp(forward, x, w)[1](dy)

    compiled = torch.compile(backward, dynamic=False)
    return lambda: compiled(t["dy"], t["x"], t["w"])


def batch_norm_elementwise(workload: Workload, t: Tensors) -> Step:
    def apply(dy: torch.Tensor, x: torch.Tensor, *abc: torch.Tensor) -> tuple[torch.Tensor]:
        a, b, c = abc
        return ((a * dy.float() + b * x.float() + c).to(dy.dtype),)

    coefficients = elementwise_coefficients(workload, t)
    compiled = torch.compile(apply, dynamic=False)
    return lambda: compiled(t["dy"], t["x"], *coefficients)


def compiled_step(workload: Workload, t: Tensors) -> Step:
    return torch.compile(STEPS[workload.operator](workload, t), dynamic=False)


OWN_STEPS: dict[str, Callable[[Workload, Tensors], Step]] = {
    "rms_norm": rms_norm,
    "batch_norm_elementwise": batch_norm_elementwise,
}


class TorchCompile:
    def __init__(self, settings: Settings) -> None:
        torch_tensors.start(settings)
        self.versions = {"torch": torch.__version__}

    def prepare(self, workload: Workload, inputs: Arrays) -> Case:
        torch.compiler.reset()  # or it stops compiling after a few shapes
        tensors = torch_tensors.to_tensors(workload, inputs)
        step = OWN_STEPS.get(workload.operator, compiled_step)(workload, tensors)
        return case_of(workload, step)


def make(settings: Settings) -> TorchCompile:
    return TorchCompile(settings)
