"""What models do beside plain training, under enable(): as torch does it, and as right."""

import copy
import os
import shutil
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
import torch.autograd.forward_ad as forward_ad  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import normgrad.torch as ng  # noqa: E402


@pytest.fixture(autouse=True)
def enabled():
    ng.enable()
    yield
    ng.disable()


# Functions of x (4, 6, 8) and parameters.
FUNCTIONS = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (8,), w, b), (8, 8)),
    "layer_norm, weight alone": (lambda x, w: F.layer_norm(x, (8,), w), (8,)),
    "layer_norm, bias alone": (lambda x, b: F.layer_norm(x, (8,), None, b), (8,)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (8,), w, 1e-6), (8,)),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (6, 6)),
    "batch_norm, no parameters": (lambda x: F.batch_norm(x, None, None, training=True), ()),
    "batch_norm, evaluation": (
        lambda x, w: F.batch_norm(x, w.detach() * 0, w.detach().abs() + 1, w), (6,)
    ),
    "instance_norm": (lambda x, w, b: F.instance_norm(x, None, None, w, b), (6, 6)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (6, 6)),
}


def arguments(name, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(s, generator=generator).to(dtype) for s in ((4, 6, 8), *FUNCTIONS[name][1])]


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


def second_order(f, *args):
    args = [a.clone().requires_grad_() for a in args]
    grads = torch.autograd.grad(f(*args).pow(3).sum(), args, create_graph=True)
    return torch.autograd.grad(sum(g.square().sum() for g in grads), args, allow_unused=True)


WAYS = {
    "second order": second_order,
    "jvp": lambda f, *a: torch.func.jvp(f, tuple(a), tuple(torch.cos(t) for t in a)),
    "grad": lambda f, *a: torch.func.grad(lambda *t: f(*t).pow(3).sum(), argnums=tuple(range(len(a))))(*a),
    "jacrev": lambda f, *a: torch.func.jacrev(lambda x: f(x, *a[1:]).sum(-1))(a[0]),
    "jacfwd": lambda f, *a: torch.func.jacfwd(lambda x: f(x, *a[1:]).sum(-1))(a[0]),
    "hessian": lambda f, *a: torch.func.hessian(lambda x: f(x, *a[1:]).pow(3).sum())(a[0]),
    "vmap": lambda f, *a: torch.func.vmap(f)(*(torch.stack([t, 2 * t]) for t in a)),
    "vmap of grad": lambda f, *a: torch.func.vmap(torch.func.grad(lambda x: f(x, *a[1:]).pow(3).sum()))(
        torch.stack([a[0], 2 * a[0]])
    ),
}


# Both compute in float32 from the same formulas, and torch's own error is measured: ours may be no more than four times that,
# or the same multiple of float32's resolution at the largest result.
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*", "ignore:.*performance drop.*")
def test_transforms(name, way):
    f = FUNCTIONS[name][0]
    args = arguments(name)
    if (name, way) == ("layer_norm, bias alone", "second order"):  # torch's own formula fails, with and without us
        for switch in (ng.enable, ng.disable):
            switch()
            with pytest.raises(RuntimeError, match="got None"):
                WAYS[way](f, *args)
        return
    got = leaves(WAYS[way](f, *args))
    ng.disable()
    own = leaves(WAYS[way](f, *args))
    exact = leaves(WAYS[way](f, *(a.double() for a in args)))
    assert len(got) == len(own)
    for g, s, e in zip(got, own, exact):
        assert (g is None) == (s is None)
        if g is None:
            continue
        assert g.dtype == s.dtype and g.shape == s.shape, (g.dtype, s.dtype)
        resolution = torch.finfo(torch.float32).eps * e.abs().max()
        assert (g - e).abs().max() <= 4 * torch.maximum((s - e).abs().max(), resolution)


# As above; of the functional forms, which leave transforms to torch.
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*")
def test_functional_forms_in_transforms():
    ng.disable()
    x, w = torch.randn(4, 6, 8), torch.randn(8)
    for transform in (WAYS["jvp"], WAYS["grad"], WAYS["vmap"]):
        got = leaves(transform(lambda x, w: ng.functional.layer_norm(x, (8,), w), x, w))
        expected = leaves(transform(lambda x, w: F.layer_norm(x, (8,), w), x, w))
        assert all(torch.equal(g, e) for g, e in zip(got, expected))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        expected = forward_ad.unpack_dual(F.rms_norm(dual, (8,), w)).tangent
        assert torch.equal(forward_ad.unpack_dual(ng.functional.rms_norm(dual, (8,), w)).tangent, expected)
        for call in (lambda: torch.ops.normgrad.native_layer_norm(dual, [8], w, None, 1e-5),
                     lambda: torch.ops.normgrad._fused_rms_norm(dual, [8], w, 1e-5),
                     lambda: torch.ops.normgrad.batch_norm_training(dual, None, None, 1e-5),
                     lambda: torch.ops.normgrad.batch_norm_inference(dual, None, None, None, None, 1e-5)):
            with pytest.raises(RuntimeError, match="forward-mode differentiation is not supported"):
                call()


