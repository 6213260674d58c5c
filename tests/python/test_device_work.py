"""What the probe counts of the ops of a step, against what their sizes come to by hand.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import json
import subprocess
import sys
import textwrap
import unittest

from support import PYTHON
from test_recordings import LIMIT, PROGRAM, Recording, environment

SCRIPT = """
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("mps")
linear = nn.Linear(64, 32, bias=False).to(device)
table = nn.Embedding(1000, 8).to(device)
filters = nn.Conv2d(3, 4, 5, bias=False).to(device)
parameters = [*linear.parameters(), *table.parameters(), *filters.parameters()]
optimizer = torch.optim.SGD(parameters, 0.1)
rows = torch.ones(16, 64, device=device)
other = torch.ones(16, 64, device=device)
words = torch.arange(16, device=device)
pictures = torch.ones(2, 3, 12, 12, device=device)
for _ in range(5):
    scores = linear(rows)  # product
    vectors = table(words)  # lookup
    maps = filters(pictures)  # filters
    order = torch.randperm(1000, device=device)  # shuffle
    seen = rows.t().view(64, 16)[:4].expand(2, 4, 16)  # looks
    other.mul_(2)  # in place
    other.copy_(rows)  # copy
    loss = scores.sum() + vectors.sum() + maps.sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
"""

OPTIMIZERS = """
import torch
from torch import nn

device = torch.device("mps")
first, other = (nn.Linear(64, 32, bias=False).to(device) for _ in range(2))
of_first, of_other = (torch.optim.SGD(each.parameters(), 0.1) for each in (first, other))
rows = torch.ones(16, 64, device=device)
for _ in range(3):
    for _ in range(4):
        first(rows).square().mean().backward()
        of_first.step()
        of_first.zero_grad()
        rows.add_(0)
    for _ in range(4):
        other(rows).square().mean().backward()
        of_other.step()
        of_other.zero_grad()
