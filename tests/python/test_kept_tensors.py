"""What is said to keep a tensor of each step, of scripts that keep one in different ways.

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import json
import os
import subprocess
import sys
import textwrap
import unittest

from support import PYTHON
from test_recordings import LIMIT, PROGRAM, Recording, environment

SCRIPT = """
import collections
import time
import torch
from torch import nn

model = nn.Linear(64, 64).to("mps")
optimizer = torch.optim.SGD(model.parameters(), 0.01)
{made}

def train():
    rows = torch.ones(256, 64, device="mps")
    {local}
    for step in range(200):
        time.sleep(0.01)
        outputs = model(rows)
        loss = outputs.square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        {keep}
        kept = collections.deque([outputs], maxlen=4)
    print(loss.item())

train()
"""


@unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
class KeptTensors(Recording):
    def growth_of(self, made="", local="", keep=""):
        """Evidence and line of the finding on growth; None without one. The line that keeps has the comment."""
        text = SCRIPT.format(made=textwrap.dedent(made), local=local, keep=keep)
        path = self.write("train.py", text)
        done = self.record_forked([PYTHON, path], ("--device", "sim", "--force"))
        self.assertEqual(done.code, 0, done.err)
        self.line = next((f"train.py:{i}" for i, line in enumerate(text.splitlines(), 1) if "# keeps" in line), "")
        said = subprocess.run([PROGRAM, "report", "--json", self.path], env=environment(), capture_output=True,
                              text=True, timeout=LIMIT, check=True).stdout
        found = [each for each in json.loads(said)["findings"] if each["kind"] == "memory_growth"]
        return (found[0]["evidence"], found[0]["line"]) if found else None

    def check_names(self, what, **script):
        evidence, line = self.growth_of(**script)
        self.assertIn(what, evidence)
        self.assertEqual(line, self.line)

    def test_a_variable_of_the_function_that_trains(self):
        self.check_names("; history, a list, got 8 tensors in 8 steps, at train.py:",
                         local="history = []", keep="history.append((step, outputs.detach()))  # keeps")

    def test_a_member_of_an_object(self):
        made = """
            class Log:
                def __init__(self):
                    self.rows = {"all": collections.deque()}
                def note(self, outputs):
                    self.rows["all"].append(outputs)  # keeps
            log = Log()
            """
        self.check_names("; Log.rows['all'], a deque, got 8 tensors in 8 steps", made=made, keep="log.note(outputs)")

    def test_a_metric_of_a_library_at_the_line_that_feeds_it(self):
        """As those of torchmetrics: what grows is a member of its own, and the script's line is a call."""
        metric = """
            class Curve:
                def __init__(self):
                    self.scores = []
                def update(self, scores):
                    self.scores.append(scores)
                def compute(self):
                    return 0.0
                def reset(self):
                    self.scores.clear()
            """
        site = os.path.join(self.folder, "lib", "python3.11", "site-packages")
        os.makedirs(site)
        with open(os.path.join(site, "curves.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(metric))
        self.check_names("; Curve.scores, a list of a metric with reset(), got 8 tensors in 8 steps, at train.py:",
                         made=f"import sys; sys.path.append({site!r}); import curves; curve = curves.Curve()",
                         keep="curve.update(outputs.detach())  # keeps")

    def test_a_sum_of_losses_that_keeps_its_graph(self):
        self.check_names("; the graph of total, at train.py:", local="total = 0.0",
                         keep="total += (outputs * rows.sigmoid()).mean()  # keeps")

    def test_a_graph_rather_than_a_list_of_small_values_beside_it(self):
        made = """
            sizes = []
            def note(outputs, total):
                sizes.append(outputs.detach().mean())
                return total + (outputs * outputs.sigmoid()).mean()
            """
        self.check_names("; the graph of total, at train.py:", made=made, local="total = 0.0",
                         keep="total = note(outputs, total)  # keeps")

    def test_averages_of_an_optimizer_that_keep_their_graph(self):
        made = """
            class Averages:
                def __init__(self):
                    self.squares = [torch.zeros(256, 64, device="mps") for _ in range(2)]
                def update(self, outputs):
                    for i in range(2):
                        self.squares[i] = 0.9 * self.squares[i] + 0.1 * outputs ** 2  # keeps
            averages = Averages()
            """
        self.check_names("; the graph of Averages.squares, at train.py:", made=made, keep="averages.update(outputs)")

    def test_what_is_bounded_is_not_accused(self):
        self.assertIsNone(self.growth_of(made="recent = collections.deque(maxlen=4)", keep="recent.append(outputs)"))


del Recording

if __name__ == "__main__":
    unittest.main()
