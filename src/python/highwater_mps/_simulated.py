"""What PyTorch's Python side has on a Mac only, for the simulated device."""
from __future__ import annotations


class _OnlyStream:
    """Base of torch.mps.Stream: the device's one stream."""

    def __new__(cls, **_):  # the base that this replaces has one, which refuses
        return object.__new__(cls)

    def __init__(self, *, stream_id: int | None = None):
        if stream_id != 0:
            raise NotImplementedError("the simulated mps device has only its default stream")

    stream_id = 0

    def __eq__(self, other):
        return isinstance(other, _OnlyStream)

    def __hash__(self):
        return 0

    def synchronize(self) -> None:
        import torch
        torch.mps.synchronize()


def complete(torch) -> None:
    """Adds the names that PyTorch's own Python code asks for, once the simulated device is loaded.

    Builds for Linux say that MPS is missing, which torch.manual_seed() and torch.mps.device_count() look at, and lack
    what is compiled for macOS only. Since 2.15 torch.mps.Event asks for the current stream.
    """
    bindings = torch._C
    bindings._has_mps = True
    if not hasattr(bindings, "_mps_get_name"):
        bindings._mps_get_name = lambda: "simulated"
    if hasattr(torch.mps, "current_stream") and not hasattr(bindings, "_mps_getCurrentStream"):
        torch.mps.Stream.__bases__ = (_OnlyStream,)
        bindings._mps_getCurrentStream = lambda: _OnlyStream(stream_id=0)
        bindings._mps_setStream = lambda stream: None
