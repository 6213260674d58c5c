"""Finds backwards that go through the same part of a graph more than once in a step."""
from __future__ import annotations

import collections

from ._growing_graphs import has_graph

# The nodes of one graph that are followed at most: each takes about a microsecond.
_MOST_NODES = 30_000
# So many steps are looked at, once a backward has kept its graph; in all but one it must be the same.
_STEPS = 5
_LEAST_SHARE = 0.1


class _Call:
    """A backward, or a torch.autograd.grad()."""

    def __init__(self, line: str, accumulates: bool, may_repeat: bool, nodes: set[int]):
        self.line, self.accumulates, self.may_repeat, self.nodes = line, accumulates, may_repeat, nodes


class RepeatedBackwards:
    """Gradients of parameters by torch.autograd.grad(), of a graph that backward() goes through again, as where the
    weights of losses are balanced by the gradients of each; or a backward() for each of several losses of one graph.

    `note` is called once, with the sign, the line of the calls that are repeated, that of the one that repeats them, and
    the share of the graphs' nodes that they go through. Derivatives that are differentiated again are not meant, nor
    gradients that are set to zero before the next backward, as then each is used by itself.

    Nodes are known by their sequence numbers, as in _growing_graphs.
    """

    def __init__(self, torch, note):
        self._parameter = torch.nn.Parameter
        self._note = note
        self._is_done = self._looks = False
        self._calls: list[_Call] = []  # of the open step
        self._found: list[tuple] = []  # of the steps that were looked at: the sign, the lines and the share; () for none

    def called(self, outputs, arguments, accumulates: bool, line_of_user) -> None:
        """A backward begins: the engine is called with `outputs` and `arguments`, see torch/autograd/graph.py,
        _engine_run_backward."""
        if self._is_done or len(arguments) < 4:
            return
        _, retains, creates, inputs = arguments[:4]
        may_repeat = bool(retains and not creates and (accumulates or self._are_parameters(inputs)))
        if self._looks:
            self._calls.append(_Call(line_of_user(), accumulates, may_repeat, _nodes(outputs)))
        elif may_repeat:
            self._looks = True  # from the next step on, which is looked at from its begin
            self._calls = []

    def _are_parameters(self, inputs) -> bool:
        return bool(inputs) and all(isinstance(each, self._parameter) for each in inputs)

    def cleared(self) -> None:
        """Gradients are set to zero."""
        for each in self._calls:
            each.may_repeat = each.may_repeat and not each.accumulates

    def stepped(self) -> None:
        """An optimizer has stepped."""
        if self._is_done or not self._looks:
            return
        calls, self._calls = self._calls, []
        if not calls:
            return
        self._found.append(_repeated(calls))
        if len(self._found) <= _STEPS:  # the first may have begun before
            return
        self._is_done = True
        of_lines = collections.defaultdict(list)
        for sign, line, later, share in filter(None, self._found[1:]):
            of_lines[sign, line, later].append(share)
        for (sign, line, later), shares in of_lines.items():
            if len(shares) >= _STEPS - 1 and min(shares) >= _LEAST_SHARE:
                self._note(sign, line, later, sum(shares) / len(shares))


def _repeated(calls: list[_Call]):
    """What of a step's last backward was gone through before: the sign, the lines and the share; () where nothing was."""
    last = calls[-1]
    before = [each for each in calls[:-1] if each.may_repeat]
    if not last.accumulates or not before:
        return ()
    repeated = collections.Counter()
    for at, each in enumerate(before):
        later = last.nodes.union(*(every.nodes for every in before[at + 1:] if every.accumulates))
        repeated[each.line, each.accumulates] += len(each.nodes & later)
    (line, accumulates), most = repeated.most_common(1)[0]
    if not most:
        return ()
    sign = "repeated_backward" if accumulates else "repeated_grad"
    return sign, line, last.line, sum(repeated.values()) / sum(len(each.nodes) for each in calls)


def _nodes(outputs) -> set[int]:
    """The sequence numbers of the nodes that a backward of `outputs` goes through."""
    seen = {each.grad_fn for each in outputs if has_graph(each)}
    ahead = list(seen)
    while ahead and len(seen) < _MOST_NODES:
        for following, _ in ahead.pop().next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                ahead.append(following)
    return {each._sequence_nr() for each in seen if each.next_functions}
