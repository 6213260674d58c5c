"""The monitor beside other users of PyTorch's dispatcher: what they do and see is the same as in a process without
the probe, and it finds the waits in what they run."""
import json
import os
import re
import subprocess
import sys
import threading
import unittest

import torch
from torch import nn
from torch.nn import functional
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
# The process without the probe prints what each work results in.
WITHOUT_PROBE = "--without-probe" in sys.argv
if WITHOUT_PROBE:
    torch.ops.load_library(os.environ["HIGHWATER_SIMMPS"])
    torch._C._has_mps = True
else:
    import python_probe as probe

torch.set_num_threads(1)
mps = torch.device("mps")
SCALAR_READ = ("scalar_read", "aten::_local_scalar_dense")


class Net(nn.Module):
    """Has a branch on a value, an op that falls back to the CPU, and one that reads values inside."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 3)

    def forward(self, inputs):
        hidden = torch.relu(self.first(inputs))
        if hidden.sum() > 0:
            hidden = hidden * 2
        chosen = functional.one_hot(hidden.argmax(1), 3 if hidden.shape[1] < 3 else -1)
        loss = functional.multi_margin_loss(hidden, hidden.argmax(1))
        return self.second(hidden) + loss + chosen.sum()


def net():
    torch.manual_seed(3)
    return Net().to(mps)


def inputs():
    torch.manual_seed(4)
    return torch.randn(4, 6).to(mps)


def waits():
    return [(each.kind, each.op) for each in probe.take()]


# What runs with the probe and without, by name; and whether its waits at level monitor are the right ones.
WORKS = {}


def works(are_right=lambda found: True):
    def add(work):
        WORKS[work.__name__] = work, are_right
        return work
    return add


def reads(count):
    return works(lambda found: found.count(SCALAR_READ) == count)


def ends_with_a_read():
    return works(lambda found: found[-1] == SCALAR_READ)


def trained(step):
    """The losses of three steps, and what Dynamo has counted."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    losses = []
    for _ in range(3):
        loss = step(inputs()).square().mean()
        loss.backward()
        losses.append(loss.item())
    counters = torch._dynamo.utils.counters
    return losses, counters["stats"]["unique_graphs"], dict(counters["graph_break"])


@reads(6)  # the branch, and the loss
def compile_eager():
    return trained(torch.compile(net(), backend="eager"))


@reads(3)
def compile_aot():
    model = net()
    return trained(torch.compile(lambda x: model.second(torch.tanh(model.first(x))), backend="aot_eager",
                                 fullgraph=True))


@works(lambda found: [kind for kind, _ in found].count("copy_to_host") == 1)
def functions():
    model = net()
    parameters = dict(model.named_parameters())

    def loss(parameters, x):
        hidden = torch.tanh(x @ parameters["first.weight"].T)
        return (hidden @ parameters["second.weight"].T).square().sum()

    grads = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, inputs())
    _, tangent = torch.func.jvp(lambda x: loss(parameters, x), (inputs(),), (inputs(),))
    hessian = torch.func.hessian(lambda x: loss(parameters, x))(inputs()[0])
    return [value.sum().item() for value in grads.values()], tangent.item(), hessian.cpu().tolist()


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x):
        scores = self.layer(x)
        loss = functional.multi_margin_loss(scores, scores.argmax(1))
        return torch.softmax(scores, -1).masked_fill(scores > 0, 0.5) + loss


@works()
def export():
    torch.manual_seed(1)
    model = Plain().to(mps)
    texts = []
    for strict in (True, False):
        program = torch.export.export(model, (inputs(),), strict=strict)
        texts += [str(program.graph), str(program.run_decompositions().graph)]
    return texts


@works()
def proxies():
    return [make_fx(lambda x: functional.multi_margin_loss(torch.softmax(x, -1), x.argmax(1)),
                    pre_dispatch=early)(inputs()).code for early in (True, False)]


@works()
def script_and_trace():
    model = net()
    scripted = torch.jit.script(model)
    traced = torch.jit.trace(model.first, inputs())
    return scripted(inputs()).sum().item(), traced(inputs()).sum().item(), \
        re.sub(r"mangle_\d+", "mangle", str(traced.graph))


@reads(6)  # the branch is taken twice for each, in forward and again in backward; and the losses
def checkpoints():
    losses = []
    for reentrant in (True, False):
        model = net()
        x = inputs().requires_grad_()
        loss = checkpoint(model, x, use_reentrant=reentrant).square().sum()
        loss.backward()
        losses.append((loss.item(), x.grad.cpu().tolist()))
    return losses


