"""Statistics, goals and table of tests/bench/python, which runs only when it is asked for."""
import os
import sys
import unittest

import support

sys.path.insert(0, os.path.join(os.path.dirname(support.HERE), "bench", "python"))
import bench  # noqa: E402
import results  # noqa: E402


def pairs(*values):
    return [[{"wall": first}, {"wall": second}] for first, second in values]


class Statistics(unittest.TestCase):
    def test_ratio_is_of_the_blocks_of_one_quad(self):
        costs = {"without": pairs((1.0, 3.0), (10.0, 10.0)), "highwater": pairs((2.0, 4.0), (11.0, 9.0))}
        self.assertEqual(bench.ratios(costs, "highwater", "without", "wall"), [1.5, 1.0])

    def test_interval_contains_the_median_and_narrows(self):
        few = results.estimate([1.0, 1.1, 0.9, 1.05, 0.95])
        many = results.estimate([1.0, 1.1, 0.9, 1.05, 0.95] * 40)
        for each in (few, many):
            self.assertEqual(each["value"], 1.0)
            self.assertLessEqual(each["low"], 1.0)
            self.assertGreaterEqual(each["high"], 1.0)
        self.assertLess(many["high"] - many["low"], few["high"] - few["low"])

    def test_goal_inside_the_interval_is_inconclusive(self):
        def verdict(low, value, high, samples=5):
            return results.verdict({"value": value, "low": low, "high": high, "samples": samples}, 1.02)

        self.assertEqual(verdict(0.99, 1.0, 1.01), "met")
        self.assertEqual(verdict(1.01, 1.03, 1.05), "inconclusive")
        self.assertEqual(verdict(1.03, 1.04, 1.05), "missed")
        self.assertEqual(verdict(0.99, 1.0, 1.01, samples=4), "inconclusive")
        self.assertEqual(results.verdict(results.exact(1.03), 1.02), "missed")
        self.assertIsNone(results.verdict(results.exact(1.03), None))


class Reports(unittest.TestCase):
    def test_goal_is_for_the_row_of_its_name(self):
        costs = {arm: [[{"wall": wall, "cpu": wall}] * 2] * 5
                 for arm, wall in (("without", 1.0), ("highwater", 1.5), ("profiler", 1.5))}
        rows = {each["name"]: each for each in bench.training_rows("plain_loop", costs)}
        self.assertEqual(rows["step_without"]["value"], 1000.0)
        self.assertEqual(rows["highwater_over_nothing"]["verdict"], "missed")
        self.assertEqual(rows["highwater_cpu_time"]["value"], 1.5)
        self.assertEqual([name for name, each in rows.items() if each["goal"] is not None],
                         ["highwater_over_nothing"])

    def test_table_has_every_row_and_counts_the_verdicts(self):
        report = results.report("python", "nothing")
        report["rows"] = [results.row("step", "plain", "ms", results.estimate([1.0, 2.0, 3.0])),
                          results.row("ratio", "plain", "×", results.exact(1.5), 1.02)]
        report["machine"]["load"] = None  # a number that is not finite
        text = results.table([report, report])
        self.assertEqual(text.count("python  step"), 2)
        self.assertEqual(text.count("1.5 ×"), 2)
        self.assertIn("≤ 1.02", text)
        self.assertTrue(text.endswith("goals: 2 missed"))


if __name__ == "__main__":
    unittest.main()