"""


@unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
class DeviceWork(Recording):
    def work_of(self, script, *options):
        path = self.write("train.py", script)
        done = self.record_forked([PYTHON, path], ("--device", "sim", *options))
        self.assertEqual(done.code, 0, done.err)
        said = subprocess.run([PROGRAM, "report", "--json", self.path], env=environment(), capture_output=True,
                              text=True, timeout=LIMIT, check=True).stdout
        self.report = json.loads(said)
        return self.report["device_work"]

    def place(self, work, comment):
        number = next(i for i, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith(f"# {comment}"))
        found = [each for each in work["places"] if each["line"] == f"train.py:{number}"]
        self.assertLessEqual(len(found), 1)
        return found[0] if found else None

    def test_a_step_whose_begin_is_known_late(self):
        """With two optimizers only the next one to step tells that a step had ended."""
        work = self.work_of(OPTIMIZERS)
        (product,) = (each for each in work["places"] if each["line"] == "train.py:11")
        self.assertEqual(product["flops"], 2 * (2 * 16 * 64 * 32))
        self.assertFalse([each for each in work["places"] if each["line"] == "train.py:16"])

    def test_sizes_are_those_of_the_tensors(self):
        work = self.work_of(SCRIPT)
        self.assertEqual((work["step"], work["kind"]), (3, "estimate"))
        # Forward, and the gradient of the weight: the input needs none.
        product = self.place(work, "product")
        self.assertEqual(product["flops"], 2 * (2 * 16 * 64 * 32))
        self.assertIn("mm", product["ops"])
        # The gradient of a sum is one number, expanded.
        self.assertEqual(product["bytes"], 4 * (16 * 64 + 64 * 32 + 16 * 32) + 4 * (1 + 16 * 64 + 64 * 32))
        # Forward takes rows out of the table, and reads no more of it; the table's gradient is dense.
        lookup = self.place(work, "lookup")
        taken = 16 * 8 * 4
        self.assertGreaterEqual(lookup["bytes"], 2 * taken + 1000 * 8 * 4)
        self.assertLess(lookup["bytes"], 2 * 1000 * 8 * 4)
        self.assertEqual((lookup["flops"], lookup["largest_op"]), (0, "embedding_dense_backward"))
        # An 8 x 8 map of 4 filters of 3 x 5 x 5 for 2 pictures, and the gradient of the filters.
        filters = self.place(work, "filters")
        self.assertIn(filters["flops"] / (2 * 2 * 4 * 8 * 8 * 3 * 5 * 5), (2, 3))
        shuffle = self.place(work, "shuffle")
        self.assertEqual((shuffle["bytes"], shuffle["calls"], shuffle["shapes"]), (8000, 1, "[1000] int64"))
        self.assertIsNone(self.place(work, "looks"))
        self.assertEqual(self.place(work, "in place")["bytes"], 2 * 16 * 64 * 4)
        self.assertEqual(self.place(work, "copy")["bytes"], 2 * 16 * 64 * 4)
        self.assertAlmostEqual(sum(each["high_share"] for each in work["places"]), 1, delta=1)
        self.assertLessEqual(sum(each["low_share"] for each in work["places"]), 1)

    def test_counts_at_level_ops_what_it_counts_else(self):
        amounts = [[(each["line"], each["ops"], each["bytes"], each["flops"]) for each in
                    sorted(self.work_of(SCRIPT, "--force", "--level", level)["places"], key=lambda each: str(each["line"]))]
                   for level in ("monitor", "ops")]
        self.assertEqual(*amounts)

    def test_an_evaluation_is_counted_apart(self):
        """The first one after step 3, with the metric that follows the model, and nothing of a step."""
        evaluated = SCRIPT.replace("    optimizer.zero_grad()\n", textwrap.indent(textwrap.dedent("""
            optimizer.zero_grad()
            linear.eval()
            with torch.no_grad():
                scores = linear(rows)  # evaluates
                equal = (rows[:, None] == rows[None]).sum()  # compares
            linear.train()
            """), "    "))
        of_step = {each["line"]: each for each in self.work_of(evaluated)["places"]}
        of_evaluation = {each["line"]: each for each in self.report["evaluation_work"]["places"]}
        model, metric = (next(f"train.py:{i}" for i, line in enumerate(evaluated.splitlines(), 1)
                              if line.endswith(f"# {name}")) for name in ("evaluates", "compares"))
        self.assertFalse({model, metric} & of_step.keys())
        self.assertEqual(of_evaluation.keys(), {model, metric})
        self.assertEqual((of_evaluation[model]["flops"], of_evaluation[model]["module"]), (2 * 16 * 64 * 32, "Linear"))
        # Two times 16 x 64 floats, 16 x 16 x 64 bools written and read, and the sum.
        self.assertEqual(of_evaluation[metric]["bytes"], 2 * 16 * 64 * 4 + 2 * 16 * 16 * 64 + 8)
        self.assertIsNone(of_evaluation[metric]["module"])

    def test_a_call_without_gradients_in_a_step_is_no_evaluation(self):
        """As for labels of its own: the evaluation that comes later is counted."""
        text = SCRIPT.replace("for _ in range(5):", "for step in range(8):")
        text = text.replace("    scores = linear(rows)  # product\n", textwrap.indent(textwrap.dedent("""
            scores = linear(rows)  # product
            with torch.no_grad():
                labels = linear(rows)
            """), "    ")).replace("    optimizer.zero_grad()\n", textwrap.indent(textwrap.dedent("""
            optimizer.zero_grad()
            if step == 5:
                linear.eval()
                with torch.no_grad():
                    linear(other)  # evaluates
                linear.train()
            """), "    "))
        self.work_of(text)
        number = next(i for i, line in enumerate(text.splitlines(), 1) if line.endswith("# evaluates"))
        self.assertEqual([each["line"] for each in self.report["evaluation_work"]["places"]], [f"train.py:{number}"])

    def test_level_off_counts_nothing(self):
        self.assertIsNone(self.work_of(SCRIPT, "--level", "off"))
        self.assertIsNone(self.report["evaluation_work"])


del Recording

if __name__ == "__main__":
    unittest.main()
