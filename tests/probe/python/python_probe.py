"""The probe and the simulated device in this process. Import it before anything asks for MPS.

HIGHWATER_SIMMPS and HIGHWATER_PROBE name the two libraries.
"""
import ctypes
import os
import sys
from typing import NamedTuple

import torch

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../src/python"))
from highwater_mps import _simulated  # noqa: E402

torch.ops.load_library(os.environ["HIGHWATER_SIMMPS"])
_simulated.complete(torch)

_library = ctypes.CDLL(os.environ["HIGHWATER_PROBE"])
_library.probe_take.restype = ctypes.c_char_p
_library.probe_watched.restype = ctypes.c_uint64


class Event(NamedTuple):
    """A wait or a fallback; times in ns of the system's monotonic clock."""
    begin: int
    end: int
    thread: str
    kind: str
    op: str
    phase: str
    module: str
    site: str

    def described(self):
        """All but its times."""
        return self[2:]


def begin():
    """Begins to observe, at level monitor."""
    if _library.probe_begin():
        raise RuntimeError("a probe has begun already")


def end():
    _library.probe_end()


def level(name):
    """Changes the level: off, monitor or ops."""
    if _library.probe_level(name.encode()):
        raise ValueError(f"no level {name}")


def phase(name):
    if _library.probe_phase(name.encode()):
        raise ValueError(f"no phase {name}")


def watched():
    """The number of ops that are watched."""
    return _library.probe_watched()


def take():
    """The events since the last call, ordered by begin."""
    lines = _library.probe_take().decode().splitlines()
    fields = [line.split("\t") for line in lines]
    return [Event(int(each[0]), int(each[1]), *each[2:]) for each in fields]


class module:
    """A module of the model, as a context."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        _library.probe_enter(self.name.encode())

    def __exit__(self, *_):
        _library.probe_leave()


def finish_device():
    """Completes the ledger of the simulated device."""
    ctypes.CDLL(os.environ["HIGHWATER_SIMMPS"]).highwater_simmps_finish()
