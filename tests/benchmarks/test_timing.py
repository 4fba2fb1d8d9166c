"""From times to the numbers of a row."""

import unittest

from peers.timing import TWO_PASSES, Sample, best, median, row_numbers


def samples(*times: float) -> list[Sample]:
    return [Sample(us) for us in times]


class Median(unittest.TestCase):
    def test_is_the_middle_of_the_undisturbed_if_they_are_enough(self) -> None:
        quiet = samples(1, 2, 3, 4, 5, 6, 7)
        loud = [Sample(1000, disturbed=True)] * 20
        self.assertEqual(median(quiet + loud), Sample(4, disturbed=False))

    def test_is_of_all_and_says_so_if_too_many_were_disturbed(self) -> None:
        quiet = samples(1, 2, 3, 4, 5, 6)
        loud = [Sample(7, disturbed=True)]
        self.assertEqual(median(quiet + loud), Sample(4, disturbed=True))


class Rows(unittest.TestCase):
    def test_the_best_variant_has_the_smallest_median(self) -> None:
        variants = {"plain": samples(*[10] * 6, 1), "non-temporal": samples(*[8] * 7)}
        self.assertEqual(best(variants), ("non-temporal", Sample(8)))

    def test_fraction_is_limit_over_ours_and_speedup_fastest_peer_over_ours(self) -> None:
        limit = {
            "plain": samples(*[30] * 7),
            "non-temporal": samples(*[20] * 7),
            f"{TWO_PASSES}plain": samples(*[35] * 7),
        }
        peers = {"slow": {"": samples(*[400] * 7)}, "fast": {"a": samples(*[90] * 7)}}
        row = row_numbers(limit, {"": samples(*[40] * 7)}, peers)
        self.assertEqual((row["limit_us"], row["limit_stores"]), (20, "non-temporal"))
        self.assertEqual(row["two_pass_limit_us"], 35)
        self.assertEqual(row["fraction"], 0.5)
        self.assertEqual(row["peers"], {"slow": 400, "fast": 90})
        self.assertEqual((row["fastest_peer"], row["speedup"]), ("fast", 2.25))
        self.assertFalse(row["disturbed"])

    def test_without_peers_there_is_no_speedup(self) -> None:
        row = row_numbers({"none": samples(*[1] * 7)}, {"": samples(*[2] * 7)}, {})
        self.assertEqual((row["fastest_peer"], row["speedup"]), (None, None))
        self.assertIsNone(row["two_pass_limit_us"])

    def test_one_disturbed_contender_marks_the_row(self) -> None:
        loud = [Sample(9, disturbed=True)] * 7
        row = row_numbers({"none": samples(*[1] * 7)}, {"": samples(*[2] * 7)}, {"p": {"": loud}})
        self.assertTrue(row["disturbed"])
