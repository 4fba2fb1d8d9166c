"""The model of docs/scaling.md on values computed by hand, and the page itself."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

import scaling
from scaling import model
from scaling.chart import scaling_chart
from scaling.fit import adding_us, deviations, exchanges, fitted, line
from scaling.layers import resnet50
from scaling.model import Cost, Link
from scaling.report import SECTIONS, marks

ROOT = Path(scaling.__file__).parents[2]
DOCS = ROOT / "docs"


class Formulas(unittest.TestCase):
    def test_time_is_call_and_hops_and_bytes_and_additions(self) -> None:
        link = Link(alpha_us=10, bytes_per_us=4, gamma_us=0.5, call_us=3)
        self.assertEqual(Cost(hops=2, path=8, added=6, sent=0).us(link), 3 + 20 + 2 + 3)

    def test_gloo_ring(self) -> None:
        # Two ranks, 8 numbers of 4 bytes: a chunk is 4 numbers, which goes there and comes back.
        self.assertEqual(model.gloo_ring(2, 8, 4), Cost(2, 32, 16, 32))
        # Four ranks: chunks of 2 numbers, 3 hops each way.
        self.assertEqual(model.gloo_ring(4, 8, 4), Cost(6, 48, 24, 48))
        # Fewer numbers than chunks: 1 chunk of 2 passes all, another of 1; the rest is empty.
        self.assertEqual(model.gloo_ring(4, 3, 8), Cost(6, 96, 48, 48))

    def test_tree(self) -> None:
        self.assertEqual(model.tree(2, 8, 4), Cost(2, 64, 32, 32))
        self.assertEqual(model.tree(3, 8, 4), Cost(4, 128, 64, 64))
        self.assertEqual(model.tree(4, 8, 4), Cost(4, 128, 64, 64))

    def test_recursive_doubling(self) -> None:
        self.assertEqual(model.recursive_doubling(2, 8, 4), Cost(1, 32, 32, 32))
        self.assertEqual(model.recursive_doubling(4, 8, 4), Cost(2, 64, 64, 64))
        self.assertEqual(model.recursive_doubling(3, 8, 4), Cost(3, 96, 64, 64))

    def test_rabenseifner(self) -> None:
        self.assertEqual(model.rabenseifner(2, 8, 4), Cost(2, 32, 16, 32))
        self.assertEqual(model.rabenseifner(4, 8, 4), Cost(4, 48, 24, 48))
        self.assertEqual(model.rabenseifner(5, 8, 4), Cost(6, 112, 56, 80))

    def test_all_gathers_differ_in_hops_alone(self) -> None:
        self.assertEqual(model.ring_gather(4, 8, 4), Cost(3, 96, 0, 96))
        self.assertEqual(model.doubling_gather(4, 8, 4), Cost(2, 96, 0, 96))
        self.assertEqual(model.neighbour_gather(4, 8, 4), Cost(2, 96, 0, 96))
        self.assertEqual(model.neighbour_gather(5, 8, 4).hops, 4)

    def test_open_mpi_decides_by_ranks_and_bytes(self) -> None:
        def all_reduce(p: int, m: int) -> model.Algorithm:
            return model.decided(model.MPI_ALL_REDUCE, p, m)

        self.assertIs(all_reduce(2, 4095), model.recursive_doubling)
        self.assertIs(all_reduce(2, 4096), model.ring_or_doubling)
        self.assertIs(all_reduce(4, 8192), model.rabenseifner)
        self.assertIs(all_reduce(10_000, 2047), model.tree)
        self.assertIs(all_reduce(10_000, 32768), model.rabenseifner)
        # Fewer numbers than ranks: 8192 = 2^13, and two more hops for the others.
        self.assertEqual(model.mpi_all_reduce(10_000, 516, 8).hops, 15)
        self.assertIs(model.decided(model.MPI_ALL_GATHER, 10_000, 4128), model.neighbour_gather)

    def test_what_a_layer_sends(self) -> None:
        self.assertEqual(model.GLOO_ORDER.of(2, 64, 4).sent, 128 * 4)
        self.assertEqual(model.MPI_ORDER.of(2, 64, 8).sent, 132 * 8)

    def test_resnet50_has_53_layers(self) -> None:
        layers = resnet50()
        self.assertEqual((len(layers), sum(c for c, _ in layers)), (53, 26560))
        # Its convolutions have 11.1 million outputs per image, and each a BatchNorm.
        self.assertEqual(sum(c * side * side for c, side in layers), 11_113_984)


class Fit(unittest.TestCase):
    def test_a_line_is_found(self) -> None:
        rows = [{"bytes": b, "us": 5 + b / 100} for b in (100, 1000, 5000)]
        intercept, slope = line(rows)
        self.assertAlmostEqual(intercept, 5)
        self.assertAlmostEqual(slope, 0.01)

    def test_runs_that_follow_the_model_have_no_deviation(self) -> None:
        own, shared = Link(2, 1000, 0.0, 7), Link(9, 1000, 0.0, 7)
        rows = [
            {
                "mode": "ping_pong",
                "ranks": 2,
                "channels": 1,
                "width": 8,
                "bytes": b,
                "us": 2 + b / 1e3,
            }
            for b in (100, 5000)
        ]
        for ranks, link in ((2, own), (3, shared), (4, shared)):
            for width in (4, 8):
                for mode, way in (("all_reduce", model.MPI), ("rank_order", model.MPI_ORDER)):
                    row = {"mode": mode, "ranks": ranks, "channels": 64, "width": width}
                    rows.append(row | {"us": way.of(ranks, 64, width).us(link)})
        adding = [{"mode": "add", "bytes": b, "us": 1 + 1e-9 * b} for b in (1, 2)]
        found = fitted({"mpi": rows + adding}, "mpi")
        self.assertAlmostEqual(found.own_core.call_us, 7, places=5)
        self.assertAlmostEqual(found.shared_core.alpha_us, 9, places=5)
        four = exchanges(rows, 4)
        self.assertEqual(len(four), 4)
        self.assertLess(max(map(abs, deviations("mpi", four, found.shared_core))), 1e-6)
        self.assertLess(max(deviations("mpi", four, found.own_core)), -0.1)


class Page(unittest.TestCase):
    def setUp(self) -> None:
        self.run_of_page = json.loads((DOCS / "scaling.json").read_text())

    def test_its_tables_are_what_the_program_prints(self) -> None:
        command = [sys.executable, "-B", ROOT / "benchmarks/sync_scaling"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        page = (DOCS / "scaling.md").read_text()
        for name in SECTIONS:
            begin, end = marks(name)
            self.assertEqual(page.count(begin), 1, name)
            between = page.partition(begin)[2].partition(end)[0].strip()
            self.assertTrue(between, name)
            self.assertIn(f"{name}:\n\n{between}\n", printed)

    def test_its_picture_is_what_the_program_draws(self) -> None:
        picture = (DOCS / "pictures/sync_scaling.svg").read_text()
        self.assertEqual(picture, scaling_chart(self.run_of_page))
        self.assertEqual(picture.count("<polyline"), 4 * (1 + len(model.WAYS)))

    def test_adding_takes_time_and_more_ranks_take_more(self) -> None:
        for width in (4, 8):
            times = [adding_us(self.run_of_page, p, 516, width) for p in (2, 64, 512, 10_000)]
            self.assertGreater(times[0], 0)
            self.assertEqual(times, sorted(times))

    def test_a_table_says_whether_it_is_measured_or_modelled(self) -> None:
        for name in ("messages", "bytes", "25 GbE", "200 Gb/s", "f32", "limits"):
            self.assertTrue(SECTIONS[name](self.run_of_page)[0].startswith("| modelled: "), name)
        self.assertTrue(SECTIONS["measured"](self.run_of_page)[0].startswith("| measured "))
