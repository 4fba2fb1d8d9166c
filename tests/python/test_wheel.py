"""The package as installed, which is what the wheel holds: complete, movable, typed, without torch."""

import ast
import importlib.metadata
import inspect
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import numpy as np
import pytest

import normgrad

FOLDER = pathlib.Path(normgrad.__file__).parent
LIBRARIES = sorted(FOLDER.rglob("*.so*"))
SYSTEM = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "libgomp.so.1", "ld-linux-x86-64.so.2",
          "ld-linux-aarch64.so.1", "libdl.so.2", "libpthread.so.0"}


def test_the_libraries_inside():
    module = "_core" + sysconfig.get_config_var("EXT_SUFFIX")
    assert [library.name for library in LIBRARIES] == sorted([module, "libnormgrad.so"])


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")
def test_what_they_need():
    needed = {}
    for library in LIBRARIES:
        text = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
        needed[library.name] = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
        assert re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", text) == ["$ORIGIN"], library
    for names in needed.values():  # torch not at all
        assert names <= SYSTEM | {"libnormgrad.so"}, names
    assert "libgomp.so.1" in needed["libnormgrad.so"]


def test_no_path_of_the_machine_that_built_it():
    for library in LIBRARIES:
        found = re.findall(rb"/(?:home|root|tmp|work|build|Users)/[\w./+-]+", library.read_bytes())
        assert not found, (library.name, found[:3])


def test_what_belongs_to_the_distribution():
    distribution = importlib.metadata.distribution("normgrad")
    assert distribution.version == normgrad.__version__
    files = {str(file) for file in distribution.files}
    assert {"normgrad/py.typed", "normgrad/_core.pyi", "normgrad/libnormgrad.so"} <= files
    wheel = distribution.read_text("WHEEL")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert re.search(rf"^Tag: {python}-{python}-\w*linux\w*$", wheel, re.M) and "Root-Is-Purelib: false" in wheel


def test_stubs_say_what_is_there():
    stub = ast.parse((FOLDER / "_core.pyi").read_text())
    stubs = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    for name in normgrad.__all__:
        assert inspect.getdoc(getattr(normgrad, name)), name
        arguments = stubs[name].args
        assert stubs[name].returns is not None, name
        assert all(a.annotation is not None for a in arguments.args + arguments.kwonlyargs), name
    # and the names are those that calls take
    x = np.ones((2, 3), np.float32)
    values = {"x": x, "dy": x, "mean": np.zeros(2), "rstd": np.ones(2)}
    for name in ("layer_norm", "layer_norm_backward", "rms_norm", "rms_norm_backward"):
        given = {a.arg: values.get(a.arg) for a in stubs[name].args.args if a.arg != "eps"}
        assert len(getattr(normgrad, name)(**given, out=None)) in (2, 3)


def test_torch_part_is_annotated_and_explained():
    ng = pytest.importorskip("normgrad.torch")
    functions = [getattr(ng.functional, name) for name in ng.functional.__all__]
    things = [getattr(ng, name) for name in ng.__all__ if name != "functional"]
    functions += [t for t in things if not isinstance(t, type)]
    functions += [t.forward for t in things if isinstance(t, type)]
    functions += [ng.SyncBatchNorm.__init__, ng.SyncBatchNorm.convert_sync_batchnorm]
    assert len(functions) >= 15
    for function in functions:
        hints = function.__annotations__
        named = [n for n in inspect.signature(function).parameters if n != "self"]
        assert {*named, "return"} <= hints.keys(), function
    assert all(inspect.getdoc(t) for t in things + functions[:3])


def test_without_torch_and_ml_dtypes():
    code = """
import sys
sys.modules["torch"] = sys.modules["ml_dtypes"] = None  # importing them fails
import numpy, normgrad
y, rstd = normgrad.rms_norm(numpy.full((2, 4), 3, numpy.float32), eps=0.0)
assert (y == 1).all(), y
try:
    import normgrad.torch
except ImportError:
    print("as it should be")
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "as it should be"


def test_bfloat16_without_ml_dtypes():
    torch = pytest.importorskip("torch")
    assert torch.bfloat16
    code = """
import sys
sys.modules["ml_dtypes"] = None
import torch, normgrad
x, y = torch.full((2, 4), 3.0, dtype=torch.bfloat16), torch.empty(2, 4, dtype=torch.bfloat16)
normgrad.rms_norm(x, eps=0.0, out=(y, None))
assert (y == 1).all()
try:
    normgrad.rms_norm(x)
except TypeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert "the package ml_dtypes is needed" in done.stdout


def test_it_may_be_moved(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "normgrad")
    code = "import normgrad, numpy; normgrad.rms_norm(numpy.ones((2, 4), 'f')); print(normgrad.__file__)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60,
                          cwd=tmp_path)
    assert done.stdout.strip() == str(tmp_path / "normgrad" / "__init__.py")
