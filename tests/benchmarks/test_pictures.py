"""benchmarks/plot on a run of two workloads."""

import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pictures
from pictures.averages import averages
from pictures.medians import medians
from pictures.table import PICTURES, TABLE

PLOT = Path(pictures.__file__).parent.parent / "plot"
SVG = "{http://www.w3.org/2000/svg}"


def row(operator: str, layout: str, dtype: str, **more: object) -> dict[str, Any]:
    given = {
        "operator": operator,
        "layout": layout,
        "shape": "32x8",
        "dtype": dtype,
        "threads": 2,
        "elements": 256,
        "limit_us": 10.0,
        "two_pass_limit_us": None,
        "ours_us": 20.0,
        "fraction": 0.5,
        "peers": {"torch": 40.0, "jax": 400.0},
        "fastest_peer": "torch",
        "speedup": 2.0,
        "disturbed": False,
    }
    return given | more


def run_of(*rows: dict[str, Any]) -> dict[str, Any]:
    machine = {"cpu": "Some <CPU>", "cores": 2, "caches": [{"level": 3, "bytes": 32 << 20}]}
    command = {"command": "./scripts/bench --peers", "versions": {"torch": "2.0"}}
    return {"machine": machine, "date": "2026-01-02T03:04:05Z", "rows": list(rows)} | command


RUN = run_of(
    row("layer_norm", "row_major", "f32"),
    row("layer_norm", "row_major", "bf16", fraction=0.25, disturbed=True),
    row(
        *("batch_norm_training", "channels_last", "f32"),
        two_pass_limit_us=15.0,
        wrong_peers={"torch": 2.0},
    ),
    row(
        "layer_norm_forward", "row_major", "f32", fraction=0.75, peers={"torch": 60.0}, speedup=3.0
    ),
)
SCALING = run_of(
    *(
        row(
            "layer_norm", "row_major", "f32", threads=threads, elements=n, ours_us=n / 1e3 / threads
        )
        for threads in (1, 2)
        for n in (10**4, 10**6, 10**8)
    )
)


