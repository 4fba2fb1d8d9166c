"""normgrad.torch: operators, functional forms, modules, enable()."""

import copy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bound import Exact, assert_within

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import normgrad.torch as ng  # noqa: E402

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


@pytest.fixture
def enabled():
    ng.enable()
    yield
    ng.disable()


def tensors(dtype, *shapes, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(s, generator=generator).to(DTYPES[dtype]).requires_grad_() for s in shapes]


def wide(*ts):
    return [t.detach().double().numpy() for t in ts]


def run(f, dy, *inputs):
    y = f(*inputs)
    return [t.detach() for t in (y, *torch.autograd.grad(y, inputs, dy))]


def check(got, exact, dtypes, data, names=("y", "dx", "dw", "db")):
    for t, name, dtype in zip(got, names, dtypes):
        value, scale = getattr(exact, name), getattr(exact, name + "_scale")
        assert str(t.dtype) == f"torch.{dtype}"
        assert_within(wide(t)[0], value.reshape(t.shape), scale.reshape(t.shape), dtype, data, what=name)


# Rows: one or several normalized dimensions, layouts with gaps, permuted and expanded ones.
LAYOUTS = {
    "packed": lambda t: t,
    "gaps": lambda t: F.pad(t, (0, 3))[..., : t.shape[-1]],
    "permuted": lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),
    "columns": lambda t: t.transpose(-1, -2).contiguous().transpose(-1, -2),
}
WAYS = ["functional", "enabled"]
MIXTURES = [(d, p) for d in DTYPES for p in DTYPES if p in (d, "float32")]  # parameters may also be float32


def in_new_thread(f):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(f).result()


# A thread keeps the plan of its last call: whatever differs from it asks for another.
def test_calls_that_differ_in_one_thing_are_planned_anew():
    shape = (6, 5)
    (x, other), (w, b) = (tensors("float32", shape, shape), tensors("float32", (5,), (5,), seed=2))
    calls = [
        lambda x: ng.functional.layer_norm(x, (5,), w, b, 1e-5),
        lambda x: ng.functional.layer_norm(x, (5,), w, b, 1.0),
        lambda x: ng.functional.layer_norm(x, (5,), w, None, 1.0),
        lambda x: ng.functional.layer_norm(x, (5,), None, None, 1.0),
        lambda x: ng.functional.layer_norm(x[:3], (5,), None, None, 1.0),
        lambda x: ng.functional.layer_norm(x[::2], (5,), None, None, 1.0),
        lambda x: ng.functional.layer_norm(x.bfloat16(), (5,), None, None, 1.0),
        lambda x: ng.functional.layer_norm(x.unflatten(0, (2, 3)), (3, 5), None, None, 1.0),
    ]
    fresh = [in_new_thread(lambda call=call: call(x)) for call in calls]
    for order in (range(len(calls)), reversed(range(len(calls)))):
        for i in order:
            calls[i](other)  # the same plan with other addresses
            with pytest.raises(RuntimeError, match="must be f16, bf16 or f32"):
                ng.functional.layer_norm(x, (5,), w.double(), b, 1.0)  # has no plan
            assert torch.equal(calls[i](x), fresh[i])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("data,parameters", MIXTURES)
@pytest.mark.parametrize("dims", [1, 2])
def test_layer_norm(way, layout, parameters, data, dims, request):
    if way == "enabled":
        request.getfixturevalue("enabled")
    f = F.layer_norm if way == "enabled" else ng.functional.layer_norm
    shape = (6, 5, 7, 11)
    x, dy = (LAYOUTS[layout](t.detach()) for t in tensors(data, shape, shape))
    w, b = tensors(parameters, shape[-dims:], shape[-dims:], seed=2)
    got = run(lambda x, w, b: f(x, shape[-dims:], w, b, 1e-5), dy, x.requires_grad_(), w, b)
    exact = Exact(*wide(x, w, b, dy), tuple(range(4 - dims, 4)), 1e-5, parameter_axes=tuple(range(4 - dims)))
    check(got, exact, (data, data, parameters, parameters), data)


