"""Compares the device's results with the CPU's: structure, dtype, device, sizes, strides, values."""
import torch


class Mismatch(Exception):
    """A difference, described in one line."""


class Comparison:
    """Compares results; bit_identical tells whether all were equal to the bit."""

    def __init__(self, values=True, strides=True, tolerance=None):
        self.values = values
        self.strides = strides
        self.tolerance = tolerance  # absolute and relative; None: PyTorch's own for the dtype
        self.bit_identical = True

    def check(self, cpu, mps, where):
        """Raises Mismatch if they differ; `where` names what is compared."""
        if isinstance(cpu, torch.Tensor):
            self._check_tensor(cpu, mps, where)
        elif isinstance(cpu, (tuple, list)):
            if type(cpu) is not type(mps) or len(cpu) != len(mps):
                raise Mismatch(f"{where}: {_shortly(cpu)} on the CPU, {_shortly(mps)} on mps")
            for i, pair in enumerate(zip(cpu, mps)):
                self.check(*pair, f"{where}[{i}]")
        elif isinstance(cpu, dict):
            for key in cpu:
                self.check(cpu[key], mps[key], f"{where}[{key!r}]")
        elif isinstance(cpu, (bool, int, str, type(None), torch.dtype, torch.Size)):
            if type(cpu) is not type(mps) or cpu != mps:
                raise Mismatch(f"{where}: {cpu!r} on the CPU, {mps!r} on mps")
        elif isinstance(cpu, (float, complex)):
            self._check_values(torch.tensor(cpu), torch.tensor(mps), where)

    def _check_tensor(self, cpu, mps, where):
        if not isinstance(mps, torch.Tensor):
            raise Mismatch(f"{where}: a tensor on the CPU, {_shortly(mps)} on mps")
        if mps.device.type != "mps":
            raise Mismatch(f"{where}: is on {mps.device}")
        for what in ("dtype", "layout", "shape", "is_conj", "is_neg", "requires_grad"):
            expected, actual = _attribute(cpu, what), _attribute(mps, what)
            if expected != actual:
                raise Mismatch(f"{where}: {what} {expected} on the CPU, {actual} on mps")
        if cpu.layout != torch.strided:
            return
        if self.strides and _significant_strides(cpu) != _significant_strides(mps):
            raise Mismatch(
                f"{where}: strides {cpu.stride()} on the CPU, {mps.stride()} on mps, "
                f"shape {tuple(cpu.shape)}")
        if self.values:
            self._check_values(cpu.detach(), mps.detach().cpu(), where)

    def _check_values(self, cpu, mps, where):
        cpu, mps = _comparable(cpu), _comparable(mps)
        if _same_bits(cpu, mps):
            return
        self.bit_identical = False
        try:
            torch.testing.assert_close(mps, cpu, equal_nan=True, check_stride=False,
                                       rtol=self.tolerance, atol=self.tolerance)
        except AssertionError as problem:
            raise Mismatch(f"{where}: {' '.join(str(problem).split())[:300]}") from None


def _comparable(tensor):
    """Converts complex half, which few CPU kernels support."""
    tensor = tensor.resolve_conj().resolve_neg()
    return torch.view_as_real(tensor) if tensor.dtype == torch.complex32 else tensor


def _same_bits(a, b):
    if torch.equal(a, b):
        return True
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _attribute(tensor, name):
    value = getattr(tensor, name)
    return value() if callable(value) else value


def _significant_strides(tensor):
    """The strides that addresses of elements depend on."""
    if tensor.numel() == 0:
        return ()
    return tuple(stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1)


def _shortly(value):
    length = f" of {len(value)}" if isinstance(value, (tuple, list)) else ""
    return type(value).__name__ + length
