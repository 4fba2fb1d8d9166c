"""Arrays that the functions for numpy and DLPack must refuse, or take although they are odd: never a crash, nothing written."""

import threading

import ml_dtypes
import numpy as np
import pytest

import normgrad

rng = np.random.default_rng(2)


def ordinary(shape=(4, 8)):
    return np.asarray(rng.normal(size=shape), np.float32)


class Foreign:
    """Has __dlpack__, and nothing else."""

    def __init__(self, give):
        self.give = give

    def __dlpack__(self):
        return self.give()


def raising(error):
    def give():
        raise error

    return Foreign(give)


def field(dtype):
    """Elements with one byte between them."""
    return np.zeros((4, 8), [("a", dtype), ("b", np.uint8)])["a"]


def used_capsule():
    capsule = ordinary().__dlpack__()
    foreign = Foreign(lambda: capsule)
    normgrad.rms_norm(foreign)
    return foreign


REFUSED = {
    "byte order": (lambda: ordinary().astype(">f4"), TypeError, "an array of >f4"),
    "objects": (lambda: ordinary().astype(object), TypeError, "an array of object"),
    "structures": (lambda: np.zeros((4, 8), [("a", np.float32)]), TypeError, "but must be of float16"),
    "long double": (lambda: ordinary().astype(np.longdouble), TypeError, "but must be of float16"),
    "8 bits": (lambda: ordinary().astype(ml_dtypes.float8_e5m2), TypeError, "an array of float8_e5m2"),
    "complex": (lambda: ordinary().astype(np.complex64), TypeError, "but must be f16, bf16 or f32"),
    "bool": (lambda: ordinary() > 0, TypeError, "but must be f16, bf16 or f32"),
    "dates": (lambda: np.zeros((4, 8), "M8[s]"), TypeError, "but must be of float16"),
    "a mask": (lambda: np.ma.array(ordinary(), mask=True), TypeError, "is a masked array"),
    "gaps of a byte": (lambda: field(np.float32), ValueError, "strides of (40, 5) bytes, but elements of 4"),
    "gaps of a byte, bf16": (lambda: field(ml_dtypes.bfloat16), ValueError, "strides of (24, 3) bytes, but elements of 2"),
    "a scalar": (lambda: np.float32(1), ValueError, "x "),
    "rank 0": (lambda: np.array(1, np.float32), ValueError, "x "),
    "a list": (lambda: [[1.0, 2.0]], TypeError, "is of type list"),
    "bytes": (lambda: b"12345678", TypeError, "but must be f16, bf16 or f32"),
    "no capsule": (lambda: Foreign(lambda: 5), TypeError, "gives no capsule"),
    "a used capsule": (used_capsule, TypeError, "was used before"),
    "trouble": (lambda: raising(KeyError("mine")), TypeError, "whose __dlpack__ failed: 'mine'"),
    "a type error": (lambda: raising(TypeError("mine")), TypeError, "whose __dlpack__ failed: mine"),
    "not that": (lambda: raising(KeyboardInterrupt()), KeyboardInterrupt, ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_as_input(case):
    make, error, sentence = REFUSED[case]
    y = np.full((4, 8), 7, np.float32)
    for call in (lambda bad: normgrad.rms_norm(bad, out=(y, None)),
                 lambda bad: normgrad.rms_norm_backward(ordinary(), bad, out=(y, None))):
        with pytest.raises(error) as raised:
            call(make())
        assert sentence in str(raised.value)
    assert (y == 7).all()


AS_OUTPUT = ["byte order", "objects", "structures", "long double", "complex", "a mask", "gaps of a byte",
             "a list", "bytes", "no capsule", "a used capsule", "trouble"]


@pytest.mark.parametrize("case", AS_OUTPUT)
def test_refused_as_output(case):
    bad = REFUSED[case][0]()
    before = bad.copy() if isinstance(bad, np.ndarray) else bad
    with pytest.raises((TypeError, ValueError), match="^y "):
        normgrad.rms_norm(ordinary(), out=(bad, None))
    if isinstance(bad, np.ndarray):
        assert bad.tobytes() == before.tobytes()


def test_outputs_that_overlap_themselves():
    for strides in ((0, 4), (8, 4)):
        memory = np.zeros(64, np.float32)
        y = np.lib.stride_tricks.as_strided(memory, (4, 8), strides)
        with pytest.raises(ValueError, match="overlaps itself"):
            normgrad.rms_norm(ordinary(), out=(y, None))
        assert not memory.any()


def test_outputs_that_overlap_others():
    x, w, one = ordinary(), ordinary(8), np.zeros(4)
    before = x.copy()
    with pytest.raises(ValueError, match="mean and rstd overlap"):
        normgrad.layer_norm(x, out=(None, one, one))
    with pytest.raises(ValueError, match="dw overlaps dy"):
        normgrad.rms_norm_backward(x, ordinary(), None, w, out=(None, x[0]))
    with pytest.raises(ValueError, match="running_mean and running_var overlap"):
        normgrad.batch_norm(x, None, None, w, w)
    assert (x == before).all() and not one.any()


def test_gigantic_arrays_of_one_element():
    huge = np.broadcast_to(np.float32(1), (2**30, 2**30))
    for call in (lambda: normgrad.rms_norm(huge), lambda: normgrad.batch_norm(huge),
                 lambda: normgrad.batch_norm_reduce(huge, huge, huge[0], huge[0], channel_axis=0, out=[np.zeros(1)] * 4)):
        with pytest.raises((MemoryError, ValueError)):
            call()
    # torch's may be larger than memory has addresses
    torch = pytest.importorskip("torch")
    with pytest.raises((MemoryError, ValueError, OverflowError)):
        normgrad.rms_norm(torch.ones(1).expand(2**31 - 1, 2**31 - 1))


def test_odd_but_right():
    x = ordinary()
    expected = normgrad.rms_norm(x)[0]
    shifted = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)
    shifted[:] = x
    result = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(x.shape)

    class Sub(np.ndarray):
        pass

    assert not shifted.flags.aligned
    for odd in (shifted, x.view(Sub), memoryview(x), Foreign(x.__dlpack__), np.asfortranarray(x.T).T):
        np.testing.assert_array_equal(normgrad.rms_norm(odd)[0], expected)
        assert normgrad.rms_norm(odd, out=(result, None))[0] is result
        np.testing.assert_array_equal(result, expected)
    for y, e in zip(normgrad.batch_norm(x[:, ::-1]), normgrad.batch_norm(x[:, ::-1].copy())):
        np.testing.assert_array_equal(y, e)


def test_torchs_tensors():
    torch = pytest.importorskip("torch")
    x = torch.randn(4, 8)
    y = torch.empty(4, 8)
    assert normgrad.rms_norm(x, out=(y, None))[0] is y
    np.testing.assert_array_equal(normgrad.rms_norm(x.numpy())[0], y.numpy())
    before = x.clone()
    for bad, sentence in [
        (x.clone().requires_grad_(), "require gradient"), (torch._neg_view(x), "resolve_neg"), (x.to("meta"), "meta"),
        (x.to_sparse(), "torch.strided"), (torch.view_as_complex(x.view(4, 4, 2)).conj(), "conjugate"),
    ]:
        with pytest.raises(TypeError, match=sentence):
            normgrad.rms_norm(bad)
        with pytest.raises(TypeError, match=sentence):
            normgrad.rms_norm(ordinary(), out=(bad, None))
    assert torch.equal(x, before)


def test_bad_numbers():
    x = ordinary()
    for call in (lambda: normgrad.rms_norm(x, eps="a"), lambda: normgrad.rms_norm(x, eps=10**400),
                 lambda: normgrad.batch_norm(x, channel_axis=2**40), lambda: normgrad.set_num_threads(2**40),
                 lambda: normgrad.rms_norm(x, unknown=1), lambda: normgrad.rms_norm()):
        with pytest.raises(TypeError):
            call()
    for axis in (-3, 2, -(2**31)):
        with pytest.raises(ValueError, match="the channel axis is"):
            normgrad.batch_norm(x, channel_axis=axis)


def test_many_threads_at_once():
    x, dy, w = ordinary((64, 200)), ordinary((64, 200)), ordinary(200)

    def work():
        y, rstd = normgrad.rms_norm(x, w)
        return b"".join(a.tobytes() for a in (y, rstd, *normgrad.rms_norm_backward(dy, x, rstd, w)))

    expected, wrong = work(), []

    def many():
        wrong.extend(i for i in range(50) if work() != expected)
        wrong.append("done")

    threads = [threading.Thread(target=many) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert wrong == ["done"] * 8
