"""Finds what keeps more of a script's tensors with each step: a list, deque or dictionary, or a graph."""
from __future__ import annotations

import collections
import gc
import inspect
import os
import re
import sys
import time
import typing

from ._code import source_lines
from ._growing_graphs import MOST_OBJECTS, GrowingGraphs

# The steps after which the device's memory is read. Where it has grown since the last reading, what holds tensors is
# listed, and once or twice more after so many steps each.
_LOOK_AFTER = (10, 30, 60, 120, 240, 480, 960)
_STEPS_BETWEEN = 8
# A list takes some 100 ms: a training that has not gone on for so many seconds is not held up, nor is one of which
# looks that found nothing would take more than this share of the time.
_LEAST_SECONDS = 1.0
_MOST_SHARE = 0.05
# A small leak is no finding: bytes a step.
_LEAST_BYTES_A_STEP = 16 * 1024
# How many tensors must have been added in each step.
_LEAST_A_STEP = 0.45
_MOST_IN_ELEMENT = 16
# A container that has got less than this share of the growth is not its cause.
_LEAST_SHARE = 0.25
_ADDS = r"(?:\.(?:append|appendleft|add|extend|insert|setdefault|update)\(|\]\s*=(?!=)|\+=)"


class KeptTensors:
    """What keeps more tensors with each step.

    `note` is called once, with the line that adds to it, "train.py:40" ("" where it is not found), and what it is,
    "FeatureTap.features['stage2'], a list, got 8 tensors in 8 steps"; or `note_graph`, with the line that computes it,
    and the name of the tensor whose graph goes back through the steps before.
    """

    def __init__(self, torch, note, note_graph):
        self._torch, self._note, self._note_graph = torch, note, note_graph
        self._graphs = GrowingGraphs(torch)
        self._looks = list(_LOOK_AFTER)  # that are to come
        self._bytes, self._step = None, 0  # of the last reading
        self._listed_at, self._lengths = 0, {}  # of the last list, 0 for none: number of elements by id
        self._grew_before = False  # what is listed
        self._growth = 0  # bytes between the last two readings
        self._graph_before = ""  # the name of what the last look found to hand its graph on
        self._rests_until = time.monotonic() + _LEAST_SECONDS
        self._spent = 0.0  # seconds, since the last rest
        self._has_told = False

    def is_due(self, step: int) -> bool:
        """Whether look() is to be called, as step `step` has ended and more memory is in use than at the last reading."""
        try:
            if self._has_told:
                return False
            if self._listed_at:
                return step >= self._listed_at + _STEPS_BETWEEN
            if not self._looks or step < self._looks[0]:
                return False
            self._looks.pop(0)
            return self._has_grown(step) and time.monotonic() >= self._rests_until
        except Exception:  # of a PyTorch without these readings
            self._has_told = True
            return False

    def look(self, step: int) -> None:
        """Lists what holds tensors, or compares it with the last list: holds the training up for some 100 ms."""
        began = time.monotonic()
        try:
            if self._listed_at:
                self._compare(step)
            else:
                self._list(step, {id(each): len(each) for each, _ in self._containers()})
                self._graphs.mark()
        except Exception:  # objects may be anything; nothing is said then
            self._has_told = True
        self._spent += time.monotonic() - began
        if not self._listed_at:
            self._rests_until = time.monotonic() + self._spent / _MOST_SHARE
            self._spent = 0.0

    def _has_grown(self, step) -> bool:
        """Whether the device's memory has grown since the last reading."""
        now, before, least = self._torch.mps.current_allocated_memory(), self._bytes, step - self._step
        self._bytes, self._step, self._growth = now, step, now - (before or 0)
        return before is not None and now - before >= _LEAST_BYTES_A_STEP * least

    def _list(self, step, lengths):
        self._listed_at, self._lengths = step, lengths

    def _compare(self, step):
        steps = step - self._listed_at
        least = _LEAST_A_STEP * steps
        before, is_first = self._lengths, not self._grew_before
        self._listed_at, self._lengths, self._grew_before = 0, {}, False
        if not self._has_grown(step):
            return
        grown = [(len(each) - before[id(each)], tensor.nbytes, each) for each, tensor in self._containers()
                 if len(each) - before.get(id(each), len(each)) >= least]
        if not grown:
            self._look_at_graphs(step)
            return
        if is_first:  # a list of one step may have got the place of one of another
            self._grew_before = True
            self._list(step, {id(each): len(each) for _, _, each in grown})
            return
        more, size, keeper = max(grown, key=lambda each: each[0] * each[1])
        grown.clear()
        # A list of small values does not explain what a graph beside it takes.
        if more * size < _LEAST_SHARE * self._growth and self._look_at_graphs(step):
            return
        found = _find(keeper)
        if found.name:
            self._has_told = True
            metric = " of a metric with reset()" if _is_metric(found.holder) else ""
            self._note(_line_that_adds(found) or _line_that_calls(found.holder),
                       f"{found.name}, a {type(keeper).__name__}{metric}, got {more} tensors in {steps} steps")

    def _look_at_graphs(self, step) -> bool:
        """Whether something hands its graph on: told where two looks in a row find it, as numbers of nodes may be equal
        by chance."""
        tensor = self._graphs.carried()
        found = _find(tensor) if tensor is not None else _NOT_FOUND
        before, self._graph_before = self._graph_before, found.name
        if found.name and found.name == before:
            self._has_told = True
            self._note_graph(_line_that_adds(found, computed=True), found.name)
        elif found.name:
            self._graphs.mark()
            self._list(step, {})
        return bool(found.name)

    def _containers(self):
        """The containers whose newest element is or holds a tensor of the device, with that tensor."""
        objects = gc.get_objects()
        if len(objects) > MOST_OBJECTS:
            return
        for each in objects:
            kind = type(each)
            if kind is list or kind is collections.deque:
                newest = each[-1] if each else None
            elif kind is dict:
                newest = next(reversed(each.values())) if each else None
            else:
                continue
            tensor = self._tensor_in(newest)
            if tensor is not None:
                yield each, tensor

    def _tensor_in(self, element, depth=2):
        kind = type(element)
        if issubclass(kind, self._torch.Tensor):
            return element if element.device.type == "mps" else None
        if depth and kind in (tuple, list, dict) and len(element) <= _MOST_IN_ELEMENT:
            for inner in element.values() if kind is dict else element:
                tensor = self._tensor_in(inner, depth - 1)
                if tensor is not None:
                    return tensor
        return None


