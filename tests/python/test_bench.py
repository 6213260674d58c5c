"""The statistics of tests/bench/python, which runs only when it is asked for."""
import os
import sys
import unittest

import support

sys.path.insert(0, os.path.join(os.path.dirname(support.HERE), "bench", "python"))
import bench  # noqa: E402


def pairs(*values):
    return [[{"wall": first}, {"wall": second}] for first, second in values]


class Statistics(unittest.TestCase):
    def test_ratio_is_of_the_blocks_of_one_quad(self):
        costs = {"without": pairs((1.0, 3.0), (10.0, 10.0)), "highwater": pairs((2.0, 4.0), (11.0, 9.0))}
        self.assertEqual(bench.ratios(costs, "highwater", "without", "wall"), [1.5, 1.0])

    def test_interval_contains_the_median_and_narrows(self):
        few = bench.estimate([1.0, 1.1, 0.9, 1.05, 0.95])
        many = bench.estimate([1.0, 1.1, 0.9, 1.05, 0.95] * 40)
        for each in (few, many):
            self.assertEqual(each["median"], 1.0)
            self.assertLessEqual(each["low"], 1.0)
            self.assertGreaterEqual(each["high"], 1.0)
        self.assertLess(many["high"] - many["low"], few["high"] - few["low"])

    def test_goal_inside_the_interval_is_not_decided(self):
        verdicts = [bench.verdict({"low": low, "high": high}) for low, high in
                    ((0.99, 1.01), (1.01, 1.05), (1.03, 1.05))]
        self.assertEqual(verdicts, ["met", "not decided", "missed"])


if __name__ == "__main__":
    unittest.main()
