"""The monitor beside other users of PyTorch's dispatcher: what they do and see is the same with it and without,
and it finds the waits in what they run."""
import os
import re
import threading
import unittest

os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"

import python_probe as probe
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
mps = torch.device("mps")
SCALAR_READ = ("scalar_read", "aten::_local_scalar_dense")


class Net(nn.Module):
    """Has a branch on a value, and an op that falls back to the CPU."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 3)

    def forward(self, inputs):
        hidden = torch.relu(self.first(inputs))
        if hidden.sum() > 0:
            hidden = hidden * 2
        return self.second(hidden)


def net():
    torch.manual_seed(3)
    return Net().to(mps)


def inputs():
    torch.manual_seed(4)
    return torch.randn(4, 6).to(mps)


def waits():
    return [(each.kind, each.op) for each in probe.take()]


class WithAndWithout(unittest.TestCase):
    def setUp(self):
        probe.begin()
        self.addCleanup(torch._dynamo.reset)
        self.addCleanup(probe.end)

    def both(self, work):
        """work()'s result at the levels off and monitor, which must be equal; and the waits at monitor."""
        probe.level("off")
        without = work()
        probe.take()
        probe.level("monitor")
        self.assertGreater(probe.watched(), 50)
        found = work()
        self.assertEqual(str(found), str(without))
        return waits()

    def test_compile_eager(self):
        def work():
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            model = net()
            compiled = torch.compile(model, backend="eager")
            losses = []
            for _ in range(3):
                loss = compiled(inputs()).square().mean()
                loss.backward()
                losses.append(loss.item())
            counters = torch._dynamo.utils.counters
            return losses, counters["stats"]["unique_graphs"], dict(counters["graph_break"])

        found = self.both(work)
        self.assertEqual(found.count(SCALAR_READ), 6)  # the branch, and the loss

    def test_compile_aot(self):
        def work():
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            model = net()
            compiled = torch.compile(lambda x: model.second(torch.tanh(model.first(x))), backend="aot_eager",
                                     fullgraph=True)
            losses = []
            for _ in range(3):
                loss = compiled(inputs()).square().mean()
                loss.backward()
                losses.append(loss.item())
            return losses, torch._dynamo.utils.counters["stats"]["unique_graphs"]

        found = self.both(work)
        self.assertEqual(found.count(SCALAR_READ), 3)

    def test_recompiles_only_where_the_level_changes(self):
        """Dynamo guards on the thread's dispatch keys: a change of level costs one compilation."""
        def compilations():
            return torch._dynamo.utils.counters["stats"]["unique_graphs"]

        torch._dynamo.utils.counters.clear()
        compiled = torch.compile(lambda x: torch.tanh(x) * 2, backend="eager")
        probe.level("monitor")
        for _ in range(3):
            compiled(inputs())
        self.assertEqual(compilations(), 1)
        for level in ("ops", "monitor"):
            probe.level(level)
            compiled(inputs())
        self.assertEqual(compilations(), 1)

    def test_func(self):
        def work():
            model = net()
            parameters = dict(model.named_parameters())

            def loss(parameters, x):
                hidden = torch.tanh(x @ parameters["first.weight"].T)
                return (hidden @ parameters["second.weight"].T).square().sum()

            grads = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, inputs())
            _, tangent = torch.func.jvp(lambda x: loss(parameters, x), (inputs(),), (inputs(),))
            hessian = torch.func.hessian(lambda x: loss(parameters, x))(inputs()[0])
            return [value.sum().item() for value in grads.values()], tangent.item(), hessian.cpu().tolist()

        found = self.both(work)
        self.assertEqual([kind for kind, _ in found].count("copy_to_host"), 1)

    def test_export(self):
        class Plain(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(6, 3)

            def forward(self, x):
                return torch.softmax(self.layer(x), -1)

        def work():
            torch.manual_seed(1)
            model = Plain().to(mps)
            texts = []
            for strict in (True, False):
                program = torch.export.export(model, (inputs(),), strict=strict)
                texts += [str(program.graph), str(program.run_decompositions().graph)]
            return texts

        self.both(work)

    def test_make_fx(self):
        from torch.fx.experimental.proxy_tensor import make_fx

        def work():
            return [make_fx(lambda x: torch.softmax(x, -1).sum(), pre_dispatch=early)(inputs()).code
                    for early in (True, False)]

        self.both(work)

    def test_script_and_trace(self):
        def work():
            model = net()
            scripted = torch.jit.script(model)
            traced = torch.jit.trace(model.first, inputs())
            return scripted(inputs()).sum().item(), traced(inputs()).sum().item(), \
                re.sub(r"mangle_\d+", "mangle", str(traced.graph))

        self.both(work)

    def test_checkpoint(self):
        def work():
            losses = []
            for reentrant in (True, False):
                model = net()
                x = inputs().requires_grad_()
                loss = checkpoint(model, x, use_reentrant=reentrant).square().sum()
                loss.backward()
                losses.append((loss.item(), x.grad.cpu().tolist()))
            return losses

        found = self.both(work)
        # The branch on a value is taken twice for each, in forward and again in backward; and the losses.
        self.assertEqual(found.count(SCALAR_READ), 6)

    def test_autocast(self):
        def work():
            with torch.autocast("mps", dtype=torch.bfloat16):
                out = net()(inputs())
            with torch.autocast("cpu", dtype=torch.bfloat16):
                host = nn.Linear(3, 3)(torch.ones(2, 3))
            return out.dtype, out.float().sum().item(), host.dtype

        self.both(work)

    def test_fake_tensors(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        def work():
            with FakeTensorMode() as mode:
                fake = mode.from_tensor(inputs())
                host = fake.cpu() + 1
                svd = torch.linalg.svd(fake)[1]
                fake.copy_(host)
                return host.device, svd.shape, type(host).__name__

        found = self.both(work)
        self.assertEqual(found, [("copy_to_device", "aten::copy_")])  # of the real inputs

    def test_modes(self):
        from torch.overrides import TorchFunctionMode
        from torch.utils._python_dispatch import TorchDispatchMode

        class Functions(TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(getattr(function, "__name__", str(function)))
                return function(*args, **(kwargs or {}))

        class Dispatches(TorchDispatchMode):
            def __torch_dispatch__(self, op, types, args=(), kwargs=None):
                seen.append(str(op))
                return op(*args, **(kwargs or {}))

        seen = []

        def work():
            seen.clear()
            with Functions(), Dispatches():
                net()(inputs()).sum().item()
            return list(seen)

        found = self.both(work)
        self.assertEqual(found[-1], SCALAR_READ)

    def test_inference_mode(self):
        def work():
            with torch.inference_mode():
                value = net()(inputs()).sum().item()
            with torch.no_grad():
                return value, net()(inputs()).sum().item()

        found = self.both(work)
        self.assertEqual(found.count(SCALAR_READ), 4)  # the branch, and the value

    def test_profiler(self):
        def work():
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
                loss = net()(inputs()).sum()
                loss.backward()
                loss.item()
            return sorted((each.key, each.count) for each in profile.key_averages())

        found = self.both(work)
        self.assertEqual(found[-1], SCALAR_READ)

    def test_subclass(self):
        class Own(torch.Tensor):
            pass

        def work():
            own = inputs().as_subclass(Own)
            return type(own + 1).__name__, own.sum().item()

        found = self.both(work)
        self.assertEqual(found[-1], SCALAR_READ)

    def test_own_function(self):
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(context, x):
                return x * 2 if x.sum() > -1e9 else x

            @staticmethod
            def backward(context, gradient):
                return gradient * 2 if gradient.sum() > -1e9 else gradient

        def work():
            x = inputs().requires_grad_()
            Double.apply(x).sum().backward()
            return x.grad.cpu().tolist()

        found = self.both(work)
        self.assertEqual(found.count(SCALAR_READ), 2)


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
    unittest.main()
