"""Tests of verdicts and ledgers. Plain Python, no torch."""
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import ledger  # noqa: E402
from verdicts import Drains, with_fallback  # noqa: E402

HEADER = {"event": "header", "schema": 1}
WAIT = {"event": "drain", "cause": "no_shape", "op": "aten::mode", "begin_ns": 15, "end_ns": 16}


class Ledgers(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def written(self, *lines):
        path = pathlib.Path(self.folder.name) / "ledger"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return str(path)

    def test_a_missing_one_is_an_error(self):
        with self.assertRaisesRegex(ledger.BadLedger, "nowhere: the worker wrote no ledger"):
            ledger.shapeless_waits("nowhere")

    def test_one_without_a_header_is_an_error(self):
        for lines in ((), (WAIT,), ("header",)):
            with self.assertRaisesRegex(ledger.BadLedger, "its first line is no header"):
                ledger.shapeless_waits(self.written(*lines))

    def test_waits_are_attributed_to_entries(self):
        path = self.written(HEADER, WAIT, {**WAIT, "begin_ns": 30},
                            {"event": "fallback", "op": "aten::mode", "begin_ns": 17})
        results = [{"worker": "0.1", "ns": [10, 20]}, {"worker": "0.1", "ns": [40, 50]},
                   {"crash": "ended", "worker": "0.1"}]
        ledger.charge(results, lambda _: path)
        ledger.charge(results, lambda _: path, "fallbacks", ledger.fallbacks)
        self.assertEqual(results[0]["drains"], {"aten::mode": 1})
        self.assertEqual(results[0]["fallbacks"], {"aten::mode": 1})
        self.assertEqual(results[1]["drains"], {})
        self.assertNotIn("drains", results[2])

    def test_waits_are_counted(self):
        ran = {"entry": "mode", "dtype": "float32", "verdict": "pass"}
        self.assertEqual(Drains([{**ran, "drains": {}}]).seen(), 0)
        self.assertEqual(Drains([{**ran, "drains": {"aten::mode": 2}}]).seen(), 2)


class Fallback(unittest.TestCase):
    REFUSED = {"entry": "mode", "reason": "no MPS kernel: aten::mode"}

    def verdict(self, **result):
        return with_fallback(self.REFUSED, {"problems": [], "refused": {}, "passed": 3,
                                            "both_raise": 0, "fallbacks": {"aten::mode": 3},
                                            **result})

    def test_it_fell_back(self):
        self.assertEqual(self.verdict()["verdict"], "falls back")

    def test_nothing_was_compared(self):
        for passed, both_raise in ((0, 0), (3, 3)):
            verdict = self.verdict(passed=passed, both_raise=both_raise)
            self.assertEqual(verdict["verdict"], "wrong")
            self.assertIn("nothing was compared", verdict["reason"])

    def test_another_op_or_none_fell_back(self):
        for fallbacks in ({}, {"aten::take": 1}):
            verdict = self.verdict(fallbacks=fallbacks)
            self.assertEqual(verdict["verdict"], "wrong")
            self.assertIn("aten::mode did not fall back", verdict["reason"])


if __name__ == "__main__":
    unittest.main()
