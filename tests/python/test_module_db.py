"""What torch's own tests do with its norm modules and functions, on torch's own lists of inputs.

torch ships the lists (module_db, op_db), not the files that walk through them; this one does, for the modules of normgrad, for
converted ones, and for torch's own under enable().
"""

import contextlib
import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402

import normgrad.torch as ng  # noqa: E402

NAMES = ("LayerNorm", "RMSNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
INFOS = {info.name.removeprefix("nn."): info for info in module_db if info.name.removeprefix("nn.") in NAMES}
WAYS = ("ours", "converted", "enabled")
MODULES = [(name, way) for name in NAMES for way in WAYS]


@contextlib.contextmanager
def enabled(yes=True):
    if yes:
        ng.enable()
    try:
        yield
    finally:
        ng.disable()


def make(name, way, *args, **kwargs):
    if way == "ours":
        return getattr(ng, name)(*args, **kwargs)
    module = getattr(nn, name)(*args, **kwargs)
    return ng.convert(module) if way == "converted" else module


def randomize(module, seed=3):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, value in module.state_dict().items():
            if value.dtype.is_floating_point:
                value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
            else:
                assert key.endswith("num_batches_tracked")


def cases(name, training, dtype=torch.float32):
    """(arguments of the constructor, input) of module_db."""
    torch.manual_seed(0)
    for case in INFOS[name].module_inputs_func(
        INFOS[name], device="cpu", dtype=dtype, requires_grad=False, training=training
    ):
        made, call = case.constructor_input, case.forward_input
        yield made.args, made.kwargs, call.args[0]


def test_the_list_has_all_modules():
    assert set(INFOS) == set(NAMES)
    for name in NAMES:
        assert list(cases(name, True))


def forward_and_gradients(module, x, dy=None):
    """y, dx and the gradients of parameters, and the buffers after it."""
    x = x.detach().requires_grad_()
    y = module(x)
    if dy is None:
        dy = torch.sin(torch.arange(y.numel())).reshape(y.shape).to(y.dtype)
    grads = torch.autograd.grad(y, (x, *module.parameters()), dy.to(y.dtype))
    return [y.detach(), *grads, *(b.clone() for b in module.buffers())]


# Half an ulp plus c*T (bound.py). Data and gradients are of order 1, weights between 1/2 and 3/2, so that T, the sum of what
# cancels, is at most as many terms of the order of the result, or of 1, as there are elements.
def assert_close(got, exact, what=""):
    assert got.shape == exact.shape, what
    if not got.dtype.is_floating_point:
        assert torch.equal(got, exact), what
        return
    if got.numel() == 0:
        return
    c = 2.0**-40 if got.dtype == torch.float64 else 2.0**-19  # that of dx, for all outputs
    scale = got.numel() * exact.double().abs().max().clamp(min=1)
    allowed = exact.double().abs() * torch.finfo(got.dtype).eps / 2 + c * scale
    error = (got.double() - exact.double()).abs()
    assert (error <= allowed).all(), (what, error.max().item(), allowed.min().item())


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name,way", MODULES)
def test_forward_and_gradients(name, way, training):
    for dtype in (torch.float32, torch.float64):
        for args, kwargs, x in cases(name, training, dtype):
            exact = getattr(nn, name)(*args, **kwargs)
            randomize(exact)
            stock = copy.deepcopy(exact).to(dtype).train(training)
            module = make(name, way, *args, **kwargs).to(dtype).train(training)
            module.load_state_dict(exact.state_dict())
            expected = forward_and_gradients(exact.double().train(training), x.double())
            own = forward_and_gradients(stock, x)
            with enabled(way == "enabled"):
                got = forward_and_gradients(module, x)
            assert len(got) == len(expected)
            for i, (g, s, e) in enumerate(zip(got, own, expected)):
                assert g.dtype == s.dtype and g.stride() == s.stride(), (args, kwargs, i, g.stride(), s.stride())
                assert_close(g, e, (args, kwargs, i))


@pytest.mark.parametrize("name,way", MODULES)
def test_reference_functions(name, way):
    checked = 0
    for training in (True, False):
        torch.manual_seed(0)
        for case in INFOS[name].module_inputs_func(
            INFOS[name], device="cpu", dtype=torch.float32, requires_grad=False, training=training
        ):
            if case.reference_fn is None:
                continue
            made, call = case.constructor_input, case.forward_input
            module = make(name, way, *made.args, **made.kwargs).train(training)
            with enabled(way == "enabled"):
                got = module(*call.args, **call.kwargs)
            expected = case.reference_fn(module, *call.args, **call.kwargs)
            torch.testing.assert_close(got, expected)  # a reference in float32 has torch's own tolerance
            checked += 1
    assert checked > 0 or name != "RMSNorm"  # the others have none in torch 2.15


def error_of(f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("name,way", [(n, w) for n, w in MODULES if INFOS[n].module_error_inputs_func])
def test_error_inputs(name, way):
    checked = 0
    for training in (True, False):
        for case in INFOS[name].module_error_inputs_func(
            INFOS[name], device="cpu", dtype=torch.float32, requires_grad=False, training=training
        ):
            made = case.module_error_input.constructor_input
            call = case.module_error_input.forward_input
            stock = getattr(nn, name)(*made.args, **made.kwargs).train(training)
            module = make(name, way, *made.args, **made.kwargs).train(training)
            expected = error_of(stock, *call.args, **call.kwargs)
            with enabled(way == "enabled"):
                assert error_of(module, *call.args, **call.kwargs) == expected
            assert expected == (case.error_type if training or made.kwargs["eps"] < 0 else None)
            checked += 1
    assert checked


@pytest.mark.parametrize("name,way", MODULES)
def test_as_an_object(name, way):
    """repr, deepcopy, pickle, torch.save, state_dict both ways, hooks."""
    for args, kwargs, x in cases(name, True):
        stock, module = getattr(nn, name)(*args, **kwargs), make(name, way, *args, **kwargs)
        randomize(stock)
        assert repr(module) == repr(stock)
        assert module.load_state_dict(stock.state_dict()) == getattr(nn, name)(*args, **kwargs).load_state_dict(
            module.state_dict()
        )
        file = io.BytesIO()
        torch.save(module, file)
        file.seek(0)
        with enabled(way == "enabled"):
            expected = forward_and_gradients(copy.deepcopy(module), x)
            for other in (pickle.loads(pickle.dumps(module)), torch.load(file, weights_only=False)):
                assert type(other) is type(module)
                assert all(torch.equal(a, b) for a, b in zip(forward_and_gradients(other, x), expected))
            seen = []
            module.register_forward_pre_hook(lambda m, args: seen.append("before"))
            module.register_forward_hook(lambda m, args, y: seen.append("after"))
            module.register_full_backward_hook(lambda m, dx, dy: seen.append("backward"))
            forward_and_gradients(module, x)
            assert seen == ["before", "after", "backward"]


@pytest.mark.parametrize("name,way", MODULES)
def test_factory_arguments(name, way):
    for args, kwargs, x in cases(name, True):
        for more in ({"dtype": torch.bfloat16}, {"device": "meta"}, {"device": "meta", "dtype": torch.float64}):
            stock, module = getattr(nn, name)(*args, **{**kwargs, **more}), make(name, way, *args, **{**kwargs, **more})
            for (key, a), (other, b) in zip(module.state_dict().items(), stock.state_dict().items()):
                assert (key, a.shape, a.dtype, a.device) == (other, b.shape, b.dtype, b.device)
            with enabled(way == "enabled"):
                if "device" in more:
                    if kwargs.get("momentum", 0) is None or (len(args) > 2 and args[2] is None):
                        continue  # torch's own reads num_batches_tracked, which has no value there
                    x = x.to("meta", dtype=more.get("dtype", torch.float32))
                    assert module(x).shape == x.shape and module(x).device.type == "meta"
                else:
                    assert module(x.bfloat16()).dtype == stock(x.bfloat16()).dtype


LAYOUTS = {
    "packed": lambda t: t.contiguous(),
    "gaps": lambda t: F.pad(t, (0, 3))[..., : t.shape[-1]],
    "reversed": lambda t: t.permute(*reversed(range(t.dim()))).contiguous().permute(*reversed(range(t.dim()))),
    "first two": lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),
    "expanded": lambda t: t[:1].expand(t.shape),
    "channels_last": lambda t: t.contiguous(
        memory_format={4: torch.channels_last, 5: torch.channels_last_3d}.get(t.dim(), torch.contiguous_format)
    ),
    "channels_last, gaps": lambda t: F.pad(LAYOUTS["channels_last"](t), (0, 3)).contiguous(
        memory_format={4: torch.channels_last, 5: torch.channels_last_3d}.get(t.dim(), torch.contiguous_format)
    )[..., : t.shape[-1]],
    "offset": lambda t: torch.cat([t.new_zeros(3), t.flatten()])[3:].view(t.shape),
}
SHAPES = {"LayerNorm": (4, 3, 5, 6), "RMSNorm": (4, 3, 5, 6), "BatchNorm1d": (4, 3, 5), "BatchNorm2d": (4, 3, 5, 6),
          "BatchNorm3d": (4, 3, 5, 6, 2)}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name,way", MODULES)
def test_layouts(name, way, layout):
    """Values and strides of results, for inputs and for gradients that lie oddly."""
    shape = SHAPES[name]
    torch.manual_seed(1)
    x, dy = torch.randn(shape), torch.randn(shape)
    size = shape[1] if name.startswith("Batch") else shape[-1]
    for training in (True, False):
        for inputs in ((LAYOUTS[layout](x), dy), (x, LAYOUTS[layout](dy))):
            stock, module = getattr(nn, name)(size).train(training), make(name, way, size).train(training)
            randomize(stock)
            module.load_state_dict(stock.state_dict())
            exact = copy.deepcopy(stock).double()
            if name == "RMSNorm":
                exact.eps = torch.finfo(torch.float32).eps  # the default depends on the type
            expected = forward_and_gradients(exact, *(t.double() for t in inputs))
            own = forward_and_gradients(stock, *inputs)
            with enabled(way == "enabled"):
                got = forward_and_gradients(module, *inputs)
            for i, (g, s, e) in enumerate(zip(got, own, expected)):
                if (name, way) == ("RMSNorm", "enabled") and layout.startswith("channels_last"):
                    torch.testing.assert_close(g, s)  # torch asks no kernel then
                else:
                    assert_close(g, e, i)
                # torch composes RMSNorm of elementwise operations, which lay dx out like dy.
                assert g.stride() == s.stride() or (name, i) == ("RMSNorm", 1), (i, g.stride(), s.stride())


@pytest.mark.parametrize("name,way", MODULES)
def test_gradcheck_in_float64(name, way):
    for args, kwargs, x in cases(name, True, torch.float64):
        if x.numel() > 300:
            x = x[:3]
        module = make(name, way, *args, **kwargs).double()
        module.track_running_stats = False  # else every call changes the module
        x = x.detach().requires_grad_()
        torch.manual_seed(4)  # the direction that it looks in
        with enabled(way == "enabled"):
            assert torch.autograd.gradcheck(lambda x, *p: module(x), (x, *module.parameters()), fast_mode=True)


@pytest.mark.parametrize("name", NAMES)
def test_second_order_of_our_modules_is_refused(name):
    args, kwargs, x = next(cases(name, True))
    x = x.detach().requires_grad_()
    (dx,) = torch.autograd.grad(make(name, "ours", *args, **kwargs)(x).pow(3).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="gradients of gradients are not supported"):
        dx.sum().backward()


def test_sync_batch_norm_alone():
    """It is not in module_db. One process, where torch's own is BatchNorm on an accelerator, and refuses CPUs."""
    x = torch.randn(6, 3, 4)
    for training in (True, False):
        stock = nn.BatchNorm1d(3).train(training)
        randomize(stock)
        for way in WAYS:
            module = make("SyncBatchNorm", way, 3).train(training)
            assert module.load_state_dict(stock.state_dict()).missing_keys == []
            assert repr(module) == repr(nn.SyncBatchNorm(3))
            expected = forward_and_gradients(copy.deepcopy(stock).double(), x.double())
            with enabled(way == "enabled"):
                got = forward_and_gradients(pickle.loads(pickle.dumps(module)), x)
            for g, e in zip(got, expected):
                assert_close(g, e, way)


# Functions, on the samples of op_db.

FUNCTIONS = ("nn.functional.layer_norm", "nn.functional.rms_norm", "nn.functional.batch_norm", "native_layer_norm",
             "native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update", "nn.functional.instance_norm",
             "nn.functional.group_norm", "native_group_norm")
OPS = {op.name: op for op in op_db if op.name in FUNCTIONS and not op.variant_test_name}
DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def leaves(value):
    return [t for t in torch.utils._pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def tensors_mapped(f, sample):
    return torch.utils._pytree.tree_map_only(torch.Tensor, f, (sample.input, sample.args, sample.kwargs))


def results(op, sample, f):
    """Results, and gradients of the first of them."""
    x, args, kwargs = tensors_mapped(f, sample)
    wanted = [t for t in leaves((x, args, kwargs)) if t.requires_grad]
    out = leaves(op(x, *args, **kwargs))
    grads = []
    if wanted and out[0].requires_grad:
        dy = torch.cos(torch.arange(out[0].numel())).reshape(out[0].shape)
        dy = dy.to(sample.input.dtype).to(out[0].dtype)  # the same numbers for the exact one
        grads = torch.autograd.grad(out[0], wanted, dy, allow_unused=True)
    return [t.detach() for t in out], list(grads)


def fresh(t):
    return t.detach().clone().requires_grad_(t.requires_grad)


def fresh_double(t):
    return t.detach().clone().double().requires_grad_(t.requires_grad)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_samples_of_functions(name, dtype):
    op = OPS[name]
    torch.manual_seed(0)
    checked = 0
    for sample in op.sample_inputs("cpu", dtype, requires_grad=True):
        try:
            stock = results(op, sample, fresh)
        except RuntimeError:
            continue  # torch itself takes no such sample
        exact = results(op, sample, fresh_double)
        with enabled():
            got = results(op, sample, fresh)
        assert len(got[0]) == len(stock[0]) and len(got[1]) == len(stock[1])
        ours = not any(other in name for other in ("group_norm", "legit", "update"))
        for i, (g, s, e) in enumerate(zip(got[0][:1] + got[1], stock[0][:1] + stock[1], exact[0][:1] + exact[1])):
            assert (g is None) == (s is None)
            if g is None:
                continue
            assert g.dtype == s.dtype and g.shape == s.shape, (name, sample, i)
            assert g.stride() == s.stride() or g.numel() == 0, (name, sample, i)
            if ours and e.isfinite().all():
                # Half an ulp plus c*T (bound.py). With |dy| <= 1, n elements, the largest |w| and rstd <= eps^(-1/2):
                # T <= n of sums, and <= |w|*rstd*(2 + sqrt(n)) of dx, as |x_hat| <= sqrt(n). Half an ulp is eps/2;
                # instance_norm: torch itself adds gradients of copies of the weight, each rounded.
                n, half_ulp = sample.input.numel(), torch.finfo(dtype).eps * (2 if "instance" in name else 0.5)
                c = 2.0**-40 if dtype == torch.float64 else 2.0**-19
                w = max([1.0] + [t.detach().abs().max().item() for t in leaves((sample.args, sample.kwargs)) if t.numel()])
                eps = next((v for k, v in sample.kwargs.items() if k == "eps"), 1e-5)
                scale = max(n, w * max(eps, 1e-5) ** -0.5 * (2 + n**0.5))
                error = (g.double() - e).abs().max().item() if g.numel() else 0
                largest = e.abs().max().item() if g.numel() else 0
                assert error <= half_ulp * largest + c * scale, (i, error, largest, c * scale, name, sample)
            elif "legit" in name or "update" in name:
                torch.testing.assert_close(g, s)  # torch's own forward, whose statistics are rounded
            else:
                assert torch.equal(g.nan_to_num(), s.nan_to_num()) or ours, (name, sample, i)
        checked += 1
    assert checked > 2


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if OPS[n].error_inputs_func])
def test_error_inputs_of_functions(name):
    op = OPS[name]
    checked = 0
    for case in op.error_inputs("cpu"):
        sample = case.sample_input
        with pytest.raises(case.error_type):
            op(sample.input, *sample.args, **sample.kwargs)
        with enabled(), pytest.raises(case.error_type):
            op(sample.input, *sample.args, **sample.kwargs)
        checked += 1
    assert checked