# torch takes no kernel, and so not ours, for an input and a weight of different types.
@pytest.mark.parametrize("way,data,parameters", [(w, d, p) for w in WAYS for d, p in MIXTURES if w != "enabled" or d == p])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rms_norm(way, layout, parameters, data, request):
    if way == "enabled":
        request.getfixturevalue("enabled")
    f = F.rms_norm if way == "enabled" else ng.functional.rms_norm
    shape = (6, 5, 7, 11)
    x, dy = (LAYOUTS[layout](t.detach()) for t in tensors(data, shape, shape))
    (w,) = tensors(parameters, 11, seed=2)
    got = run(lambda x, w: f(x, (11,), w, 1e-6), dy, x.requires_grad_(), w)
    exact = Exact(*wide(x, w), 0.0, wide(dy)[0], (3,), 1e-6, centred=False, parameter_axes=(0, 1, 2))
    check(got, exact, (data, data, parameters), data)


@pytest.mark.parametrize("data,parameters", [(d, p) for d in (*DTYPES, "float64") for p in (*DTYPES, "float64") if d != p])
def test_rms_norm_takes_every_type_of_weight_that_torchs_does(data, parameters):
    types = {**DTYPES, "float64": torch.float64}
    x, dy = (torch.randn(5, 8).to(types[data]) for _ in range(2))
    own, ours = nn.RMSNorm(8, dtype=types[parameters]), ng.RMSNorm(8, dtype=types[parameters])
    expected, got = (run(lambda x, w: m(x), dy, x.requires_grad_(), m.weight) for m in (own, ours))
    for g, e in zip(got, expected):
        assert g.dtype == e.dtype
        torch.testing.assert_close(g, e)  # what the type of the result resolves
    assert torch.equal(got[0], ng.functional.rms_norm(x, (8,), ours.weight))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", ["packed", "gaps", "columns", "channels_last"])
@pytest.mark.parametrize("data,parameters", MIXTURES)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(way, layout, parameters, data, training, request):
    if way == "enabled":
        request.getfixturevalue("enabled")
    f = F.batch_norm if way == "enabled" else ng.functional.batch_norm
    shape = (6, 5, 7, 11)
    lay = (lambda t: t.contiguous(memory_format=torch.channels_last)) if layout == "channels_last" else LAYOUTS[layout]
    x, dy = (lay(t.detach()) for t in tensors(data, shape, shape))
    w, b = tensors(parameters, 5, 5, seed=2)
    running = torch.linspace(-1, 1, 5), torch.linspace(0.5, 2, 5)
    if layout == "channels_last":
        y = f(x, *[r.clone() for r in running], w, b, training)
        assert y.is_contiguous(memory_format=torch.channels_last)
    old = [wide(r)[0] for r in running]
    got = run(lambda x, w, b: f(x, *running, w, b, training, 0.25, 1e-5), dy, x.requires_grad_(), w, b)
    along = (1, 5, 1, 1)
    x64, w64, b64, dy64 = wide(x, w.reshape(along), b.reshape(along), dy)
    given = None if training else [r.reshape(along) for r in old]
    exact = Exact(x64, w64, b64, dy64, (0, 2, 3), 1e-5, parameter_axes=(0, 2, 3), statistics=given)
    check(got, exact, (data, data, parameters, parameters), data)
    if training:
        unbiased = exact.var.ravel() * exact.n / (exact.n - 1)
        for r, o, new in zip(wide(*running), old, (exact.mean.ravel(), unbiased)):
            assert_within(r, 0.75 * o + 0.25 * new, np.abs(o) + 1, "float32", "float32", what="running")
    else:
        assert all((r == o).all() for r, o in zip(wide(*running), old))