@works()
def autocast():
    with torch.autocast("mps", dtype=torch.bfloat16):
        out = net()(inputs())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        host = nn.Linear(3, 3)(torch.ones(2, 3))
    return out.dtype, out.float().sum().item(), host.dtype


@works(lambda found: found == [])
def fake_tensors():
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(inputs())
        host = fake.cpu() + 1
        svd = torch.linalg.svd(fake)[1]
        fake.copy_(host)
        return host.device, svd.shape, type(host).__name__


@ends_with_a_read()
def modes():
    seen = []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(getattr(function, "__name__", str(function)))
            return function(*args, **(kwargs or {}))

    class Dispatches(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            seen.append(str(op))
            return op(*args, **(kwargs or {}))

    with Functions(), Dispatches():
        net()(inputs()).sum().item()
    return seen


@reads(4)  # the branch, and the value
def inference_mode():
    with torch.inference_mode():
        value = net()(inputs()).sum().item()
    with torch.no_grad():
        return value, net()(inputs()).sum().item()


@ends_with_a_read()
def profiler():
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        loss = net()(inputs()).sum()
        loss.backward()
        loss.item()
    return sorted((each.key, each.count) for each in profile.key_averages())


class Own(torch.Tensor):
    pass


@ends_with_a_read()
def subclass():
    own = inputs().as_subclass(Own)
    return type(own + 1).__name__, own.sum().item()


class Double(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2 if x.sum() > -1e9 else x

    @staticmethod
    def backward(context, gradient):
        return gradient * 2 if gradient.sum() > -1e9 else gradient


@reads(2)
def own_function():
    x = inputs().requires_grad_()
    Double.apply(x).sum().backward()
    return x.grad.cpu().tolist()


class WithAndWithout(unittest.TestCase):
    def setUp(self):
        self.addCleanup(torch._dynamo.reset)
        probe.begin()
        self.addCleanup(probe.end)

    def test_results_are_those_of_a_process_without_the_probe(self):
        done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--without-probe"], check=True,
                              stdout=subprocess.PIPE, text=True)
        results = json.loads(done.stdout.splitlines()[-1])
        self.assertGreater(probe.watched(), 50)
        for name, (work, are_right) in WORKS.items():
            with self.subTest(name):
                for level in ("off", "ops", "monitor"):
                    probe.level(level)
                    probe.take()
                    self.assertEqual(str(work()), results[name], level)
                found = waits()
                self.assertTrue(are_right(found), found)
            torch._dynamo.reset()

    def test_compiles_again_for_the_level_off(self):
        """Dynamo guards on the thread's dispatch keys, which level off does without."""
        torch._dynamo.utils.counters.clear()
        compiled = torch.compile(lambda x: torch.tanh(x) * 2, backend="eager")
        for level, expected in (("monitor", 1), ("ops", 1), ("off", 2), ("monitor", 2), ("off", 2)):
            probe.level(level)
            compiled(inputs())
            self.assertEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], expected, level)


class Operators(unittest.TestCase):
    def test_an_operator_that_is_new(self):
        """Registered while the monitor is on, without a kernel for mps: its fallback has its name."""
        probe.begin()
        self.addCleanup(probe.end)
        library = torch.library.Library("monitortest", "DEF")
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CPU")
        probe.take()
        with probe.module("layer"):
            torch.ops.monitortest.twice(inputs())
        self.assertIn(("fallback", "monitortest::twice"), waits())

    def test_a_thread_of_its_own(self):
        """Nobody has it watched: it is met where it waits first."""
        probe.begin()
        self.addCleanup(probe.end)
        tensor = inputs()
        probe.take()

        def work():
            tensor.sum().item()
            tensor[tensor > 0]

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        self.assertEqual(waits(), [SCALAR_READ, ("nonzero", "aten::index")])

    def test_leaves_nothing(self):
        def tables():
            return {name: torch._C._dispatch_dump(name) for name in
                    ("aten::copy_", "aten::_local_scalar_dense", "aten::nonzero", "aten::linalg_svd")}

        probe.begin()
        probe.end()
        before = tables()
        for _ in range(3):
            probe.begin()
            net()(inputs()).sum().item()
            self.assertNotEqual(tables(), before)
            probe.end()
            self.assertEqual(tables(), before)


if __name__ == "__main__":
    if not WITHOUT_PROBE:
        unittest.main()
    print()
    print(json.dumps({name: str(work()) for name, (work, _) in WORKS.items()}))