def gradients(net, x):
    x = x.clone().requires_grad_()
    y = net(x)
    y.square().sum().backward()
    return [y.detach(), x.grad, *(p.grad for p in net.parameters())]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.Sequential(nn.LayerNorm(8), nn.RMSNorm(8), nn.BatchNorm1d(6))
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.norms(x))


def fresh_net():
    torch.manual_seed(0)
    return Net(), torch.randn(4, 6, 8)


# Sums of 24 to 192 float32 terms of order 1 to 10 in torch's own Linear and loss: 2^-24 * 192 * 10.
def assert_same(got, expected):
    for g, e in zip(got, expected):
        assert g.dtype == e.dtype
        torch.testing.assert_close(g, e, rtol=1e-4, atol=1.2e-4)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compile_of_an_unmodified_model(backend):
    net, x = fresh_net()
    expected = gradients(copy.deepcopy(net), x)
    torch._dynamo.reset()
    assert_same(gradients(torch.compile(net, backend=backend, fullgraph=True), x), expected)


def test_checkpointing():
    net, x = fresh_net()
    expected = gradients(copy.deepcopy(net), x)
    got = gradients(net_with_checkpoint := Checkpointed(net), x)
    assert net_with_checkpoint.runs == 2
    assert all(torch.equal(g, e) for g, e in zip(got, expected))


