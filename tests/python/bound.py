"""The bound that every element is held to: |got - exact| <= 1/2 ulp(exact) + c*T.

The exact result is computed in float64 from the stored inputs; T is the sum of the magnitudes that cancel.
"""

import numpy as np

# digits, least exponent
FORMATS = {
    "float32": (24, -126),
    "float16": (11, -14),
    "bfloat16": (8, -126),
    "float64": (53, -1022),
}
SUMS = ("dw", "db", "sum_dy", "sum_dy_xmu")
F64 = 2.0**-40


def factor(what, data_dtype):
    """c of fast arithmetic, whatever the data type."""
    if data_dtype == "float64":
        return F64
    return 2.0**-20 if what in SUMS else 2.0**-19


def ulp(value, dtype):
    digits, least = FORMATS[dtype]
    _, exponent = np.frexp(np.abs(value))
    return np.ldexp(1.0, np.maximum(exponent - 1, least) - digits + 1)


def assert_within(got, exact, scale, dtype, data_dtype, *, what, extra=0.0):
    """Every element of the output `what`, stored as dtype, computed from data of data_dtype."""
    got, exact, scale = (np.asarray(a, dtype=np.float64) for a in (got, exact, scale))
    assert got.shape == exact.shape, (what, got.shape, exact.shape)
    if got.size == 0:
        return
    c = factor(what, data_dtype) + extra
    allowed = ulp(exact, dtype) / 2 + c * scale
    error = np.abs(got - exact)
    worst = np.argmax(error - allowed)
    assert not np.isnan(got).any(), what
    assert (error <= allowed).all(), (
        f"{what}[{np.unravel_index(worst, got.shape)}]: got {got.flat[worst]!r}, exact {exact.flat[worst]!r}, "
        f"error {error.flat[worst]:.3g}, allowed {allowed.flat[worst]:.3g}"
    )


class Exact:
    """Values and scales of a norm over the axes `axes`, from float64 arrays."""

    def __init__(self, x, w, b, dy, axes, eps, centred=True, parameter_axes=None, statistics=None):
        n = np.prod([x.shape[a] for a in axes])
        mean = x.mean(axes, keepdims=True) if centred else 0.0
        var = np.square(x - mean).mean(axes, keepdims=True)
        if statistics is not None:
            mean, var = statistics
        s = 1 / np.sqrt(var + eps)
        x_hat = (x - mean) * s
        self.mean, self.rstd, self.var, self.n = mean, s, var, n
        self.y = x_hat * w + b
        of_mean = np.abs(x_hat).mean(axes, keepdims=True) if centred and statistics is None else 0
        self.y_scale = (np.abs(x_hat) + of_mean) * np.abs(w) + np.abs(b)
        if dy is None:
            return
        a = dy * w
        m = lambda v: v.mean(axes, keepdims=True)  # noqa: E731
        if statistics is not None:
            self.dx, self.dx_scale = s * a, np.abs(s * a)
        else:
            self.dx = s * (a - (m(a) if centred else 0) - x_hat * m(a * x_hat))
            self.dx_scale = s * (np.abs(a) + (m(np.abs(a)) if centred else 0) + np.abs(x_hat) * m(np.abs(a * x_hat)))
        self.dw, self.dw_scale = (dy * x_hat).sum(parameter_axes), np.abs(dy * x_hat).sum(parameter_axes)
        self.db, self.db_scale = dy.sum(parameter_axes), np.abs(dy).sum(parameter_axes)
