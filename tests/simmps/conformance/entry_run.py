"""Runs one OpInfo entry with one dtype on the CPU and on the device, and compares."""
import time
import traceback

import torch
from torch.utils._pytree import tree_leaves

from compare import Comparison, Mismatch
from layout import copy_tensor, copy_tree

SEED = 1234

# PyTorch requires their other arguments on the CPU, whatever the input's device.
HOST_ARGUMENTS = ("tensor_split",)


class Refused(Exception):
    """A refusal that real MPS shares; `kind` is its reason."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


def refusal_of(error):
    """Refused for PyTorch's errors about features that MPS lacks, else None."""
    text = " ".join(str(error).split())
    if "is not currently implemented for the MPS device" in text:
        return Refused("no MPS kernel", text.split("'")[1])
    if "MPS framework doesn't support float64" in text:
        return Refused("float64", "float64")
    if "Sparse tensors are not supported on the simulated MPS device" in text or (
            "new_compressed_tensor" in text and "mps" in text):
        return Refused("sparse", "sparse")
    return None


class Side:
    """One device's copy of a sample, and the op's result for it."""

    def __init__(self, device, sample, arguments_on_host=False):
        self.device = device
        self.sample = sample
        others = "cpu" if arguments_on_host else device
        self.inputs = (copy_tree(sample.input, device), copy_tree(list(sample.args), others),
                       copy_tree(dict(sample.kwargs), others))
        self.output = None

    def tensors(self):
        return [each for each in tree_leaves(self.inputs) if isinstance(each, torch.Tensor)]

    def leaves(self):
        return [each for each in self.tensors() if each.requires_grad]

    def forward(self, op):
        torch.manual_seed(SEED)
        first, rest, named = self.inputs
        self.output = op(first, *rest, **named)

    def differentiable(self):
        processed = self.sample.output_process_fn_grad(self.output)
        return [each for each in tree_leaves(processed)
                if isinstance(each, torch.Tensor) and each.requires_grad]

    def backward(self, outputs, cotangents):
        torch.manual_seed(SEED)
        cotangents = [copy_tensor(each, self.device) for each in cotangents]
        return torch.autograd.grad(outputs, self.leaves(), cotangents, allow_unused=True)


def names_device(sample):
    """False for a sample without tensors and devices, whose result is always on the CPU."""
    tree = (sample.input, sample.args, sample.kwargs)
    return any(isinstance(each, (torch.Tensor, torch.device)) or
               (isinstance(each, str) and each in ("cpu", "mps"))
               for each in tree_leaves(tree))


def cotangents_for(outputs):
    generator = torch.Generator().manual_seed(SEED)
    return [torch.randn(each.shape, generator=generator, dtype=torch.float32).to(each.dtype)
            for each in outputs]


def kind_of(sample):
    """What mostly determines the path that a sample takes: ranks, layouts, dtypes and switches, no sizes."""
    kinds = []
    for value in tree_leaves((sample.input, sample.args, sample.kwargs)):
        if isinstance(value, torch.Tensor):
            strided = value.layout == torch.strided
            kinds.append((value.ndim, value.dtype, value.layout, strided and value.is_contiguous(),
                          strided and value.numel() == 0))
        else:
            kinds.append(value if isinstance(value, (bool, str, torch.dtype)) else type(value))
    return tuple(kinds), tuple(sample.kwargs)


