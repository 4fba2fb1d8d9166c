"""The formulas in f64, and how far from them a result may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Arrays, along_channels, rest_axes
from .workloads import Workload


@dataclass
class Exact:
    """A result, and T, the sum of the magnitudes that were added up to it."""

    value: np.ndarray
    magnitude: np.ndarray


def reference(workload: Workload, inputs: Arrays) -> dict[str, Exact]:
    given = {name: np.asarray(array, dtype=np.float64) for name, array in inputs.items()}
    if workload.is_forward:
        return forward(workload, given)
    if workload.operator == "layer_norm":
        return row_norm(given["dy"], given["w"], given["x_hat"], 1 / given["sigma"], centred=True)
    if workload.operator == "rms_norm":
        r = 1 / np.sqrt(np.mean(given["x"] ** 2, axis=1))
        return row_norm(given["dy"], given["w"], given["x"] * r[:, None], r, centred=False)
    return batch_norm(workload, given)


def forward(workload: Workload, given: Arrays) -> dict[str, Exact]:
    # y = x_hat*w + b with x_hat = (x - mean)*rstd, rstd = 1/sqrt(var + eps). A mean that is
    # computed adds mean(|x_hat|)*|w| to T. RMSNorm has neither mean nor b.
    x = given["x"]
    axes = (1,) if workload.is_row_norm else rest_axes(x)

    def mean_of(a: np.ndarray) -> np.ndarray:
        return a.mean(axis=axes, keepdims=True)

    w = along_channels(given["w"], x.ndim)
    if workload.norm == "rms_norm":
        y = x / np.sqrt(mean_of(x * x) + workload.eps) * w
        return {"y": Exact(y, np.abs(y))}
    b = along_channels(given["b"], x.ndim)
    if workload.norm == "batch_norm_inference":
        rstd = 1 / np.sqrt(given["var"] + workload.eps)
        scaled = (x - along_channels(given["mean"], x.ndim)) * along_channels(rstd, x.ndim) * w
        return {"y": Exact(scaled + b, np.abs(scaled) + np.abs(b))}
    mean = mean_of(x)
    x_hat = x - mean
    var = mean_of(x_hat * x_hat)
    rstd = 1 / np.sqrt(var + workload.eps)
    x_hat *= rstd
    y_t = (np.abs(x_hat) + mean_of(np.abs(x_hat))) * np.abs(w) + np.abs(b)
    statistics = {"mean": Exact(mean, mean_of(np.abs(x))), "var": Exact(var, var)}
    statistics["rstd"] = Exact(rstd, rstd)
    flat = {n: Exact(e.value.ravel(), e.magnitude.ravel()) for n, e in statistics.items()}
    return {"y": Exact(x_hat * w + b, y_t)} | flat


def row_norm(
    dy: np.ndarray, w: np.ndarray, x_hat: np.ndarray, r: np.ndarray, *, centred: bool
) -> dict[str, Exact]:
    # dx = r*(g - mean(g) - x_hat*mean(g*x_hat)) with g = w*dy; RMSNorm without mean(g)
    g = w * dy
    term = g * x_hat
    dx = g - x_hat * term.mean(axis=1, keepdims=True)
    dx_t = np.abs(g) + np.abs(x_hat) * np.abs(term).mean(axis=1, keepdims=True)
    if centred:
        dx -= g.mean(axis=1, keepdims=True)
        dx_t += np.abs(g).mean(axis=1, keepdims=True)
    np.multiply(dy, x_hat, out=term)
    results = {
        "dx": Exact(dx * r[:, None], dx_t * r[:, None]),
        "dw": Exact(term.sum(axis=0), np.abs(term).sum(axis=0)),
    }
    if centred:
        results["db"] = Exact(dy.sum(axis=0), np.abs(dy).sum(axis=0))
    return results


def batch_norm(workload: Workload, given: Arrays) -> dict[str, Exact]:
    # dx = w*r*(dy - sum_dy/n - (x - mean)*r*r*sum_dy_xmu/n); in inference w*r*dy
    dy, x = given["dy"], given["x"]
    axes, rank, n = rest_axes(dy), dy.ndim, workload.per_channel
    r = given["rstd"] if "rstd" in given else 1 / np.sqrt(given["var"] + workload.eps)
    xmu = x - along_channels(given["mean"], rank)
    term = dy * xmu
    sum_dy = Exact(dy.sum(axis=axes), np.abs(dy).sum(axis=axes))
    sum_dy_xmu = Exact(term.sum(axis=axes), np.abs(term).sum(axis=axes))
    weights = {"dw": Exact(sum_dy_xmu.value * r, sum_dy_xmu.magnitude * r), "db": sum_dy}
    if workload.operator == "batch_norm_reduce":
        return {"sum_dy": sum_dy, "sum_dy_xmu": sum_dy_xmu} | weights
    wr = along_channels(given["w"] * r, rank)
    if workload.operator == "batch_norm_inference":
        return {"dx": Exact(wr * dy, wr * np.abs(dy))} | weights
    if workload.operator == "batch_norm_elementwise":
        sum_dy, sum_dy_xmu = (Exact(given[s], np.abs(given[s])) for s in ("sum_dy", "sum_dy_xmu"))
        weights = {}
    shift, shift_t = (along_channels(v / n, rank) for v in (sum_dy.value, sum_dy.magnitude))
    slope, slope_t = (
        along_channels(v * r * r / n, rank) for v in (sum_dy_xmu.value, sum_dy_xmu.magnitude)
    )
    dx = Exact(wr * (dy - shift - xmu * slope), wr * (np.abs(dy) + shift_t + np.abs(xmu) * slope_t))
    return {"dx": dx} | weights


@dataclass(frozen=True)
class Format:
    ulp_of_1: float
    least_normal: float


FORMATS = {
    "float32": Format(2.0**-23, 2.0**-126),
    "float16": Format(2.0**-10, 2.0**-14),
    "bfloat16": Format(2.0**-7, 2.0**-126),
}
# What README.md promises of ours beside half an ulp, as a factor of T; 2^-37 for the f64 of here.
OURS_T = 2.0**-19 + 2.0**-37
# Peers round on the way, each in its own manner: errors against the largest element of the result.
PEERS_RELATIVE = {"f32": 1e-3, "bf16": 6e-2, "f16": 2e-2}


def ulp(dtype_name: str, value: np.ndarray) -> np.ndarray:
    form = FORMATS[dtype_name]
    _, exponent = np.frexp(np.maximum(np.abs(value), form.least_normal))
    return np.ldexp(form.ulp_of_1, exponent - 1)


def error_of_ours(dtype: str, got: np.ndarray, exact: Exact) -> float:
    """Largest error as a multiple of what is promised."""
    value = got.astype(np.float64)
    largest = np.maximum(np.abs(value), np.abs(exact.value))
    allowed = 0.5 * ulp(got.dtype.name, largest) + OURS_T * exact.magnitude
    return float(np.max(np.abs(value - exact.value) / allowed))


def error_of_peer(dtype: str, got: np.ndarray, exact: Exact) -> float:
    """Largest error as a multiple of what is let pass."""
    error = float(np.max(np.abs(got.astype(np.float64) - exact.value)))
    result = error / (PEERS_RELATIVE[dtype] * float(np.max(np.abs(exact.value))))
    return result if np.isfinite(result) else float("inf")
