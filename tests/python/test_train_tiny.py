"""The training run of examples/: it ends, torch's kernels and ours learn the same, and there is a picture."""

import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

pytest.importorskip("torch")
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "train_tiny.py"
ROW = re.compile(
    r"^(.+?) +(torch|normgrad) +loss ([\d.]+) -> ([\d.]+), ([\d.]+) ms per step(?:, ([\d.]+) x torch)?$", re.M
)


# A virtual machine may show AMX and not allow it: torch's own bfloat16 matmul then dies (seen with torch 2.15 on Sapphire
# Rapids). oneDNN without AMX is the same elsewhere.
WITHOUT_AMX = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}


def run(*arguments):
    command = [sys.executable, str(EXAMPLE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=WITHOUT_AMX)


def test_alone(tmp_path):
    done = run("--steps", 2, "--out", tmp_path / "run.png")
    assert done.returncode == 0, done.stderr
    rows = ROW.findall(done.stdout)
    losses = {(title, kernels): (float(first), float(last)) for title, kernels, first, last, *_ in rows}
    times = {(title, kernels): float(ms) for title, kernels, *_, ms, _ in rows}
    ratios = {title: float(ratio) for title, kernels, *_, ratio in rows if kernels == "normgrad"}
    titles = {title for title, _ in losses}
    assert titles == {f"{net}, {dtype}" for net in ("Transformer", "ConvNet") for dtype in ("float32", "bfloat16")}
    for title in titles:
        own, ours = losses[title, "torch"], losses[title, "normgrad"]
        assert ours == pytest.approx(own, rel=5e-2 if "bfloat16" in title else 1e-2)
        assert ratios[title] == pytest.approx(times[title, "torch"] / times[title, "normgrad"], abs=0.02)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "2/2" in done.stderr  # progress


def test_two_processes(tmp_path):
    done = run("--steps", 2, "--processes", 2, "--out", tmp_path / "run.svg")
    assert done.returncode == 0, done.stderr
    ((title, kernels, first, last, _, ratio),) = ROW.findall(done.stdout)
    assert ratio == ""  # there is no run to compare with
    assert (title, kernels) == ("ConvNet, SyncBatchNorm, 2 processes", "normgrad")
    assert 0 < float(last) < 2 * float(first)
    assert "<svg" in (tmp_path / "run.svg").read_text()


@pytest.mark.parametrize("arguments,sentence", [
    (("--steps", 0), "must be 1 at least"),
    (("--processes", 0), "must be 1 at least"),
    (("--out", "run.xyz"), "must end with one of"),
    (("--out", "no/such/folder/run.png"), "there is no such folder"),
])
def test_bad_arguments_are_explained_before_the_training(arguments, sentence, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert ended.value.code == 2 and sentence in capsys.readouterr().err