class Plot(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.page = self.folder / "performance.md"
        self.readme = self.folder / "README.md"
        self.readme.write_text(f"before\n{PICTURES[0]}\nold\n{PICTURES[1]}\nafter\n")
        self.page.write_text("\n".join([*PICTURES, "before", TABLE[0], "old", TABLE[1], "after\n"]))
        for name, run in {"peers": RUN, "scaling": SCALING}.items():
            (self.folder / f"{name}.json").write_text(json.dumps(run))

    def plot(self, name: str = "peers.json") -> subprocess.CompletedProcess[str]:
        options = ["--scaling", self.folder / "scaling.json", "--pictures", self.folder]
        options += ["--table", self.page, "--readme", self.readme]
        command = [sys.executable, "-B", PLOT, self.folder / name, *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def places(self, picture: str) -> dict[str, float]:
        """Of the dots that say what they are."""
        root = ElementTree.parse(self.folder / picture).getroot()
        circles = [c for c in root.iter(f"{SVG}circle") if c.find(f"{SVG}title") is not None]
        return {c.findtext(f"{SVG}title", ""): float(c.get("cx", "nan")) for c in circles}

    def test_the_table_replaces_what_is_between_the_marks(self) -> None:
        self.assertEqual(self.plot().returncode, 0)
        text = self.page.read_text()
        self.assertIn(f"before\n{TABLE[0]}\n", text)
        self.assertTrue(text.endswith(f"{TABLE[1]}\nafter\n"))
        self.assertNotIn("old", text)
        self.assertIn("| 32x8 | 0.50, 2.00x torch | 0.25, 2.00x torch ~ |  |", text)
        self.assertIn("| **BatchNorm, training, channels-last** |", text)
        self.assertIn("| 32x8 | 0.50 (0.75), 2.00x torch! |", text)
        self.assertIn("2026-01-02, Some <CPU>, 2 cores, L3 32 MiB: ./scripts/bench --peers", text)
        self.plot()
        self.assertEqual(self.page.read_text(), text)

    def test_the_readme_says_when_where_and_how(self) -> None:
        self.plot()
        text = self.readme.read_text()
        self.assertIn(
            "2026-01-02, Some <CPU>, 2 cores, L3 32 MiB: ./scripts/bench --peers (torch 2.0)", text
        )
        self.assertNotIn("old", text)
        self.assertIn("(docs/pictures/speedup_forward.svg)", text)
        self.assertIn("| LayerNorm, forward | 1 | 3.00x | 0.75 |", text)
        self.assertIn("(pictures/scaling.svg)", self.page.read_text())

    def test_a_smaller_fraction_is_further_left(self) -> None:
        self.plot()
        places = self.places("fraction_backward.svg")
        self.assertLess(places["bf16: 0.25"], places["f32: 0.50"])

    def test_forward_and_backward_have_pictures_and_headings_of_their_own(self) -> None:
        self.plot()
        self.assertEqual(self.places("fraction_forward.svg").keys(), {"f32: 0.75"})
        self.assertNotIn("f32: 0.75", self.places("fraction_backward.svg"))
        self.assertEqual(self.places("speedup_forward.svg").keys(), {"torch, f32: 3.00x"})
        _, forward, backward = self.page.read_text().split("\n### ")
        self.assertTrue(forward.startswith("Forward\n"))
        self.assertIn("| 32x8 | 0.75, 3.00x torch |  |  |", forward)
        self.assertTrue(backward.startswith("Backward\n"))
        self.assertNotIn("3.00x", backward)

    def test_without_forward_rows_there_is_no_picture_of_them(self) -> None:
        run = run_of(row("layer_norm", "row_major", "f32"))
        (self.folder / "backward.json").write_text(json.dumps(run))
        self.assertEqual(self.plot("backward.json").returncode, 0)
        self.assertFalse((self.folder / "speedup_forward.svg").exists())
        self.assertNotIn("forward", self.readme.read_text())

    def test_speed_ups_lie_on_a_logarithmic_axis(self) -> None:
        self.plot()
        places = self.places("speedup_backward.svg")
        self.assertEqual(len({*places}), 4)  # two peers, two data types
        torch, jax = places["torch, f32: 2.00x"], places["jax, f32: 20.00x"]
        shift = places["torch, bf16: 2.00x"] - torch
        self.assertAlmostEqual(places["jax, bf16: 20.00x"] - jax, shift, delta=0.2)
        self.assertLess(torch, jax)

    def test_scaling_has_a_curve_per_type_and_thread_count_and_flat_is_flat(self) -> None:
        self.plot()
        root = ElementTree.parse(self.folder / "scaling.svg").getroot()
        curves = [line.get("points", "") for line in root.iter(f"{SVG}polyline")]
        self.assertEqual(len(curves), 2)
        for curve in curves:
            self.assertEqual(len({point.split(",")[1] for point in curve.split()}), 1)

    def test_a_file_that_is_no_run_is_refused(self) -> None:
        (self.folder / "other.json").write_text("{}")
        result = self.plot("other.json")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("has no 'date'", result.stderr)
        self.assertIn("old", self.page.read_text())


class Averages(unittest.TestCase):
    def test_speed_up_is_the_geometric_mean_over_the_fastest_peer_that_is_right(self) -> None:
        rows = [
            row("rms_norm", "row_major", "f32", peers={"torch": 20.0, "jax": 400.0}),
            row("rms_norm", "row_major", "bf16", peers={"torch": 80.0, "jax": 400.0}),
            row(
                *("rms_norm", "row_major", "f16"),
                peers={"torch": 1.0, "jax": 40.0},
                wrong_peers={"torch": 9.0},
            ),
        ]
        family, every = averages(rows)
        self.assertEqual((family.family, family.rows), ("RMSNorm, backward", 3))
        self.assertAlmostEqual(family.speed_up, 2.0)  # of 1, 4, 2
        self.assertEqual((every.family, every.speed_up), ("all backward", family.speed_up))

    def test_fraction_is_the_median(self) -> None:
        rows = [
            row("rms_norm_forward", "row_major", dtype, fraction=fraction, peers={})
            for dtype, fraction in (("f32", 0.2), ("bf16", 0.9), ("f16", 0.6))
        ]
        family, _ = averages(rows)
        self.assertEqual((family.family, family.fraction), ("RMSNorm, forward", 0.6))
        self.assertIsNone(family.speed_up)


class Medians(unittest.TestCase):
    def test_ratios_are_the_medians_of_the_runs_however_fast_the_machine_was(self) -> None:
        def at(factor: float, limit: float, torch: float, jax: float) -> dict[str, Any]:
            times = {"limit_us": limit * factor, "ours_us": 10.0 * factor}
            peers = {"torch": torch * factor, "jax": jax * factor}
            speedup = min(torch, jax) / 10
            return row("layer_norm", "row_major", "f32", peers=peers, speedup=speedup, **times)

        runs = [run_of(at(1, 5, 30, 20)), run_of(at(2, 6, 10, 50)), run_of(at(9, 7, 40, 15))]
        (one,) = medians(runs)
        self.assertEqual(one["runs"], 3)
        (got,) = one["rows"]
        self.assertEqual(got["ours_us"], 20)
        self.assertAlmostEqual(got["fraction"], 0.6)
        self.assertAlmostEqual(got["peers"]["torch"] / got["ours_us"], 3.0)
        self.assertEqual((got["fastest_peer"], got["speedup"]), ("jax", 1.5))  # of 2, 1, 1.5

    def test_a_peer_that_is_wrong_in_one_run_is_wrong_and_most_runs_are_disturbed(self) -> None:
        good = row("layer_norm", "row_major", "f32")
        bad = good | {"wrong_peers": {"torch": 3.0}, "disturbed": True}
        (got,) = medians([run_of(good), run_of(bad), run_of(good)])[0]["rows"]
        self.assertEqual(got["wrong_peers"], {"torch": 3.0})
        self.assertFalse(got["disturbed"])
        (got,) = medians([run_of(bad), run_of(bad), run_of(good)])[0]["rows"]
        self.assertTrue(got["disturbed"])

    def test_other_commands_stay_apart(self) -> None:
        one_thread = RUN | {"command": "./scripts/bench --peers --threads 1"}
        two, one = medians([RUN, one_thread, RUN])
        self.assertEqual((two["runs"], one), (2, one_thread))