@pytest.mark.parametrize("way", WAYS)
def test_float64_is_torchs_own(way, request):
    if way == "enabled":
        request.getfixturevalue("enabled")
    f = F if way == "enabled" else ng.functional
    x, w, b, dy = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((6, 5), 5, 5, (6, 5)))
    for call in (lambda m, x, w, b: m.layer_norm(x, (5,), w, b), lambda m, x, w, b: m.rms_norm(x, (5,), w) + b,
                 lambda m, x, w, b: m.batch_norm(x, None, None, w, b, True),
                 lambda m, x, w, b: m.batch_norm(x, torch.zeros(5).double(), torch.ones(5).double(), w, b)):
        got = run(lambda *t: call(f, *t), dy, x, w, b)
        if way == "enabled":
            ng.disable()
        expected = run(lambda *t: call(F, *t), dy, x, w, b)
        if way == "enabled":
            ng.enable()
        for a, e in zip(got, expected):
            torch.testing.assert_close(a, e, rtol=1e-12, atol=1e-12)


def test_bf16_weight_gradient_of_many_rows(enabled):
    """torch's own is off by some 9 %."""
    x, w, b, dy = tensors("bfloat16", (16384, 256), 256, 256, (16384, 256))

    def error():
        dw = run(lambda x, w, b: F.layer_norm(x, (256,), w, b), dy, x, w, b)[2].double()
        exact = Exact(*wide(x, w, b, dy), (1,), 1e-5, parameter_axes=0).dw
        return np.linalg.norm(dw.numpy() - exact) / np.linalg.norm(exact)

    ours = error()
    ng.disable()
    print(f"relative error of dw, bf16 LayerNorm with 16384 rows: normgrad {ours:.1e}, torch {error():.1e}")
    assert ours <= 2e-3


def arguments_of(dtype, lay):
    """Of every operator, its inputs laid out by `lay`."""
    x, dy, xc, dyc = (lay(torch.randn(4, 6, 5, 8, generator=torch.Generator().manual_seed(i)).to(dtype)) for i in range(4))
    w, b, wc, bc = (torch.linspace(-1, 2, n).to(dtype) for n in (8, 8, 6, 6))
    inputs = [t.requires_grad_() for t in (x.clone(), w.clone(), b.clone(), xc.clone(), wc.clone(), bc.clone())]
    gx, gw, gb, gxc, gwc, gbc = inputs
    f64 = dict(dtype=torch.float64)
    mean, rstd, m, s = torch.zeros(4, 6, 5, 1, **f64), torch.ones(4, 6, 5, 1, **f64), torch.zeros(6, **f64), torch.ones(6, **f64)
    layer, channels, count = (dy, x, [8], mean, rstd, w, b), (dyc, xc, m, s, wc), torch.tensor([160.0])
    running = (torch.zeros(6, dtype=dtype), torch.ones(6, dtype=dtype))
    masks = [[i != 0, i != 1, i != 2] for i in range(4)]  # without one each, and all
    return {
        "native_layer_norm": [(gx, [8], gw, gb, 1e-5), (gx, [5, 8], None, None, 1e-5), (x, [8], gw, gb, 1e-5)],
        "native_layer_norm_backward": [(*layer, mask) for mask in masks] + [(*layer[:5], None, None, [True, False, False])],
        "_fused_rms_norm": [(gx, [8], gw, 1e-6), (gx, [8], None, None), (x, [5, 8], None, 1e-6)],
        "_fused_rms_norm_backward": [(dy, x, [8], rstd, w, [i != 0, i != 1]) for i in range(3)],
        "batch_norm_training": [(gxc, gwc, gbc, 1e-5), (gxc, None, None, 1e-5), (xc, gwc, gbc, 1e-5)],
        "batch_norm_inference": [(gxc, gwc, gbc, *running, 1e-5), (xc, None, None, None, None, 1e-5)],
        "native_batch_norm_backward": [(dyc, xc, wc, None, None, m, s, True, 1e-5, mask) for mask in masks]
        + [(dyc, xc, wc, *running, None, None, False, 1e-5, mask) for mask in masks],
        "batch_norm_stats": [(xc, 1e-5)],
        "batch_norm_elemt": [(xc, wc, bc, m, s, 1e-5), (xc, None, None, m, s, 1e-5)],
        "batch_norm_backward_reduce": [(*channels, i != 0, i != 1, i != 2) for i in range(4)],
        "batch_norm_backward_elemt": [(*channels, m.clone(), m.clone(), count)],
    }