class Checkpointed(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net, self.runs = net, 0

    def forward(self, x):
        return checkpoint(self.run, x, use_reentrant=False)

    def run(self, x):
        self.runs += 1
        return self.net(x)


@pytest.mark.filterwarnings("ignore")  # that script and trace are deprecated
def test_script_trace_export():
    net, x = fresh_net()
    net.eval()
    expected = net(x)
    for other in (torch.jit.script(net), torch.jit.trace(net, x), torch.export.export(net, (x,)).module()):
        assert torch.equal(other(x), expected)


def test_without_gradients():
    net, x = fresh_net()
    net.eval()
    expected = net(x).detach()
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert torch.equal(net(x), expected)
    net.requires_grad_(False)
    net.norms[0].weight.requires_grad_()
    net(x).sum().backward()  # a gradient of stride 0, of one parameter
    assert net.norms[0].weight.grad.abs().sum() > 0 and net.norms[0].bias.grad is None


def test_fake_and_meta_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    net, x = fresh_net()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert net.norms(mode.from_tensor(x)).shape == x.shape
    meta = copy.deepcopy(net).to("meta")
    assert meta(x.to("meta")).shape == (4, 6, 3)


def test_subclasses():
    class Tagged(torch.Tensor):
        pass

    net, x = fresh_net()
    assert type(net.norms(x.as_subclass(Tagged))) is Tagged
    assert torch.equal(net.norms(x.as_subclass(Tagged)).as_subclass(torch.Tensor), net.norms(x))


def test_more_than_eight_dimensions():
    x = torch.randn(3, 2, 2, 1, 2, 1, 2, 1, 2, 4)
    for f in (F.batch_norm, ng.functional.batch_norm):
        for layout in (x, x.transpose(0, 9).contiguous().transpose(0, 9)):
            a, b = layout.clone().requires_grad_(), x.reshape(3, 2, -1).requires_grad_()
            y, e = f(a, None, None, training=True), f(b, None, None, training=True)
            (dx,), (de,) = torch.autograd.grad(y.pow(3).sum(), a), torch.autograd.grad(e.pow(3).sum(), b)
            assert torch.equal(y.flatten(2), e) and torch.equal(dx.flatten(2), de)


def test_more_dimensions_than_torchs_iterators_take():
    """torch's LayerNorm and BatchNorm take 65 and more; so does what is enabled, and nothing is written past its place."""
    x, w = torch.randn([2, 3] + [1] * 70 + [8]), torch.ones([1] * 70 + [8])
    calls = (lambda: F.layer_norm(x, (8,)), lambda: F.layer_norm(x, w.shape, w),
             lambda: F.batch_norm(x, None, None, training=True), lambda: ng.functional.layer_norm(x, (8,)))
    got = [call() for call in calls]
    ng.disable()
    assert all(torch.equal(g, call()) for g, call in zip(got, calls))


def test_a_gradient_of_another_shape():
    dy, x = F.pad(torch.randn(4, 5, 8), (0, 1))[..., :8], torch.randn([1] * 9 + [4, 5, 8])
    s = torch.ones(20, dtype=torch.float64)
    for call in (lambda: torch.ops.aten.native_layer_norm_backward(dy, x, [8], s, s, None, None, [True] * 3),
                 lambda: torch.ops.aten._fused_rms_norm_backward(dy, x, [8], s, None, [True] * 2)):
        with pytest.raises(RuntimeError, match=r"grad_output has shape \(4, 5, 8\), but must have that of input"):
            call()


def test_shapes_that_do_not_fit():
    x = torch.randn(3, 4)
    for call in (lambda: F.layer_norm(x, (5,)), lambda: F.layer_norm(x, ()), lambda: F.layer_norm(x, (3, 5)),
                 lambda: F.layer_norm(x, (3, 4), torch.ones(4, 3)), lambda: F.layer_norm(x, (3, 4), torch.ones(12)),
                 lambda: torch.ops.aten._fused_rms_norm(x, (5,), None, None),
                 lambda: torch.ops.normgrad.native_layer_norm(x, (5,), None, None, 1e-5)):
        with pytest.raises(RuntimeError, match="must (end with|have shape)"):
            call()
    x, m = torch.randn(3), torch.zeros(1, dtype=torch.float64)
    for many in (64, 65, 3000):  # torch's tensors have no more than 64 dimensions
        for call in (lambda: F.layer_norm(x, [1] * many), lambda: torch.ops.aten._fused_rms_norm(x, [1] * many, None, None),
                     lambda: torch.ops.aten.native_layer_norm_backward(x, x, [1] * many, m, m, None, None, [True] * 3)):
            with pytest.raises(RuntimeError, match=r"shape \(3\), but must end with normalized_shape, \(1, 1, 1"):
                call()


# Calls that are refused, of tensors that no reference may be left to.
GIGANTIC = 2**45  # of stride 0: a copy of it is more than memory has addresses
REFUSED = {
    "layer_norm, shape": lambda x, w, b, s: F.layer_norm(x, (7,), w, b),
    "layer_norm, 65 dimensions": lambda x, w, b, s: F.layer_norm(x, [1] * 65, w, b),
    "layer_norm, parameters": lambda x, w, b, s: F.layer_norm(x, (6, 8), w, b),
    "layer_norm, gigantic": lambda x, w, b, s: torch.ops.aten.native_layer_norm(x, [8], w[:1].expand(GIGANTIC), b, 1e-5),
    "layer_norm, integers": lambda x, w, b, s: F.layer_norm(x.long(), (8,), w, b),
    "layer_norm, backward": lambda x, w, b, s: torch.ops.aten.native_layer_norm_backward(
        x, x, [8], s[:1, :1].expand(GIGANTIC, 1), s, w, b, [True] * 3
    ),
    "rms_norm": lambda x, w, b, s: torch.ops.aten._fused_rms_norm(x, [8], w[:1].expand(GIGANTIC), 1e-5),
    "rms_norm, backward": lambda x, w, b, s: torch.ops.aten._fused_rms_norm_backward(
        x, x, [8], s[:1, :1].expand(GIGANTIC, 1), w, [True] * 2
    ),
    "batch_norm": lambda x, w, b, s: F.batch_norm(x[:1, :, :1].expand(2, 6, GIGANTIC), w[:6], w[:6], w[:6], b[:6]),
    "batch_norm, elements": lambda x, w, b, s: torch.ops.aten.batch_norm_elemt(
        x[:1, :, :1].expand(2, 6, GIGANTIC), w[:6], b[:6], w[:6], w[:6], 1e-5
    ),
    "batch_norm, backward": lambda x, w, b, s: torch.ops.aten.native_batch_norm_backward(
        x, x[:1, :, :1].expand(2, 6, GIGANTIC), w, w, w, b, b, True, 1e-5, [True] * 3
    ),
    "batch_norm, backward, integers": lambda x, w, b, s: torch.ops.aten.native_batch_norm_backward(
        x, x, w.long(), w, w, b, b, True, 1e-5, [True] * 3
    ),
    "batch_norm, backward of elements": lambda x, w, b, s: torch.ops.aten.batch_norm_backward_elemt(
        x, x[:1, :, :1].expand(2, 6, GIGANTIC), w, w, w, b, b, b
    ),
    "gather": lambda x, w, b, s: torch.ops.aten.batch_norm_gather_stats(
        x, s[:1].expand(GIGANTIC, 6), s, w, b, 0.1, 1e-5, 3
    ),
    "ours, gigantic": lambda x, w, b, s: torch.ops.normgrad.batch_norm_inference(
        x[:1, :, :1].expand(2, 6, GIGANTIC), w, b, w, w, 1e-5
    ),
    "ours, training, gigantic": lambda x, w, b, s: torch.ops.normgrad.batch_norm_training(
        x[:1, :, :1].expand(2, 6, GIGANTIC), w, b, 1e-5
    ),
}
REFUSED_IN_FORWARD_MODE = {
    "layer_norm": lambda x, w, b: torch.ops.normgrad.native_layer_norm(x, [8], w, b, 1e-5),
    "rms_norm": lambda x, w, b: torch.ops.normgrad._fused_rms_norm(x, [8], w, 1e-5),
    "batch_norm, training": lambda x, w, b: torch.ops.normgrad.batch_norm_training(x, w, b, 1e-5),
    "batch_norm, evaluation": lambda x, w, b: torch.ops.normgrad.batch_norm_inference(x, w, b, w, b, 1e-5),
}


def assert_no_reference_is_left(call, *tensors):
    def references():
        return [(t._use_count(), torch._C._storage_Use_Count(t.untyped_storage()._cdata)) for t in tensors]

    before = references()
    for _ in range(3):
        with pytest.raises(RuntimeError):
            call()
    assert references() == before


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_call_keeps_no_tensor(case):
    x, w, b, s = torch.randn(4, 6, 8), torch.ones(8), torch.zeros(8), torch.ones(24, 1, dtype=torch.float64)
    assert_no_reference_is_left(lambda: REFUSED[case](x, w, b, s), x, w, b, s)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("case", REFUSED_IN_FORWARD_MODE)
def test_a_call_refused_in_forward_mode_keeps_no_tensor(case, dtype):
    x, w, b = torch.randn(4, 8, 8, dtype=dtype), torch.ones(8, dtype=dtype), torch.zeros(8, dtype=dtype)
    with forward_ad.dual_level():
        assert_no_reference_is_left(lambda: REFUSED_IN_FORWARD_MODE[case](x, w, b), x, w, b)


def gathered(counts, dtype=torch.float32):
    mean, invstd = torch.arange(12.0).reshape(2, 6).to(dtype), torch.linspace(1, 2, 12).reshape(2, 6).to(dtype)
    running = torch.zeros(6, dtype=dtype), torch.ones(6, dtype=dtype)
    each = "_with_counts" if isinstance(counts, torch.Tensor) else ""
    op = getattr(torch.ops.aten, f"batch_norm_gather_stats{each}")
    return (*op(torch.zeros(4, 6, 8, dtype=dtype), mean, invstd, *running, 0.25, 1e-5, counts), *running)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64], ids=str)
