"""The public functions, and what the window may turn while a script runs."""
import unittest

from support import code, forked, run, run_both

LOOP = """
import highwater_mps as highwater, torch
model = torch.nn.Linear(2, 1, bias=False)
torch.nn.init.zeros_(model.weight)
optimizer = torch.optim.SGD(model.parameters(), 1.0)
def train():
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""


class Without(unittest.TestCase):
    def test_nothing_happens(self):
        import sys

        import highwater_mps as highwater
        self.assertNotIn("torch", sys.modules)
        self.assertEqual(highwater.knob("batch_size", 32, min=1, max=8), 32)
        with highwater.phase("augment"):
            highwater.mark("here")
        highwater.step()
        with self.assertRaisesRegex(RuntimeError, "no Highwater window waits for this process"):
            highwater.start()


class Watched(unittest.TestCase):
    def run_with(self, text, commands):
        done = run(code(LOOP + text), True, commands, forked)
        self.assertEqual(done.log.nesting_problem(), "")
        return done

    def test_knob(self):
        done = self.run_with("""
for _ in range(4):
    print(highwater.knob("size", 4, min=1, max=8), highwater.knob("rate", 0.5), highwater.knob("kind", "a", choices=["a", "b"]))
    train()
""", {2: [("set_knob", ["size", 6]), ("set_knob", ["rate", 1]), ("set_knob", ["kind", "b"])],
      3: [("set_knob", ["size", 9]), ("set_knob", ["rate", "x"]), ("set_knob", ["kind", "c"]),
          ("set_knob", ["other", 1])]})
        self.assertEqual(done.out.splitlines(), ["4 0.5 a", "4 0.5 a", "6 1.0 b", "6 1.0 b"], done.err)
        size = done.log.knobs()["size"]
        self.assertRegex(size.pop("declared_at"), r"^<string>:\d+$")
        self.assertEqual(size, {"name": "size", "value": 4, "min": 1, "max": 8})
        self.assertEqual(done.log.of("knob_turned"), [["size", 6], ["rate", 1.0], ["kind", "b"],  # taken
                                                         ["size", 6], ["rate", 1.0], ["kind", "b"]])  # refused
        marks = [text for text, in done.log.of("mark")]
        self.assertEqual(marks, ["size = 6", "rate = 1.0", "kind = b",
                                 "size stays: 9 is above its maximum of 8",
                                 "rate stays: 'x' is not a number",
                                 "kind stays: 'c' is none of 'a', 'b'",
                                 "other stays: the script has no such knob"])

    def test_the_short_name(self):
        done = self.run_with("import highwater as short\nprint(short.knob('size', 4, min=1, max=8))\nshort.mark('a')\n"
                             "train()\nhighwater.mark('b')\ntrain()", {})
        self.assertEqual(done.out.splitlines(), ["4"], done.err)
        self.assertEqual([text for text, in done.log.of("mark")], ["a", "b"])

    def test_another_highwater_in_the_environment(self):
        done = self.run_with("""
import sys, tempfile
sys.path.insert(0, tempfile.mkdtemp())
with open(sys.path[0] + "/highwater_mps.py", "w") as file: file.write("raise RuntimeError('of another version')")
del sys.modules["highwater_mps"]
import highwater_mps as again
print(again.knob("size", 4, min=1, max=8))
train()
""", {})
        self.assertEqual(done.out.splitlines(), ["4"], done.err)

    def test_a_value_that_no_knob_has_is_said_once(self):
        done = self.run_with("odd = object()\nfor _ in range(2): print(highwater.knob('odd', odd) is odd); train()", {})
        self.assertEqual(done.out.split(), ["True", "True"], done.err)
        self.assertEqual(done.err.count("knob 'odd' cannot be shown: its value, bounds and choices must be numbers"), 1)

    def test_a_knob_from_before_the_training_is_declared(self):
        done = run(code("""
import highwater_mps as highwater
size = highwater.knob("size", 4, min=1, max=8)
""" + LOOP + "train(); print(highwater.knob('size', 4, min=1, max=8))"), True, {1: [("set_knob", ["size", 6])]}, forked)
        self.assertEqual(done.out, "6\n", done.err)
        self.assertEqual(done.log.knobs()["size"]["declared_at"], "<string>:3")


    def test_phase_mark_and_step(self):
        done = self.run_with("""
highwater.step()
for i in range(2):
    train(); train()
    with highwater.phase("augment"): highwater.mark(f"epoch {i}")
    highwater.step()
""", {})
        self.assertEqual([step.micro_steps for step in done.log.steps()], [2, 2], done.err)
        self.assertEqual(done.log.phases().count("augment"), 2)
        self.assertEqual(done.log.of("mark"), [["epoch 0"], ["epoch 1"]])
        self.assertEqual(done.log.described()["steps_by"], "script")

    def test_several_streams_are_said_once(self):
        done = self.run_with("""