def arguments():
    return arguments_of(torch.float32, LAYOUTS["packed"])


def test_every_operator_is_under_opcheck():
    assert set(arguments()) == set(ng._operators.OPS)


OPCHECKED = {
    "float32": (torch.float32, LAYOUTS["packed"]),
    "bfloat16, channels-last": (torch.bfloat16, lambda t: t.contiguous(memory_format=torch.channels_last)),
    "float32, permuted": (torch.float32, LAYOUTS["permuted"]),
    "float64, permuted": (torch.float64, LAYOUTS["permuted"]),
    "float64, channels-last": (torch.float64, lambda t: t.contiguous(memory_format=torch.channels_last)),
}


@pytest.mark.parametrize("kind", OPCHECKED)
@pytest.mark.parametrize("name", arguments())
def test_opcheck(name, kind):
    for args in arguments_of(*OPCHECKED[kind])[name]:
        torch.library.opcheck(getattr(torch.ops.normgrad, name).default, args)


@pytest.mark.parametrize("name", arguments())
def test_every_operator_compiles_to_one_graph(name):
    op = getattr(torch.ops.normgrad, name).default
    for kind in OPCHECKED:
        torch._dynamo.reset()  # else one lambda is compiled again and again, until there is a limit
        args = [a.detach() if isinstance(a, torch.Tensor) else a for a in arguments_of(*OPCHECKED[kind])[name][0]]
        compiled = torch.compile(lambda *a: op(*a), fullgraph=True, backend="aot_eager")
        got, expected = (torch.utils._pytree.tree_leaves(f(*args)) for f in (compiled, op))
        for g, e in zip(got, expected):
            assert g is e or (torch.equal(g, e) and g.stride() == e.stride())


@pytest.mark.parametrize("kind", ["float32, permuted", "float64, permuted"])
def test_compiled_functions_have_their_gradients(kind):
    """Through inductor, which asserts the strides that an operator promises."""
    torch._dynamo.reset()
    dtype, lay = OPCHECKED[kind]
    calls = [
        lambda x, w, b: ng.functional.layer_norm(x, (8,), w, b),
        lambda x, w, b: ng.functional.rms_norm(x, (8,), w) + b,
        lambda x, w, b: ng.functional.batch_norm(x.transpose(1, 3), None, None, w, b, True),
    ]
    for call in calls:
        x, dy = (lay(torch.randn(4, 6, 5, 8).to(dtype)) for _ in range(2))
        inputs = [x, torch.linspace(-1, 2, 8).to(dtype), torch.linspace(0, 1, 8).to(dtype)]
        dy = dy.transpose(1, 3) if call is calls[2] else dy
        expected, got = (run(f, dy, *[t.clone().requires_grad_() for t in inputs])
                         for f in (call, torch.compile(call, fullgraph=True)))
        for g, e in zip(got, expected):
            torch.testing.assert_close(g, e)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3)
        self.bn = nn.BatchNorm2d(6)
        self.ln = nn.LayerNorm(6)
        self.rms = nn.RMSNorm(6)
        self.bn1 = nn.BatchNorm1d(6, momentum=None)

    def forward(self, x):
        x = self.bn(self.conv(x)).relu().mean((2, 3))
        return self.bn1(self.rms(self.ln(x)))


def losses(net, compiled=False):
    step = torch.compile(net, fullgraph=True) if compiled else net
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(8, 3, 9, 9, generator=torch.Generator().manual_seed(5))
    out = []
    for _ in range(3):
        loss = step(x).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


