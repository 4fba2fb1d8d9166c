"""benchmarks/bars.py: what forward and backward rows are held to."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import bars

CACHE = 32 << 20


def row(operator: str, **more: object) -> dict[str, Any]:
    given = {
        "operator": operator,
        "layout": "row_major",
        "shape": "512x1024",
        "dtype": "f32",
        "threads": 2,
        "elements": 512 * 1024,
        "bytes": 4 << 20,
        "limit_us": 10.0,
        "two_pass_limit_us": None,
        "ours_us": 10.0,
        "peers": {"torch": 20.0},
    }
    return given | more


def verdict(*rows: dict[str, Any]) -> tuple[int, str]:
    """Exit code, and what is printed."""
    machine = {"caches": [{"level": 3, "bytes": CACHE}]}
    run = {"date": "", "machine": machine, "command": "", "rows": list(rows)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        path.write_text(json.dumps(run))
        printed = io.StringIO()
        arguments = mock.patch.object(sys, "argv", ["bars.py", str(path)])
        with arguments, contextlib.redirect_stdout(printed):
            return bars.main(), printed.getvalue()


class LeastFraction(unittest.TestCase):
    def least(self, **more: object) -> float:
        return bars.bar_of(row(**more), CACHE).least

    def test_of_forward_rows(self) -> None:
        beyond = {"bytes": CACHE + 1}
        for operator in ("layer_norm_forward", "batch_norm_inference_forward"):
            self.assertEqual(self.least(operator=operator, **beyond), 0.65)
            self.assertEqual(self.least(operator=operator, dtype="f16", **beyond), 0.65)
            self.assertEqual(self.least(operator=operator), 0.40)
            self.assertEqual(self.least(operator=operator, dtype="bf16"), 0.25)

    def test_is_half_for_small_batch_norm_alone(self) -> None:
        small = {"elements": 299_999}
        self.assertEqual(self.least(operator="batch_norm_training_forward", **small), 0.20)
        self.assertEqual(self.least(operator="layer_norm_forward", **small), 0.40)

    def test_of_backward_rows_is_another(self) -> None:
        self.assertEqual(self.least(operator="layer_norm"), 0.45)


class Verdict(unittest.TestCase):
    def test_a_forward_row_is_lost_below_its_share_of_the_fastest_right_peer(self) -> None:
        good = row("rms_norm_forward")
        many = [good | {"shape": f"{n}x1024"} for n in range(9)]
        self.assertEqual(verdict(*many, good | {"peers": {"torch": 9.6}})[0], 0)
        self.assertEqual(verdict(*many, good | {"peers": {"torch": 9.4}})[0], 1)
        wrong = {"peers": {"torch": 9.4, "jax": 20.0}, "wrong_peers": {"torch": 2.0}}
        self.assertEqual(verdict(*many, good | wrong)[0], 0)

    def test_two_thirds_of_the_forward_rows_are_ahead_three_quarters_of_the_backward(self) -> None:
        for operator, code in (("layer_norm_forward", 0), ("layer_norm", 1)):
            rows = [
                row(operator, shape=f"{n}x1024", peers={"torch": us})
                for n, us in enumerate((20.0, 20.0, 11.0))
            ]
            self.assertEqual(verdict(*rows)[0], code, operator)

    def test_tiny_rows_may_not_be_behind_backward_and_have_no_fraction(self) -> None:
        tiny = {"shape": "16x768", "ours_us": 100.0, "peers": {"torch": 97.0}}
        for operator, lost in (("layer_norm_forward", "0 of 1"), ("layer_norm", "1 of 1")):
            _, printed = verdict(row(operator, **tiny))
            self.assertIn("1 of 1 rows reach their fraction", printed)
            self.assertIn(f"{lost} are lost to a peer", printed)

    def test_each_pass_has_its_line(self) -> None:
        code, printed = verdict(row("layer_norm"), row("layer_norm_forward", limit_us=1.0))
        self.assertEqual(code, 1)
        self.assertIn("forward: 0 of 1 rows reach their fraction", printed)
        self.assertIn("backward: 1 of 1 rows reach their fraction", printed)