class Stream:
    def __init__(self, stream_id, device="mps"):
        self.stream_id, self.device = stream_id, torch.device(device)
train()
for stream in Stream(2, "cuda"), Stream(0), "others", Stream(3), Stream(4):
    if stream == "others":
        highwater.mark(stream)
        continue
    try:
        torch.accelerator.set_stream(stream)
    except (TypeError, RuntimeError):  # this is no stream of PyTorch's
        pass
    train()
""", {})
        marks = [text for text, in done.log.of("mark")]
        self.assertEqual(len(marks), 2, marks)
        self.assertEqual(marks[0], "others")  # before it there was only MPS's default stream, and one of CUDA
        self.assertIn("several streams", marks[1])

    def test_learning_rate_factor_survives_a_scheduler(self):
        done = self.run_with("""
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
for _ in range(3):
    before = model.weight[0, 0].item()
    train(); scheduler.step()
    print(before - model.weight[0, 0].item(), optimizer.param_groups[0]["lr"])
""", {1: [("set_knob", ["learning_rate_factor", 10])]})
        self.assertEqual(done.out.splitlines(), ["1.0 0.5", "5.0 0.25", "2.5 0.125"], done.err)

    def test_loader_batch_size(self):
        for more in ("", ", drop_last=True", ", num_workers=1, prefetch_factor=1"):
            done = self.run_with(f"""
from torch.utils.data import DataLoader
loader = DataLoader(torch.ones(40, 2), batch_size=4{more})
for batch in loader:
    print(len(batch)); optimizer.zero_grad(); model(batch).sum().backward(); optimizer.step()
""", {2: [("set_knob", ["dataloader_batch_size", 8])]})
            sizes = [int(line) for line in done.out.split()]
            self.assertEqual(sizes[:2], [4, 4], done.err)
            self.assertEqual(sizes[5], 8)
            self.assertEqual([step.batch for step in done.log.steps()], sizes)

    def test_pause_and_resume(self):
        done = self.run_with("train(); print(1); train(); print(2)", {1: [("pause", None), ("resume", None)]})
        self.assertEqual(done.out.split(), ["1", "2"])

    def test_stop(self):
        done = self.run_with("""
try:
    while True: train()
except KeyboardInterrupt: print("stopped")
""", {3: [("stop", None)]})
        self.assertEqual((done.code, done.out), (0, "stopped\n"), done.err)
        self.assertEqual(len(done.log.steps()), 3)


class EvaluationLasts(unittest.TestCase):
    """Marks stand for the reads of a script: those in an evaluation are planned."""

    def check(self, text, planned, unplanned):
        done = run(code(LOOP + "from torch.utils.data import DataLoader\nmark = highwater.mark\nx = torch.ones(1, 2)\n"
                        "def evaluate():\n    with torch.no_grad(): return model(x)\n" + text), True, how=forked)
        self.assertEqual((done.code, done.log.nesting_problem()), (0, ""), done.err)
        found, phases = {True: [], False: []}, []
        for name, *values, _ in done.log.calls:
            if name == "begin_phase":
                phases += values
            elif name == "end_phase":
                phases.pop()
            elif name == "mark":
                found["evaluation" in phases] += values
        self.assertEqual((found[True], found[False]), (planned, unplanned), done.err)

    def test_until_the_training_goes_on(self):
        self.check("""
train(); mark("a"); evaluate(); mark("b"); model.eval(); evaluate(); mark("c")
model.train(); mark("d"); train(); evaluate(); mark("e"); optimizer.zero_grad(); mark("f")
train(); evaluate(); mark("g"); loss = model(x).sum(); mark("h"); evaluate(); mark("i"); loss.backward(); mark("j")
""", list("bceg"), list("adfhij"))

    def test_until_a_batch_for_training_is_fetched(self):
        self.check("""
batches, others = DataLoader([x] * 3), DataLoader([x] * 2)
for epoch in range(2):
    for batch in batches:
        mark(f"fetched {epoch}"); train()
    for batch in others:
        evaluate(); mark("evaluated")
    mark("end")
""", (["evaluated"] * 2 + ["end"]) * 2, ["fetched 0"] * 3 + ["fetched 1"] * 3)

    def test_between_the_phases_of_the_script(self):
        self.check("""
train()
with highwater.phase("validate"):
    evaluate(); mark("a")
mark("b"); evaluate(); mark("c")
with highwater.phase("augment"): mark("d")
""", ["a", "c"], ["b", "d"])

    def test_in_a_dataset(self):
        """A model of its own, such as an encoder, is no evaluation of the training's."""
        self.check("""
class Encoded:
    def __len__(self): return 2
    def __getitem__(self, i): return evaluate()
for batch in DataLoader(Encoded()):
    mark("a"); train()
""", [], ["a", "a"])