def test_converted_modules_train_as_torchs():
    torch.manual_seed(0)
    net = Net()
    ours = ng.convert(copy.deepcopy(net))
    assert isinstance(ours.bn, ng.BatchNorm2d) and isinstance(ours.rms, ng.RMSNorm)
    assert ours.state_dict().keys() == net.state_dict().keys()
    assert losses(ours) == pytest.approx(losses(net), rel=1e-4)
    for (name, a), b in zip(net.state_dict().items(), ours.state_dict().values()):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, msg=name)
    ours.eval(), net.eval()
    x = torch.randn(2, 3, 9, 9)
    torch.testing.assert_close(ours(x), net(x), rtol=1e-4, atol=1e-5)


def test_sync_batch_norm_of_other_devices_is_torchs(monkeypatch):
    seen = []
    monkeypatch.setattr(nn.SyncBatchNorm, "forward", lambda self, x: seen.append(type(self)) or x)
    norm = ng.SyncBatchNorm(3)
    norm(torch.empty(2, 3, device="meta"))
    norm(torch.randn(2, 3))
    assert seen == [ng.SyncBatchNorm]
    monkeypatch.undo()
    norm = ng.SyncBatchNorm(3, device="meta")
    assert norm(torch.empty(2, 3, 4, device="meta")).shape == (2, 3, 4)  # all that torch's own asks of itself is there


def test_convert_sync_batchnorm():
    """As torch's, but its own come out, and are left alone where they are there."""
    kept = ng.SyncBatchNorm(6, sums_dtype=torch.float32)
    net = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.Sequential(ng.BatchNorm1d(6), kept), nn.LayerNorm(6))
    weight, group = net[1].weight, object()
    assert ng.SyncBatchNorm.convert_sync_batchnorm(net, group) is net
    assert [type(m) for m in (net[1], net[2][0], net[3])] == [ng.SyncBatchNorm, ng.SyncBatchNorm, nn.LayerNorm]
    assert net[1].weight is weight and net[1].process_group is group and net[2][1] is kept
    assert isinstance(ng.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(6)), ng.SyncBatchNorm)


def test_compiled_modules_train_as_torchs():
    torch.manual_seed(0)
    net = Net()
    net.bn1 = nn.BatchNorm1d(6)
    assert losses(ng.convert(copy.deepcopy(net)), compiled=True) == pytest.approx(losses(net), rel=1e-4)


def test_fx_and_jit_take_torchs_modules_not_ours(enabled):
    """jit's own, under enable(): test_enabled.py."""
    net, x = Net(), torch.randn(8, 3, 9, 9)
    assert torch.equal(torch.fx.symbolic_trace(copy.deepcopy(net))(x), net(x))
    ng.convert(net)
    with pytest.raises(torch.fx.proxy.TraceError):
        torch.fx.symbolic_trace(net)
    for norm in (net.bn, net.ln, net.rms):
        with pytest.raises(RuntimeError, match="Unknown type constructor|Python builtin"):
            torch.jit.script(norm)


def test_unmodified_model_with_enable():
    torch.manual_seed(0)
    net = Net()
    expected = losses(copy.deepcopy(net))
    ng.enable()
    try:
        assert ng.is_enabled()
        assert losses(copy.deepcopy(net)) == pytest.approx(expected, rel=1e-4)
    finally:
        ng.disable()
    assert losses(net) == expected


@pytest.mark.parametrize("data", ["bfloat16", "float32"])
@pytest.mark.parametrize("norm", [nn.LayerNorm(6), nn.RMSNorm(6, eps=1e-5), nn.BatchNorm1d(6)], ids=lambda m: type(m).__name__)
def test_autocast(norm, data):
    """Types as torch's own module has them; values of a module alone within the bound."""
    x, dy = tensors(data, (64, 6), (64, 6))
    w, b = tensors("float32", 6, 6, seed=2)
    norm.weight.data = w.detach()
    if (biased := not isinstance(norm, nn.RMSNorm)):
        norm.bias.data = b.detach()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        own, got = (run(lambda x, *_: m(x), dy.detach(), x, *m.parameters()) for m in (norm, ng.convert(copy.deepcopy(norm))))
    assert [t.dtype for t in got] == [t.dtype for t in own]
    rows = (0,) if isinstance(norm, nn.BatchNorm1d) else (1,)
    exact = Exact(*wide(x, w), wide(b)[0] if biased else 0.0, wide(dy)[0], rows, 1e-5, centred=biased, parameter_axes=0)
    check(got, exact, (data, data, "float32", "float32"), data)