def test_counts_that_lie_apart(dtype):
    for counts in (torch.tensor([3, 4]).to(dtype), torch.tensor([3, 0, 4]).to(dtype)[::2]):
        if dtype.is_floating_point:
            assert all(torch.equal(g, e) for g, e in zip(gathered(counts), gathered(torch.tensor([3.0, 4.0]))))
        else:
            with pytest.raises(RuntimeError, match="counts is .*but must be f16, bf16, f32 or f64"):
                gathered(counts)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_one_count_for_all_parts(dtype):
    for got, expected in zip(gathered(4, dtype), gathered(torch.tensor([4.0, 4.0]), dtype)):
        assert torch.equal(got, expected) and got.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64, torch.float8_e4m3fn], ids=str)
def test_types_of_neither(dtype):
    """torch's own sentence; its NotImplementedError comes as its base, RuntimeError."""
    x = torch.ones(3, 4).to(dtype)
    with pytest.raises(RuntimeError, match="not implemented for"):
        F.layer_norm(x, (4,))


def test_an_empty_batch_in_float64_is_no_crash():
    for f in (F.batch_norm, ng.functional.batch_norm):
        for training in (True, False):
            for dtype in (torch.float32, torch.float64):
                x = torch.zeros(0, 3, 2, dtype=dtype, requires_grad=True)
                w = torch.ones(3, dtype=dtype, requires_grad=True)
                mean, var = torch.zeros(3, dtype=dtype), torch.ones(3, dtype=dtype)
                y = f(x, mean, var, w, w, training)
                dx, dw = torch.autograd.grad(y.sum(), (x, w))
                assert y.shape == dx.shape == x.shape and not dw.any()
                assert not mean.any() and (var == 1).all()  # nothing has no statistics