class Inference(unittest.TestCase):
    LOOP = """
import highwater_mps as highwater, torch
highwater.start()
model = torch.nn.Linear(2, 1).eval()
def infer(batch=32):
    with torch.no_grad(): return model(torch.ones(batch, 2))
"""

    def steps(self, text, loop=LOOP):
        done = run(code(loop + text), True, how=forked)
        self.assertEqual((done.code, done.log.nesting_problem()), (0, ""), done.err)
        return [step.batch for step in done.log.steps()], done.log

    def test_steps_that_the_script_tells(self):
        steps, log = self.steps("for _ in range(3): infer(); infer(16); highwater.step()")
        self.assertEqual(steps, [32, 16, 32, 32])  # the first call of all was taken for an iteration
        self.assertEqual((log.described()["steps_are"], log.described()["first_step"]), ("told", 2))

    def test_the_first_told_step_attaches(self):
        steps, log = self.steps("for _ in range(4): infer(); highwater.step()",
                                self.LOOP.replace("highwater.start()", ""))
        self.assertEqual(steps, [32] * 3)
        self.assertEqual(log.described()["steps_are"], "told")

    def test_calls_are_iterations(self):
        steps, log = self.steps("for _ in range(3): infer()")
        self.assertEqual(steps, [32] * 3)
        self.assertEqual(log.described()["steps_are"], "iterations")
        self.assertEqual(log.phases(), ["forward"] * 3)

    def test_before_a_training(self):
        steps, log = self.steps("""
for _ in range(3): infer()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
infer()
for _ in range(2):
    model.train()(torch.ones(8, 2)).sum().backward()
    optimizer.step()
""")
        self.assertEqual(steps, [32] * 3 + [8] * 2)
        self.assertEqual((log.described()["steps_are"], log.described()["first_step"]), ("training", 4))


class Sizes(unittest.TestCase):
    def test_the_last_batch_is_smaller(self):
        """The loader's batch is as large as the sequences are long."""
        done = run(code("""
import torch
from torch.utils.data import DataLoader
model = torch.nn.Embedding(9, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for tokens in DataLoader(torch.ones(80, 32, dtype=torch.long), 32):
    model(tokens).sum().backward()
    optimizer.step()
"""), True, how=forked)
        self.assertEqual([step[1:4] for step in done.log.steps()], [(32, 32, 1)] * 2 + [(16, 32, 1)], done.err)

    def test_the_batch_may_come_second(self):
        done = run(code("""
import torch
from torch.utils.data import DataLoader
model = torch.nn.Embedding(9, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
lengths = iter((20, 32, 40, 24))
for tokens in DataLoader(torch.ones(112, 1, dtype=torch.long), 32):
    model(tokens.T.expand(next(lengths), -1)).sum().backward()
    optimizer.step()
"""), True, how=forked)
        self.assertEqual([step[1:3] for step in done.log.steps()], [(32, 20), (32, 32), (32, 40), (16, 24)], done.err)


class PyTorch(unittest.TestCase):
    def test_features_are_as_without(self):
        """Tracing, export, compile, copies and pickles of modules, beside the hooks."""
        _, watched = run_both(self, code("""
import copy, pickle, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2)))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
x = torch.ones(3, 4)
model(x).sum().backward(); optimizer.step()
print(torch.fx.symbolic_trace(model).code)
for strict in (True, False): print(torch.export.export(model, (x,), strict=strict).graph)
for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.jit.trace(model, x),
              torch.jit.script(model)): print(other(x).sum().item().hex())
print(torch.func.functional_call(model, dict(model.named_parameters()), x).sum().item().hex())
from torch.overrides import TorchFunctionMode
class Calls(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        print(getattr(function, "__name__", function)); return function(*args, **(kwargs or {}))
with Calls(): model(x).sum()
step = torch.compile(optimizer.step, backend="eager")
for _ in range(2):
    optimizer.zero_grad(); torch.compile(model, backend="eager")(x).sum().backward(); step()
print([p.sum().item().hex() for p in model.parameters()])
import inspect
for f in (nn.Module.__call__, torch.optim.Optimizer.__init__, torch.autograd._engine_run_backward):
    print(inspect.signature(f), f.__qualname__, inspect.getsource(f))
second = copy.deepcopy(optimizer); model(x).sum().backward(); second.step()
print(torch._dynamo.utils.counters["stats"]["unique_graphs"], len(torch._dynamo.utils.counters["graph_break"]))
"""), how=forked)
        self.assertEqual(watched.code, 0, watched.err)
        self.assertEqual(len(watched.log.steps()), 2)  # steps of a compiled optimizer are not seen
        self.assertNotIn("Highwater", watched.err)


if __name__ == "__main__":
    unittest.main()