def test_autocast_of_a_model():
    """Where torch's convolution rounds to bfloat16: no farther from float64 than twice what torch's own modules are."""
    torch.manual_seed(0)
    net, x = Net(), torch.randn(8, 3, 9, 9)
    net.conv = nn.Conv2d(3, 6, 3, bias=False)  # of which BatchNorm leaves nothing but rounding

    def results(net, x, **autocast):
        with torch.autocast("cpu", dtype=torch.bfloat16, **autocast):
            y = net(x)
            (y.to(x.dtype) * torch.linspace(-1, 1, 6, dtype=x.dtype)).square().sum().backward()
        return [y.detach(), *(p.grad for p in net.parameters())]

    own, got = results(copy.deepcopy(net), x), results(ng.convert(copy.deepcopy(net)), x)
    exact = results(copy.deepcopy(net).double(), x.double(), enabled=False)
    assert len(got) == len(own) == len(exact)
    for g, s, e in zip(got, own, exact):
        assert g.dtype == s.dtype
        assert (g - e).norm() <= 2 * (s - e).norm()


def test_threads_follow_torch():
    code = """
import torch, normgrad, normgrad.torch
for threads in (1, 2, 3):
    torch.set_num_threads(threads)
    assert normgrad.get_num_threads() == threads, (normgrad.get_num_threads(), threads)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_threads_follow_torch_in_other_threads():
    """torch's number reaches a thread when something of torch's own first asks for it there."""
    code = """
import threading, torch, normgrad, normgrad.torch as ng
import torch.nn.functional as F
x, w, seen = torch.randn(64, 8), torch.ones(64), []
calls = {
    "layer_norm": lambda: F.layer_norm(x, (8,)),
    "batch_norm": lambda: F.batch_norm(x.T, w, w),
    "functional": lambda: ng.functional.rms_norm(x, (8,)),
}
def work(name, threads):
    calls[name]()
    seen.append((name, threads, normgrad.get_num_threads()))
ng.enable()
for threads in (1, 3, 5):
    torch.set_num_threads(threads)
    for name in calls:
        thread = threading.Thread(target=work, args=(name, threads))
        thread.start()
        thread.join()
assert len(seen) == 9 and all(wanted == got for _, wanted, got in seen), seen
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_one_openmp_runtime():
    code = """
import torch, normgrad.torch
normgrad.torch.functional.rms_norm(torch.randn(1000, 1000), (1000,))
maps = open("/proc/self/maps").read().split()  # Linux, as the package
print(len({m for m in maps if "libgomp" in m or "libomp" in m or "libiomp" in m}))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=120, capture_output=True, text=True)
    assert done.stdout.strip() == "1"


def test_bits_do_not_depend_on_threads(enabled):
    x, w, b, dy = tensors("bfloat16", (1000, 300), 300, 300, (1000, 300))
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append([t.view(torch.int16).clone() for t in run(lambda *t: F.layer_norm(t[0], (300,), *t[1:]), dy, x, w, b)])
    finally:
        torch.set_num_threads(threads)
    for other in results[1:]:
        assert all(torch.equal(a, e) for a, e in zip(other, results[0]))


def layer_norm_gradients(x, mean):
    return torch.ops.normgrad.native_layer_norm_backward(x, x, [8], mean, mean + 1, torch.ones(8), None, [True, True, False])


def test_statistics_of_another_shape():
    """torch's own takes those of all rows in one dimension, however the input lies."""
    x, statistic = torch.randn(4, 6, 8), torch.linspace(-1, 1, 24).double()
    expected = layer_norm_gradients(x, statistic.reshape(4, 6, 1))
    for lay in LAYOUTS.values():
        for shape in ((24,), (4, 6), (4, 6, 1), (2, 12), (24, 1, 1, 1)):
            got = layer_norm_gradients(lay(x), statistic.reshape(shape))
            assert all(torch.equal(g, e) for g, e in zip(got[:2], expected))


