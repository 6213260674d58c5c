"""Finds backwards that go through the same part of a graph more than once in a step, where one would do."""
from __future__ import annotations

import collections

# Of each optimizer so many steps are looked at, once a backward has kept its graph; in all but one it must be the same.
_STEPS = 5
_LEAST_SHARE = 0.1
# Nothing is said of larger graphs, and of more in a step: each node takes about a microsecond.
_MOST_NODES, _MOST_NODES_OF_ALL, _MOST_CALLS = 30_000, 150_000, 64
_MOST_LOOKS = 4 * (_STEPS + 1)  # optimizers may step in turn


class _Call:
    """A backward, or a torch.autograd.grad(), as long as the step that it is of."""

    def __init__(self, line: str, accumulates: bool, graph: _Graph):
        self.line, self.accumulates = line, accumulates
        self.nodes, self.root = graph.nodes, graph.root
        self.parameters = frozenset(graph.parameters)  # the ids of those that it goes back to
        self.may_repeat = False
        self.gradients: dict = {}  # by the parameters' ids, as they were when it ended


class RepeatedBackwards:
    """Gradients of all parameters by torch.autograd.grad(), of losses whose sum backward() goes through again, as where
    losses are weighed by their gradients; or a backward() for each of several losses of one graph.

    `note` is called once, with the sign, the line of the calls that are repeated, that of the one that repeats them, and
    the share of the graphs' nodes that they go through. It is not called where the gradients of a loss are used by
    themselves: where they are changed before the next backward, or are those of some parameters only, and where a
    derivative is differentiated again.

    Nodes are known by their sequence numbers, as in _growing_graphs, and by their types: each of autograd's threads
    counts for itself. So two backwards have a part in common only where they go back to a parameter that both have.
    """

    def __init__(self, torch, note):
        self._tensor, self._parameter = torch.Tensor, torch.nn.Parameter
        self._plain_tensors = torch._C.DisableTorchFunction
        self._note = note
        self._is_done = self._looks = False
        self._calls: list[_Call] = []  # of the open step
        self._open: _Graph | None = None  # of the backward that runs
        self._left = _MOST_NODES_OF_ALL
        # By the optimizer: of each of its steps that were looked at the sign, the lines and the share; () for none.
        self._found: dict[int, list] = collections.defaultdict(list)

    def stop(self) -> None:
        """Nothing is looked for any more: as where another thread trains, see UnusedGradients.others_train()."""
        self._is_done = True
        self._calls, self._open = [], None

    def called(self, outputs, arguments, accumulates: bool, line_of_user) -> None:
        """A backward begins: the engine is called with `outputs` and `arguments`, see torch/autograd/graph.py,
        _engine_run_backward."""
        if self._is_done or len(arguments) < 4:
            return
        _, retains, creates, inputs = arguments[:4]
        # A backward without inputs, or a derivative by some: both may do again what is done later.
        keeps = bool(retains and not creates and accumulates != bool(inputs))
        if not self._looks:  # the next step is looked at from its begin
            self._looks = keeps
            return
        try:
            with self._plain_tensors():
                self._add(outputs, inputs, keeps, accumulates, line_of_user)
        except Exception:  # of a graph of another kind; nothing is said then
            self.stop()

    def _add(self, outputs, inputs, keeps: bool, accumulates: bool, line_of_user) -> None:
        # Others may have properties of the script's own, whose code must not run here.
        if any(type(each) is not self._tensor for each in outputs) or len(self._calls) == _MOST_CALLS:
            return self.stop()
        graph = _Graph(outputs, self._parameter)
        self._left -= len(graph.nodes)
        if graph.is_cut or self._left < 0:
            return self.stop()
        call = _Call(line_of_user(), accumulates, graph)
        # Of one loss, whose parameters are all that it is differentiated by.
        call.may_repeat = keeps and len(outputs) == 1 and outputs[0].numel() == 1 and (
            accumulates or {id(each) for each in inputs} >= call.parameters)
        if accumulates and self._are_changed(graph, bool(inputs)):
            for each in self._calls:
                each.may_repeat = each.may_repeat and not each.accumulates
        self._calls.append(call)
        self._open = graph

    def _are_changed(self, graph: _Graph, has_inputs: bool) -> bool:
        """Whether the script has changed gradients since the last backward, or takes those of some parameters."""
        before = next((each for each in reversed(self._calls) if each.accumulates), None)
        return before is not None and (has_inputs or any(
            state != before.gradients[at] for at, state in graph.gradients().items() if at in before.gradients))

    def ended(self) -> None:
        """The backward ended, or threw."""
        graph, self._open = self._open, None
        if graph is None:
            return
        try:
            with self._plain_tensors():
                self._calls[-1].gradients = graph.gradients()
        except Exception:
            self.stop()

    def stepped(self, optimizer: int) -> None:
        """An optimizer has stepped; it is known by any number."""
        if self._is_done or not self._looks:
            return
        calls, self._calls, self._left = self._calls, [], _MOST_NODES_OF_ALL
        if not calls:
            return
        found = self._found[optimizer]
        found.append(_repeated(calls))
        if len(found) > _STEPS:  # the first may have begun before
            of_lines = collections.defaultdict(list)
            for sign, line, later, share in filter(None, found[-_STEPS:]):
                of_lines[sign, line, later].append(share)
            for (sign, line, later), shares in of_lines.items():
                if len(shares) >= _STEPS - 1 and min(shares) >= _LEAST_SHARE:
                    self.stop()
                    return self._note(sign, line, later, sum(shares) / len(shares))
        if sum(map(len, self._found.values())) >= _MOST_LOOKS:
            self.stop()


def _repeated(calls: list[_Call]):
    """What of a step's last backward was gone through before: the sign, the lines and the share; () where nothing was."""
    last = calls[-1]
    if not last.accumulates:
        return ()
    repeated = collections.Counter()
    for at, each in enumerate(calls[:-1]):
        if not each.may_repeat or not each.accumulates and each.root not in last.nodes:
            continue
        later = (every.nodes for every in calls[at + 1:] if every.accumulates and every.parameters & each.parameters)
        repeated[each.line, each.accumulates] += len(each.nodes & set().union(*later))
    repeated = +repeated
    if not repeated:
        return ()
    (line, accumulates), _ = repeated.most_common(1)[0]
    number = sum(count for (_, kind), count in repeated.items() if kind is accumulates)
    sign = "repeated_backward" if accumulates else "repeated_grad"
    return sign, line, last.line, number / sum(len(each.nodes) for each in calls)


class _Graph:
    """What a backward of `outputs` goes through."""

    def __init__(self, outputs, parameter_type):
        ahead = [each.grad_fn for each in outputs if each.grad_fn is not None]
        seen = set(ahead)
        self.root = _key(ahead[0]) if ahead else None
        self.parameters = {}  # by their ids
        while ahead and len(seen) <= _MOST_NODES:
            node = ahead.pop()
            if type(node).__name__ == "AccumulateGrad" and type(node.variable) is parameter_type:
                self.parameters[id(node.variable)] = node.variable
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    ahead.append(following)
        self.is_cut = bool(ahead)
        self.nodes = {_key(each) for each in seen if each.next_functions}

    def gradients(self) -> dict:
        """The parameters' gradients and how often each was changed, by the parameters' ids."""
        return {at: None if parameter.grad is None else (parameter.grad._cdata, parameter.grad._version)
                for at, parameter in self.parameters.items()}


def _key(node) -> tuple:
    return node._sequence_nr(), type(node)
