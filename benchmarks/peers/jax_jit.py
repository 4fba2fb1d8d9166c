"""JAX: jit of the formula, and of its vjp.

What the vjp takes of the forward pass is passed in or computed again; the faster way counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .arrays import Arrays
from .outputs import OUTPUTS
from .worker import Case, Run, Settings
from .workloads import Workload

Array = jax.Array
Forward = Callable[..., tuple[Array, ...]]


def normalized(x: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array, Array]:
    """x_hat, mean, rstd."""
    wide = x.astype(jnp.float32)
    mean = wide.mean(axis=axes, keepdims=True)
    variance = jnp.square(wide - mean).mean(axis=axes, keepdims=True)
    rstd = jax.lax.rsqrt(variance + eps)
    return (wide - mean) * rstd, mean, rstd


def layer_norm(eps: float) -> Forward:
    def forward(x: Array, w: Array, b: Array) -> tuple[Array, ...]:
        x_hat, mean, rstd = normalized(x, (1,), eps)
        y = (x_hat * w.astype(jnp.float32) + b.astype(jnp.float32)).astype(x.dtype)
        return y, mean.ravel(), rstd.ravel()

    return forward


def rms_norm(eps: float) -> Forward:
    def forward(x: Array, w: Array) -> tuple[Array, ...]:
        wide = x.astype(jnp.float32)
        r = jax.lax.rsqrt(jnp.square(wide).mean(axis=1, keepdims=True) + eps)
        return ((wide * r * w.astype(jnp.float32)).astype(x.dtype),)

    return forward


class Channels:
    """Which axis of the stored arrays are the channels."""

    def __init__(self, workload: Workload) -> None:
        rank = len(workload.shape)
        self.axis = rank - 1 if workload.is_channels_last else 1
        self.rest = tuple(axis for axis in range(rank) if axis != self.axis)
        self.shape = tuple(-1 if axis == self.axis else 1 for axis in range(rank))

    def spread(self, values: Array) -> Array:
        return values.astype(jnp.float32).reshape(self.shape)

    def training(self, eps: float) -> Forward:
        def forward(x: Array, w: Array, b: Array) -> tuple[Array, ...]:
            x_hat, mean, rstd = normalized(x, self.rest, eps)
            y = (x_hat * self.spread(w) + self.spread(b)).astype(x.dtype)
            return y, mean.ravel(), rstd.ravel()

        return forward

    def inference(self, eps: float, mean: Array, variance: Array) -> Forward:
        def forward(x: Array, w: Array, b: Array) -> tuple[Array, ...]:
            x_hat = (x.astype(jnp.float32) - self.spread(mean)) * jax.lax.rsqrt(
                self.spread(variance) + eps
            )
            return ((x_hat * self.spread(w) + self.spread(b)).astype(x.dtype),)

        return forward

    def reduce(self, dy: Array, x: Array, mean: Array, rstd: Array) -> tuple[Array, ...]:
        wide = dy.astype(jnp.float32)
        sum_dy = wide.sum(axis=self.rest)
        sum_dy_xmu = (wide * (x.astype(jnp.float32) - self.spread(mean))).sum(axis=self.rest)
        return sum_dy, sum_dy_xmu, sum_dy_xmu * rstd, sum_dy

    def elementwise(self, n: int) -> Callable[..., tuple[Array]]:
        def apply(dy: Array, x: Array, w: Array, *statistics: Array) -> tuple[Array]:
            mean, r, sum_dy, sum_dy_xmu = map(self.spread, statistics)
            centred = dy.astype(jnp.float32) - sum_dy / n
            slope = r * r * sum_dy_xmu / n
            return (
                ((centred - (x.astype(jnp.float32) - mean) * slope) * r * self.spread(w)).astype(
                    dy.dtype
                ),
            )

        return apply


def backward_ways(norm: Forward, dy: Array, *primals: Array) -> dict[str, Callable[[], Any]]:
    def forward(*primals: Array) -> Array:
        return norm(*primals)[0]

    _, pull = jax.vjp(jax.jit(forward), *primals)
    with_residuals = jax.jit(lambda pull, dy: pull(dy))
    computed_again = jax.jit(lambda dy, *primals: jax.vjp(forward, *primals)[1](dy))
    return {
        "residuals": lambda: with_residuals(pull, dy),
        "computed_again": lambda: computed_again(dy, *primals),
    }


def formula(workload: Workload, a: dict[str, Array]) -> Forward:
    channels = Channels(workload)
    match workload.norm:
        case "layer_norm":
            return layer_norm(workload.eps)
        case "rms_norm":
            return rms_norm(workload.eps)
        case "batch_norm_training":
            return channels.training(workload.eps)
        case _:
            return channels.inference(workload.eps, a["mean"], a["var"])


def ways(workload: Workload, a: dict[str, Array]) -> dict[str, Callable[[], Any]]:
    channels = Channels(workload)
    match workload.operator:
        case "batch_norm_reduce":
            sums = jax.jit(channels.reduce)
            return {"": lambda: sums(a["dy"], a["x"], a["mean"], a["rstd"])}
        case "batch_norm_elementwise":
            apply = jax.jit(channels.elementwise(workload.per_channel))
            order = ("dy", "x", "w", "mean", "rstd", "sum_dy", "sum_dy_xmu")
            return {"": lambda: apply(*(a[name] for name in order))}
    primals = [a["x"], a["w"]]
    if workload.norm != "rms_norm":
        primals.append(a.get("b", jnp.zeros_like(a["w"])))
    if not workload.is_forward:
        return backward_ways(formula(workload, a), a["dy"], *primals)
    forward = jax.jit(formula(workload, a))
    return {"": lambda: forward(*primals)}


class JaxJit:
    def __init__(self, settings: Settings) -> None:
        self.versions = {"jax": jax.__version__}

    def prepare(self, workload: Workload, inputs: Arrays) -> Case:
        arrays = {name: jax.device_put(array) for name, array in inputs.items()}
        results: list[Array] = []

        def run_of(step: Callable[[], Any]) -> Run:
            def run(times: int) -> None:
                for _ in range(times):
                    results[:] = jax.block_until_ready(step())

            return run

        def outputs() -> Arrays:
            names = OUTPUTS[workload.operator]
            return {name: np.asarray(r) for name, r in zip(names, results, strict=True)}

        return Case({name: run_of(step) for name, step in ways(workload, arrays).items()}, outputs)


def make(settings: Settings) -> JaxJit:
    # XLA's pool has as many threads as the process has processors.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-settings.threads :])
    return JaxJit(settings)