@pytest.mark.parametrize("norm", [nn.LayerNorm(6), nn.BatchNorm1d(6)], ids=lambda m: type(m).__name__)
def test_what_was_computed_under_it_is_differentiated_under_it(norm):
    """torch's kernels refuse our statistics: no wrong number."""
    ng.enable()
    try:
        y = norm(torch.randn(4, 6, requires_grad=True))
    finally:
        ng.disable()
    with pytest.raises(RuntimeError, match="expected scalar type|dtype|Double"):
        y.sum().backward()


def flags_of_memory(address):
    """What the system has been told of the memory that an address lies in (man proc: VmFlags)."""
    inside = False
    with open("/proc/self/smaps") as maps:
        for line in maps:
            first = line.split()[0]
            if not first.endswith(":"):
                begin, end = (int(part, 16) for part in first.split("-"))
                inside = begin <= address < end
            elif inside and first == "VmFlags:":
                return line.split()[1:]
    return []


@pytest.mark.skipif(not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="the system has no large pages")
def test_results_ask_for_large_pages():
    """A fresh result that is taken from the system in pages of 4 KiB takes longer to take than to compute."""
    page = 2 << 20
    x, w = torch.randn(2048, 1024), torch.ones(1024)  # 8 MiB: three pages at least lie within a result
    plain = torch.empty(16 << 20)
    assert "hg" not in flags_of_memory(plain.data_ptr())  # always fresh, and torch's own
    grad = torch.ops.aten.native_layer_norm_backward
    for y in (torch.native_layer_norm(x, (1024,), w, w, 1e-5)[0], torch.ops.aten._fused_rms_norm(x, [1024], w, 1e-6)[0],
              grad(x, x, [1024], torch.zeros(2048, 1), torch.ones(2048, 1), w, w, [True] * 3)[0],
              torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[0]):
        assert "hg" in flags_of_memory((y.data_ptr() + page - 1) // page * page)


def test_after_a_fork():
    """The child of a process whose OpenMP threads have computed, where they are gone."""
    code = """
import os, threading, numpy, normgrad, torch, normgrad.torch as ng
import torch.nn.functional as F
torch.set_num_threads(2)
ng.enable()
x = torch.randn(1024, 100)
def results():
    return F.layer_norm(x, (100,)).numpy().tobytes(), normgrad.layer_norm(x.numpy())[0].tobytes()
before = results()
assert normgrad.get_num_threads() == 2 and len(os.listdir("/proc/self/task")) > threading.active_count()
child = os.fork()
if child == 0:
    os._exit(0 if results() == before else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # whose threads would be counted too
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=environment)


# Stands before dlsym, and so before what is found in torch: the first native_batch_norm is not registered.
FAILING_ONCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
static int (*real_impl)(void*, const char*, void*, uint64_t);
static int failed = 0;
static int impl(void* library, const char* op, void* kernel, uint64_t version) {
  if (!failed && strcmp(op, "native_batch_norm") == 0) return failed = 1;
  return real_impl(library, op, kernel, version);
}
void* dlsym(void* handle, const char* name) {
  static void* (*real)(void*, const char*);
  if (!real) *(void**)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (!real) *(void**)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (!real) *(void**)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
  void* found = real(handle, name);
  if (strcmp(name, "torch_library_impl") != 0) return found;
  *(void**)&real_impl = found;
  return (void*)impl;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_what_could_not_be_enabled_is_not_half_enabled(tmp_path):
    (tmp_path / "failing.c").write_text(FAILING_ONCE)
    library = tmp_path / "failing.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "failing.c", "-ldl"], check=True)
    code = """
import torch, normgrad.torch as ng
x = torch.randn(4, 6)
def statistics():
    return {torch.ops.aten.native_layer_norm(x, [6], None, None, 1e-5)[1].dtype,
            torch.ops.aten.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[1].dtype}
try:
    ng.enable()
except RuntimeError as error:
    assert "native_batch_norm" in str(error), error
else:
    raise SystemExit("nothing has failed")
assert not ng.is_enabled() and statistics() == {torch.float32}, statistics()
ng.enable()
assert ng.is_enabled() and statistics() == {torch.float64}, statistics()
ng.disable()
assert statistics() == {torch.float32}, statistics()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env={**os.environ, "LD_PRELOAD": str(library)})