def sync(x, running_mean, running_var, **more):
    """What a bad argument keeps from being exchanged: here is nobody to exchange it with."""
    return ng._sync.sync_batch_norm(x, running_mean, running_var, None, None, 0.1, 1e-5, None, **more)


REFUSALS = [
    (lambda x: ng.functional.layer_norm(x, (7,)), "must end with normalized_shape"),
    (lambda x: ng.functional.layer_norm(x, ()), "must not be empty"),
    (lambda x: ng.functional.layer_norm(x, (8,), torch.ones(7)), "weight has shape (7), but must have shape (8)"),
    (lambda x: ng.functional.layer_norm(x, (8,), torch.ones(8, dtype=torch.float64)), "weight is f64"),
    (lambda x: ng.functional.batch_norm(x, None, None, torch.ones(3), training=True), "weight has shape (3)"),
    (lambda x: torch.ops.normgrad.batch_norm_stats(x[0, 0], 1e-5), "input has shape (8), but must have rank 2 to 8"),
    (lambda x: ng.functional.batch_norm(x[:1, :, :1], None, None, training=True), "Expected more than 1 value"),
    (lambda x: torch.ops.normgrad.native_layer_norm(x, [4, 4, 6, 8], None, None, 1e-5), "must end with normalized_shape"),
    (lambda x: ng.functional.batch_norm(x, None, None), "running_mean must be defined in evaluation mode"),
    (lambda x: ng.functional.batch_norm(x, torch.zeros(6), None), "running_var must be defined in evaluation mode"),
    (lambda x: ng.functional.batch_norm(x, torch.zeros(1), torch.ones(6), training=True), "running_mean has shape (1)"),
    (lambda x: ng.functional.batch_norm(x, torch.zeros(6), torch.ones(7), training=True), "running_var has shape (7)"),
    (lambda x: ng.functional.batch_norm(x, torch.zeros(7), torch.ones(6)), "running_mean has shape (7)"),
    (lambda x: ng.BatchNorm1d(6, affine=False)(x[:, :1]), "running_mean has shape (6), but must have shape (1)"),
    (lambda x: ng.BatchNorm1d(6).double().eval()(x[:, :1].double()), "running_mean has shape (6), but must have shape (1)"),
    (lambda x: torch.ops.normgrad.batch_norm_inference(x[:, :1].double(), None, None, torch.zeros(6), None, 1e-5), "expand"),
    (lambda x: ng.functional.batch_norm(x[0, 0], torch.zeros(8), torch.ones(8), training=True), "must have rank 2 to 8"),
    (lambda x: ng.SyncBatchNorm(6, sums_dtype=torch.int64), "sums_dtype is torch.int64"),
    (lambda x: sync(x, torch.zeros(6), torch.ones(6), sums_dtype=torch.bfloat16), "sums_dtype is torch.bfloat16"),
    (lambda x: sync(x, torch.zeros(1), torch.ones(6)), "running_mean has shape (1)"),
    (lambda x: layer_norm_gradients(x, torch.ones(23).double()), "mean has shape (23)"),
    (lambda x: layer_norm_gradients(F.pad(x, (0, 1))[..., :8], torch.ones(23).double()), "mean has shape (23)"),
]


@pytest.mark.parametrize("case", range(len(REFUSALS)))
def test_bad_arguments_are_explained(case):
    call, sentence = REFUSALS[case]
    x = torch.randn(4, 6, 8)
    with pytest.raises((RuntimeError, ValueError, IndexError)) as raised:
        call(x)
    assert sentence in str(raised.value)
