"""The functions for numpy and DLPack."""

import sys
import threading

import ml_dtypes
import numpy as np
import pytest
from bound import Exact, assert_within

import normgrad

DTYPES = {"float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
rng = np.random.default_rng(1)


class Foreign:
    """Has DLPack, and is nothing that numpy knows."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **arguments):
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def wide(*arrays):
    return [np.asarray(a, dtype=np.float64) for a in arrays]


def data(dtype, *shapes):
    return [np.asarray(rng.normal(size=s)).astype(DTYPES[dtype]) for s in shapes]


@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm(dtype):
    x, dy, w, b = data(dtype, (5, 7, 33), (5, 7, 33), 33, 33)
    y, mean, rstd = normgrad.layer_norm(x, w, b, 1e-5)
    dx, dw, db = normgrad.layer_norm_backward(dy, x, mean, rstd, w)
    e = Exact(*wide(x, w, b, dy), (2,), 1e-5, parameter_axes=(0, 1))
    assert y.dtype == dx.dtype == dw.dtype == x.dtype and mean.dtype == np.float64 and mean.shape == (5, 7)
    assert_within(y, e.y, e.y_scale, dtype, dtype, what="y")
    assert_within(mean, e.mean[..., 0], np.abs(wide(x)[0]).mean(2), "float64", "float32", what="mean")
    assert_within(rstd, e.rstd[..., 0], e.rstd[..., 0], "float64", "float32", what="rstd")
    assert_within(dx, e.dx, e.dx_scale, dtype, dtype, what="dx")
    assert_within(dw, e.dw, e.dw_scale, dtype, dtype, what="dw")
    assert_within(db, e.db, e.db_scale, dtype, dtype, what="db")


@pytest.mark.parametrize("dtype", DTYPES)
def test_rms_norm(dtype):
    x, dy, w = data(dtype, (6, 50), (6, 50), 50)
    y, rstd = normgrad.rms_norm(x, w, 1e-6)
    dx, dw = normgrad.rms_norm_backward(dy, x, rstd, w)
    e = Exact(*wide(x, w, np.zeros(50), dy), (1,), 1e-6, centred=False, parameter_axes=0)
    assert_within(y, e.y, e.y_scale, dtype, dtype, what="y")
    assert_within(dx, e.dx, e.dx_scale, dtype, dtype, what="dx")
    assert_within(dw, e.dw, e.dw_scale, dtype, dtype, what="dw")
    without = normgrad.rms_norm_backward(dy, x, weight=w)  # rstd from x, without eps
    e = Exact(*wide(x, w, np.zeros(50), dy), (1,), 0.0, centred=False, parameter_axes=0)
    assert_within(without[0], e.dx, e.dx_scale, dtype, dtype, what="dx")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [1, -1])
def test_batch_norm(dtype, axis):
    x, dy = data(dtype, (6, 5, 4, 9), (6, 5, 4, 9))
    channels = x.shape[axis]
    w, b = data("float32", channels, channels)
    running_mean, running_var = np.zeros(channels, np.float32), np.ones(channels, np.float32)
    y, mean, rstd = normgrad.batch_norm(x, w, b, running_mean, running_var, momentum=0.25, channel_axis=axis)
    dx, dw, db = normgrad.batch_norm_backward(dy, x, mean, rstd, w, channel_axis=axis)
    axes = tuple(d for d in range(4) if d != axis % 4)
    along = [1] * 4
    along[axis] = channels
    x64, w64, b64, dy64 = wide(x, w.reshape(along), b.reshape(along), dy)
    e = Exact(x64, w64, b64, dy64, axes, 1e-5, parameter_axes=axes)
    assert_within(y, e.y, e.y_scale, dtype, dtype, what="y")
    assert_within(dx, e.dx, e.dx_scale, dtype, dtype, what="dx")
    assert_within(dw, e.dw, e.dw_scale, "float32", dtype, what="dw")
    assert_within(db, e.db, e.db_scale, "float32", dtype, what="db")
    assert_within(running_mean, 0.25 * e.mean.ravel(), np.abs(x64).mean(axes), "float32", "float32", what="mean")
    unbiased = e.var.ravel() * e.n / (e.n - 1)
    assert_within(running_var, 0.75 + 0.25 * unbiased, 1 + unbiased, "float32", "float32", what="var")
    # In evaluation the running statistics are constants.
    (y,) = normgrad.batch_norm(x, w, b, running_mean, running_var, training=False, channel_axis=axis)
    given = wide(running_mean.reshape(along), running_var.reshape(along))
    e = Exact(x64, w64, b64, dy64, axes, 1e-5, parameter_axes=axes, statistics=given)
    assert_within(y, e.y, e.y_scale, dtype, dtype, what="y")
    dx, dw, db = normgrad.batch_norm_backward(dy, x, *(s.ravel() for s in (e.mean, e.rstd)), w, False, channel_axis=axis)
    assert_within(dx, e.dx, e.dx_scale, dtype, dtype, what="dx")
    assert_within(dw, e.dw, e.dw_scale, "float32", dtype, what="dw")
    assert_within(db, e.db, e.db_scale, "float32", dtype, what="db")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("counts", [np.int32, np.int64, np.uint8, np.float32, np.float64], ids=lambda t: t.__name__)
def test_the_halves_of_a_batch_make_the_whole(dtype, counts):
    x, dy = data(dtype, (7, 3, 5), (7, 3, 5))
    (w,) = data("float32", 3)
    x64, w64, dy64 = wide(x, w.reshape(1, 3, 1), dy)
    e = Exact(x64, w64, 0.0, dy64, (0, 2), 1e-5, parameter_axes=(0, 2))
    _, mean, rstd = normgrad.batch_norm(x, w)
    parts = [slice(0, 2), slice(2, 7)]
    sums = [normgrad.batch_norm_reduce(dy[p], x[p], mean, rstd) for p in parts]
    for p, got in zip(parts, sums):
        x_mu = (x64 - e.mean)[p]
        terms = {"sum_dy": dy64[p], "sum_dy_xmu": dy64[p] * x_mu, "dw": dy64[p] * x_mu * e.rstd, "db": dy64[p]}
        for (name, term), value in zip(terms.items(), got):
            assert_within(value, term.sum((0, 2)), np.abs(term).sum((0, 2)), "float64", dtype, what=name)
    sum_dy, sum_dy_xmu = sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]
    halves = [
        normgrad.batch_norm_elemt_backward(dy[p], x[p], mean, rstd, w, sum_dy, sum_dy_xmu, np.array([10, 25], counts))
        for p in parts
    ]
    assert_within(np.concatenate([wide(h)[0] for h in halves]), e.dx, e.dx_scale, dtype, dtype, what="dx")


def test_counts_from_dlpack():
    x, mean, rstd, sums = np.float32([[1, 2], [3, 5]]), np.zeros(2), np.ones(2), np.ones(2)
    got, expected = (normgrad.batch_norm_elemt_backward(x, x, mean, rstd, None, sums, sums, counts)
                     for counts in (Foreign(np.array([4])), np.float64([4])))
    np.testing.assert_array_equal(got, expected)


def test_strides_are_respected():
    x = np.asarray(rng.normal(size=(40, 20)), np.float32)
    view = x[::-2, 3:17]
    packed = np.ascontiguousarray(view)
    for a, b in zip(normgrad.layer_norm(view), normgrad.layer_norm(packed)):
        np.testing.assert_array_equal(a, b)
    # Channels-last, with gaps and backwards: the bits of the same without. Row-major, sums have another order.
    pixels = x.reshape(5, 8, 20)[:, ::-1, 3:17]
    channels_last, packed = pixels.transpose(0, 2, 1), np.ascontiguousarray(pixels).transpose(0, 2, 1)
    results = [normgrad.batch_norm(a) for a in (channels_last, packed, packed.copy())]
    for a, b, row_major in zip(*results):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, row_major, rtol=2e-6, atol=1e-6)


def test_read_only_inputs():
    for dtype in DTYPES:
        (x,) = data(dtype, (3, 8))
        expected = normgrad.rms_norm(x)[0].copy()
        x.flags.writeable = False
        np.testing.assert_array_equal(normgrad.rms_norm(x)[0].view(np.uint8), expected.view(np.uint8))


def all_calls(x):
    """Every function, with data like x: what it is called with but for out, by name."""
    dy = (x[::-1] * 2).astype(x.dtype)
    w, b = (np.linspace(lo, 2, x.shape[1]).astype(x.dtype) for lo in (-1, 0.5))
    rows, channels = x.shape[:-1], x.shape[1]
    statistics = {"rows": (np.full(rows, 0.25), np.full(rows, 1.5)), "channels": (np.full(channels, 0.25), np.full(channels, 1.5))}
    sums = np.linspace(-3, 3, channels), np.linspace(2, 5, channels)
    running = np.float32([0.5] * channels), np.float32([2] * channels)
    counts = np.float32([x.size / max(channels, 1)])
    return {
        "layer_norm": (normgrad.layer_norm, (x, w, b)),
        "layer_norm_backward": (normgrad.layer_norm_backward, (dy, x, *statistics["rows"], w)),
        "rms_norm": (normgrad.rms_norm, (x, w)),
        "rms_norm_backward": (normgrad.rms_norm_backward, (dy, x, statistics["rows"][1], w)),
        "batch_norm": (normgrad.batch_norm, (x, w, b)),
        "batch_norm, evaluation": (normgrad.batch_norm, (x, w, b, *running, False)),
        "batch_norm_backward": (normgrad.batch_norm_backward, (dy, x, *statistics["channels"], w)),
        "batch_norm_reduce": (normgrad.batch_norm_reduce, (dy, x, *statistics["channels"])),
        "batch_norm_elemt_backward": (normgrad.batch_norm_elemt_backward, (dy, x, *statistics["channels"], w, *sums, counts)),
    }


CALLS = list(all_calls(np.ones((1, 1), np.float32)))


def with_gaps(like):
    """Of 77, which no result is; the elements of a row lie together."""
    room = np.full((*like.shape[:-1], 2 * like.shape[-1]), 77).astype(like.dtype)
    return room[::2] if room.ndim == 1 else room[..., : like.shape[-1]]


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_out_is_written_and_returned(name, dtype):
    (x,) = data(dtype, (9, 9))
    call, arguments = all_calls(x)[name]
    expected = as_tuple(call(*arguments))
    for wanted in [{i} for i in range(len(expected))] + [set(range(len(expected)))]:
        out = tuple(with_gaps(e) if i in wanted else None for i, e in enumerate(expected))
        got = as_tuple(call(*arguments, out=out))
        for i, (g, e) in enumerate(zip(got, expected)):
            assert i not in wanted or g is out[i]
            assert g.dtype == e.dtype
            np.testing.assert_array_equal(wide(g), wide(e), err_msg=f"{name}, result {i}")


@pytest.mark.parametrize("name", [n for n in CALLS if n != "batch_norm_reduce"])
def test_in_place(name):
    (x,) = data("float32", (9, 9))
    expected = as_tuple(all_calls(x)[name][0](*all_calls(x)[name][1]))
    call, arguments = all_calls(x.copy())[name]
    got = as_tuple(call(*arguments, out=(arguments[0], *[None] * (len(expected) - 1))))
    assert got[0] is arguments[0]
    for g, e in zip(got, expected):
        np.testing.assert_array_equal(g, e)


EMPTY = [(n, s) for n in CALLS for s in ((0, 9), (9, 0), (0, 9, 4), (3, 9, 0)) if len(s) == 2 or n.startswith("batch")]


@pytest.mark.parametrize("name,shape", EMPTY)
def test_without_elements(name, shape):
    """Sums over nothing are 0; what is as large as the data is empty."""
    call, arguments = all_calls(np.ones(shape, np.float32))[name]
    results = as_tuple(call(*arguments))
    assert name == "batch_norm_reduce" or results[0].shape == shape
    if "backward" in name or "reduce" in name:
        assert not any(r.any() for r in results)


def test_statistics_in_place_of_rows_of_one_element():
    x, w, b = np.float32([[3], [-5], [0.5]]), np.float32([2]), np.float32([0.25])
    for call, results in ((lambda x, out: normgrad.layer_norm(x, w, b, 0.25, out=out), 3),
                          (lambda x, out: normgrad.rms_norm(x, w, 0.25, out=out), 2)):
        expected = [r.reshape(3, 1) for r in wide(*call(x, None))]
        for place in range(results):
            in_place = x.copy()
            got = call(in_place, tuple(in_place if i == place else None for i in range(results)))
            assert got[place] is in_place
            for i in range(results):
                value = wide(got[i])[0].reshape(3, 1)
                np.testing.assert_array_equal(value, expected[i].astype(np.float32) if i == place else expected[i])


def test_dlpack():
    x = np.asarray(rng.normal(size=(3, 8)), np.float32)
    np.testing.assert_array_equal(normgrad.rms_norm(Foreign(x))[0], normgrad.rms_norm(x)[0])


def test_bits_do_not_depend_on_threads():
    x, dy = data("bfloat16", (300, 257), (300, 257))
    try:
        results = []
        for threads in (1, 2, 3):
            assert normgrad.set_num_threads(threads) == threads
            y, mean, rstd = normgrad.layer_norm(x)
            results.append([a.tobytes() for a in (y, *normgrad.layer_norm_backward(dy, x, mean, rstd))])
        assert results[0] == results[1] == results[2]
    finally:
        normgrad.set_num_threads(0)


def test_the_gil_is_released():
    """While one call computes, another thread's Python code runs: it would wait for the GIL's switch interval otherwise."""
    x = np.asarray(rng.normal(size=(4000, 1000)), np.float32)
    started, seen_inside = threading.Event(), []

    def watch():
        started.wait(60)
        for _ in range(1000):
            seen_inside.append(computing)

    computing = False
    interval = sys.getswitchinterval()
    sys.setswitchinterval(600)  # nobody takes the GIL away: it must be given
    watcher = threading.Thread(target=watch, daemon=True)
    try:
        watcher.start()
        started.set()
        computing = True
        for _ in range(5):
            normgrad.layer_norm(x)
        computing = False
    finally:
        sys.setswitchinterval(interval)
    watcher.join(60)
    assert any(seen_inside)


# Of f32 they have the bits of copies, as inputs and as outputs.
@pytest.mark.parametrize("view", [lambda x: x.T, lambda x: x[:, ::-1], lambda x: x[:, ::2]])
def test_rows_of_any_strides(view):
    x = view(np.random.default_rng(1).normal(size=(9, 12)).astype(np.float32))
    expected = normgrad.layer_norm(x.copy())
    y = view(np.zeros((9, 12), np.float32))
    for got in normgrad.layer_norm(x), normgrad.layer_norm(x, out=(y, None, None)):
        for a, b in zip(got, expected):
            np.testing.assert_array_equal(a, b)
    dx, dw, db = normgrad.layer_norm_backward(x, x, *expected[1:])
    for got, right in zip((dx, dw, db), normgrad.layer_norm_backward(x.copy(), x.copy(), *expected[1:])):
        np.testing.assert_array_equal(got, right)


REFUSALS = [
    (lambda x: normgrad.layer_norm("abc"), TypeError, "x is of type str, but must be an array"),
    (lambda x: normgrad.layer_norm(None), TypeError, "x is missing"),
    (lambda x: normgrad.layer_norm(x.astype(np.float64)), TypeError, "x is f64, but must be f16, bf16 or f32"),
    (lambda x: normgrad.layer_norm(x.astype(np.int64)), TypeError, "x is a type that is none of f16, bf16, f32"),
    (lambda x: normgrad.layer_norm(x, x), ValueError, "weight has shape (3, 8), but must have shape (8)"),
    (lambda x: normgrad.layer_norm(x, out=x), TypeError, "out is of type ndarray, but must be a tuple of 3 arrays"),
    (lambda x: normgrad.layer_norm(x, out=(x,)), ValueError, "out has 1 entries, but there are 3 results"),
    (lambda x: normgrad.rms_norm(x, out=(x[:2], None)), ValueError, "y has shape (2, 8), but must have the shape of x"),
    (lambda x: normgrad.rms_norm(x, out=(np.broadcast_to(x[0], (3, 8)), None)), ValueError, "y is read-only"),
    (lambda x: normgrad.rms_norm(x[:2], out=(x[1:], None)), ValueError, "y overlaps x"),
    (lambda x: normgrad.batch_norm(x, channel_axis=2), ValueError, "the channel axis is 2, but x has rank 2"),
    (lambda x: normgrad.batch_norm_backward(x, x[:2], x[0], x[0]), ValueError, "must have the shape of"),
    (lambda x: normgrad.batch_norm_backward(x, x, None, x[0]), TypeError, "mean is missing"),
    (lambda x: normgrad.batch_norm_backward(x, x, x[0], None), TypeError, "rstd is missing"),
    (lambda x: normgrad.batch_norm_reduce(x, x, x[0], None), TypeError, "rstd is missing"),
    (lambda x: normgrad.batch_norm(x, training=False), TypeError, "running_mean is missing"),
    (lambda x: normgrad.batch_norm(x, running_mean=x[0], training=False), TypeError, "running_var is missing"),
    (lambda x: normgrad.rms_norm(x.reshape((1,) * 8 + (3, 8))), ValueError, "x has 10 dimensions"),
]


@pytest.mark.parametrize("case", range(len(REFUSALS)))
def test_bad_arguments_are_explained(case):
    call, error, sentence = REFUSALS[case]
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    before = x.copy()
    with pytest.raises(error) as raised:
        call(x)
    assert sentence in str(raised.value)
    np.testing.assert_array_equal(x, before)
