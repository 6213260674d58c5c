"""Finds what hands its graph from one training step to the next, so that the graph goes back through all steps."""
from __future__ import annotations

import collections
import gc

# The nodes of graphs that are followed at most, for one tensor and for all: each takes about a microsecond.
_MOST_NODES, _MOST_NODES_OF_ALL = 30_000, 150_000
# In larger programs a look would take too long: some 100 ns an object.
MOST_OBJECTS = 3_000_000
# What is kept may have tensors of earlier steps in large numbers, all alike.
_MOST_OF_A_KIND = 4


class GrowingGraphs:
    """Notes the graphs that are alive after a step, and looks some steps later what goes back to them.

    Nodes are known by their sequence numbers (torch/csrc/autograd/function.h, sequence_nr_), as a reference would keep
    their graphs alive.
    """

    def __init__(self, torch):
        self._tensor = torch.Tensor
        self._marks: dict[int, tuple] = {}  # what kind of tensor has the graph, by the number of its newest node

    def mark(self) -> None:
        """Notes the graph of each tensor of the device that has one."""
        self._marks = {tensor.grad_fn._sequence_nr(): _kind(tensor) for tensor in self._with_graphs()}

    def carried(self):
        """A tensor whose graph goes back to one of its kind that was noted, as a hidden state that is not detached, or a
        sum of losses does; None without one."""
        marks, self._marks = self._marks, {}
        left, tried = _MOST_NODES_OF_ALL, collections.Counter()
        for tensor in self._with_graphs():
            kind = _kind(tensor)
            if tensor.grad_fn._sequence_nr() in marks or tried[kind] == _MOST_OF_A_KIND:
                continue
            tried[kind] += 1
            mark, nodes = _first_mark(tensor.grad_fn, marks, min(left, _MOST_NODES))
            if mark == kind:
                return tensor
            left -= nodes
        return None

    def _with_graphs(self) -> list:
        objects = gc.get_objects()
        if len(objects) > MOST_OBJECTS:
            return []
        return [each for each in objects if type(each) is self._tensor and each.device.type == "mps" and _has_graph(each)]


def _has_graph(tensor) -> bool:
    try:
        return tensor.grad_fn is not None
    except RuntimeError:  # a view whose base was changed in a way that has no derivative
        return False


def _kind(tensor) -> tuple:
    return tuple(tensor.shape), tensor.dtype, type(tensor.grad_fn).__name__


def _first_mark(node, marks: dict[int, tuple], most: int):
    """The mark that is the fewest nodes away, and how many were seen; None for no mark."""
    oldest = min(marks, default=0)
    seen, ahead = {node}, collections.deque([node])
    while ahead and len(seen) < most:
        for following, _ in ahead.popleft().next_functions:
            if following is None or following in seen:
                continue
            number = following._sequence_nr()
            if number in marks:
                return marks[number], len(seen)
            seen.add(following)
            if number > oldest:  # what comes before it is older still
                ahead.append(following)
    return None, len(seen)