def _locals_of(frame):
    """The names and values of a frame's variables.

    Before Python 3.13 the frame keeps the dictionary of these, and so would keep the tensors of its step alive: it is
    emptied, unless the script has it too, by locals().
    """
    variables = frame.f_locals
    found = list(variables.items())
    is_snapshot = frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.version_info < (3, 13)
    if is_snapshot and sys.getrefcount(variables) <= 3:  # the frame's, ours and the argument's
        variables.clear()
    return found


class _Found(typing.NamedTuple):
    """How the script reaches an object."""
    name: str  # "FeatureTap.features['stage2']"; "" where it is not known
    owner: object  # whose member or variable it is: a class, a code object, or the path of a file
    holder: object = None  # whose member it is


_NOT_FOUND = _Found("", None)


def _find(thing, depth: int = 3) -> _Found:
    frame, ours = sys._getframe(1), os.path.dirname(__file__)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(ours):
            name = next((name for name, value in _locals_of(frame) if value is thing), None)
            if name is not None:
                return _Found(name, frame.f_code)
        frame = frame.f_back
    for holder in gc.get_referrers(thing):
        if type(holder) is dict:
            key = next((key for key, value in holder.items() if value is thing), None)
            if key is None:
                continue
            if "__name__" in holder and "__spec__" in holder:  # of a module
                return _Found(str(key), holder.get("__file__"))
            owner = next((each for each in gc.get_referrers(holder) if getattr(each, "__dict__", None) is holder), None)
            if owner is not None:
                return _Found(f"{type(owner).__name__}.{key}", type(owner), owner)
            if depth and (found := _find(holder, depth - 1)).name:
                return found._replace(name=f"{found.name}[{key!r}]")
        elif type(holder) is list and depth:
            if (found := _find(holder, depth - 1)).name:
                return found
        elif hasattr(holder, "__dict__") and not isinstance(holder, type):
            key = next((key for key, value in vars(holder).items() if value is thing), None)
            if key is not None:
                return _Found(f"{type(holder).__name__}.{key}", type(holder), holder)
    return _NOT_FOUND


def _is_metric(thing) -> bool:
    """Whether it has what metrics have in torchmetrics, torcheval and ignite, whose state grows until reset()."""
    return all(callable(getattr(type(thing), method, None)) for method in ("update", "compute", "reset"))


def _line_that_adds(found: _Found, computed: bool = False) -> str:
    """The first line of the script's class, function or file that adds to what is called so there, or, of one that is
    `computed`, computes it from itself: "train.py:40"; "" for none."""
    plain = rf"\b{re.escape(_plain(found.name))}\b"
    from_itself = rf"|^[\w\s.,()\[\]*]*{plain}[^=(<>!]*=(?!=).*{plain}" if computed else ""
    return _first_line(found.owner, rf"{plain}(?!\s*:).*{_ADDS}{from_itself}")


def _line_that_calls(holder) -> str:
    """The first line of the script that calls an object of a library, or a method of it, and not to make or to empty it."""
    if holder is None:
        return ""
    found = _find(holder)
    return found.name and _first_line(
        found.owner, rf"\b{re.escape(_plain(found.name))}(?:\.(?!reset\b|compute\b|to\b)\w+)?\(")


def _plain(name: str) -> str:
    """The variable or member that the script writes: of a module's, "Model._modules['metric']", its name."""
    module = re.search(r"\._modules\['(\w+)'\]$", name)
    return module[1] if module else name.split("[")[0].rsplit(".", 1)[-1]


def _first_line(owner, pattern: str) -> str:
    file, lines, first = source_lines(owner) or ("", [], 0)
    searched = re.compile(pattern)
    number = next((number for number, line in enumerate(lines, first) if searched.search(line)), 0)
    return f"{os.path.basename(file)}:{number}" if number else ""
