"""Which workloads there are."""

import unittest

from peers.workloads import FORWARD, Workload, all_workloads, chosen_workloads


class Workloads(unittest.TestCase):
    def test_are_all_different(self) -> None:
        names = [workload.name for workload in all_workloads()]
        self.assertEqual(len(set(names)), len(names))
        forward = [name for name in names if FORWARD in name]
        self.assertEqual(len(forward), 9 * 2 * 3 + 13 * 2 * 3)
        self.assertEqual(len(names) - len(forward), 9 * 2 * 3 + 13 * 4 * 3)

    def test_a_matrix_is_channels_last(self) -> None:
        matrices = {w.name for w in all_workloads() if w.shape == (128, 1024)}
        self.assertIn("batch_norm_training_channels_last/128x1024/f32", matrices)
        self.assertNotIn("batch_norm_training/128x1024/f32", matrices)

    def test_quick_ones_have_every_operator(self) -> None:
        operators = {workload.operator for workload in all_workloads()}
        quick = chosen_workloads("", quick=True)
        self.assertEqual({workload.operator for workload in quick}, operators)
        self.assertLess(len(quick), 100)

    def test_a_filter_chooses_the_pass(self) -> None:
        self.assertTrue(all(w.is_forward for w in chosen_workloads("_forward", quick=False)))
        backward = chosen_workloads("^(?!.*_forward)", quick=False)
        self.assertFalse(any(w.is_forward for w in backward))

    def test_every_forward_pass_has_the_places_of_its_backward_pass(self) -> None:
        every = list(all_workloads())
        there = {(w.operator, w.layout, w.shape, w.dtype) for w in every}
        for w in every:
            if w.is_forward:
                self.assertIn((w.norm, w.layout, w.shape, w.dtype), there)
                self.assertGreater(w.eps, 0)

    def test_channels_last_stores_the_channels_last(self) -> None:
        workload = Workload("batch_norm_training", "channels_last", (4, 3, 224, 225), "f32")
        self.assertEqual(workload.stored_shape, (4, 224, 225, 3))
        self.assertEqual(workload.per_channel, 4 * 224 * 225)
        self.assertEqual(workload.name, "batch_norm_training_channels_last/4x3x224x225/f32")