def evenly(values, most):
    """At most so many of the values, from the first to the last."""
    return values if len(values) <= most else values[::-(-len(values) // most)]


def some_of(samples, most):
    """About so many of the samples: the first of each kind, and others evenly."""
    if len(samples) <= most:
        return samples
    firsts = {}
    for number, sample in enumerate(samples):
        firsts.setdefault(kind_of(sample), number)
    chosen = evenly(list(firsts.values()), most)
    rest = sorted(set(range(len(samples))) - set(chosen))
    chosen += evenly(rest, most - len(chosen)) if len(chosen) < most else []
    return [samples[number] for number in sorted(chosen)]


def attempt(action):
    """(result, None) or (None, exception)."""
    try:
        return action(), None
    except Exception as error:  # noqa: BLE001 - whatever an op throws is compared
        return None, error


class EntryRun:
    """Runs one (entry, dtype); `result` is sent to the runner."""

    def __init__(self, entry, job):
        self.entry = entry
        self.dtype = getattr(torch, job["dtype"])
        self.job = job
        self.result = {"samples": 0, "passed": 0, "backward": 0, "both_raise": 0, "host_only": 0,
                       "bit_identical": True, "refused": {}, "problems": []}

    def run(self):
        started = time.monotonic_ns()
        for number, sample in enumerate(self.samples()):
            self.result["samples"] += 1
            self._run_sample(number, sample)
            if len(self.result["problems"]) >= 5:
                break
        torch.mps.synchronize()
        self.result["ns"] = [started, time.monotonic_ns()]
        return self.result

    def samples(self):
        torch.manual_seed(SEED)
        differentiable = (self.entry.supports_autograd and
                          self.dtype in self.entry.supported_backward_dtypes("mps") and
                          self.dtype in self.entry.supported_backward_dtypes("cpu"))
        samples = list(self.entry.sample_inputs("cpu", self.dtype, requires_grad=differentiable))
        return some_of(samples, self.job["samples"]) if self.job["samples"] else samples

    def _run_sample(self, number, sample):
        where = f"sample {number}"
        comparison = Comparison(self.job["values"], self.job["strides"], self.job["tolerance"])
        try:
            if not names_device(sample):
                self.result["host_only"] += 1
                return
            self._compare(sample, comparison)
            self.result["passed"] += 1
        except Refused as refused:
            reasons = self.result["refused"].setdefault(refused.kind, {})
            reasons[str(refused)] = reasons.get(str(refused), 0) + 1
        except Mismatch as mismatch:
            self.result["problems"].append(f"{where}: {mismatch}")
        except Exception:  # noqa: BLE001 - from the suite itself, or from copying inputs
            lines = traceback.format_exc().strip().splitlines()
            self.result["problems"].append(f"{where}: {lines[-1]} ({lines[-3].strip()})")
        self.result["bit_identical"] &= comparison.bit_identical

    def _compare(self, sample, comparison):
        cpu = Side("cpu", sample)
        mps, error = attempt(lambda: Side("mps", sample, self.entry.name in HOST_ARGUMENTS))
        if error:
            raise refusal_of(error) or error
        if not self._both(lambda side: side.forward(self.entry.op), cpu, mps, "forward"):
            return
        comparison.check(cpu.output, mps.output, "forward")
        if self.entry.name not in HOST_ARGUMENTS:
            comparison.check(cpu.tensors(), mps.tensors(), "inputs afterwards")
        self._compare_gradients(cpu, mps, comparison)

    def _compare_gradients(self, cpu, mps, comparison):
        if not cpu.leaves():
            return
        outputs = {side: side.differentiable() for side in (cpu, mps)}
        if not outputs[cpu]:
            return
        cotangents = cotangents_for(outputs[cpu])
        gradients = {}

        def backward(side):
            gradients[side] = side.backward(outputs[side], cotangents)

        if self._both(backward, cpu, mps, "backward"):
            comparison.check(gradients[cpu], gradients[mps], "gradient")
            self.result["backward"] += 1

    def _both(self, action, cpu, mps, what):
        """True if both ran, False if both raised; else raises Refused or Mismatch."""
        _, expected = attempt(lambda: action(cpu))

        def on_device():
            action(mps)
            torch.mps.synchronize()

        _, actual = attempt(on_device)
        if actual is None and expected is None:
            return True
        if actual is not None:
            refused = refusal_of(actual)
            if refused:
                raise refused
        if actual is not None and expected is not None:
            self.result["both_raise"] += 1
            return False
        text = " ".join(str(actual or expected).split())[:300]
        kind = type(actual or expected).__name__
        raise Mismatch(f"{what}: only {'mps' if actual else 'the CPU'} raises {kind}: {text}")
