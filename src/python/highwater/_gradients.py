"""Finds models for which backward computes gradients that no optimizer uses."""
from __future__ import annotations

import weakref

from ._modules import unwrapped

# The steps of optimizers, counted from 1, after which it is looked for; the one after each confirms what was found.
_LOOK_AFTER = (3, 10, 30, 100, 300)
# The least share of the parameters with gradients that no optimizer has.
_LEAST_SHARE = 0.2
# For so many steps of optimizers it is looked for what is dropped, which must happen so often.
_STEPS_FOR_DROPPED = 60
_LEAST_DROPPED = 5


class _Suspect:
    """A model with gradients that no optimizer uses, as long as a step: until then they may be left over."""

    def __init__(self, module, parameter, share: float, is_whole: bool):
        self.module = weakref.ref(module)
        self.share = share
        self.is_whole = is_whole  # no optimizer uses any parameter of it
        self._parameter = weakref.ref(parameter)
        self._version = parameter._version
        self._is_computed = False
        self._hook = parameter.register_post_accumulate_grad_hook(self._note)

    def _note(self, _) -> None:
        self._is_computed = True

    def holds(self) -> bool:
        """Whether the gradient was computed since, and the script has not updated the parameter by hand."""
        self._hook.remove()
        parameter = self._parameter()
        return self._is_computed and parameter is not None and parameter._version == self._version


class UnusedGradients:
    """A teacher that is called without torch.no_grad(), or a part of a model that is not trained and not frozen.

    `optimizers` are those that are alive, and can be iterated over.
    """

    def __init__(self, optimizers):
        self._optimizers = optimizers
        self._suspect: _Suspect | None = None
        self._found: _Suspect | None = None
        self._was_training = True
        self._has_told = False
        self._others_train = False

    @property
    def share(self) -> float:
        """Of the parameters that have gradients, by their elements."""
        return self._found.share if self._found is not None else 0.0

    def others_train(self) -> None:
        """Another thread calls a model with gradients. A backward there changes `.grad` without the GIL, and who reads
        it meanwhile may get a tensor that is freed: nothing is looked for any more."""
        self._others_train = True

    def after_step(self, steps: int, names) -> None:
        """An optimizer has stepped as number `steps`; `names` knows the models that were called."""
        if self._others_train:  # a hook of _Suspect stays: a backward may just go through the parameter's hooks
            return
        try:
            if self._suspect is not None:
                suspect, self._suspect = self._suspect, None
                module = suspect.module()
                if suspect.holds() and module is not None:
                    self._found, self._was_training = suspect, module.training
            elif steps in _LOOK_AFTER and self._found is None:
                self._suspect = self._look(names)
        except Exception:  # of a parameter of another class; nothing is said then
            self._suspect = None

    def are_of(self, module) -> bool:
        """Whether `module` is a model that no optimizer trains, and that gets gradients though it was put in eval()."""
        found = self._found
        return found is not None and found.is_whole and not self._was_training and found.module() is module

    def awaits_call_of(self, module) -> bool:
        """Whether `module` is the model that was found, at its first call since that keeps a graph: there it is used."""
        if self._has_told or self._found is None or self._found.module() is not module:
            return False
        self._has_told = True
        return True

    def _look(self, names):
        used = {id(parameter): parameter for optimizer in self._optimizers for group in optimizer.param_groups
                for parameter in group["params"]}
        seen, elements, unused = set(), 0, []
        for module in names.called():
            missed, whole, first = 0, True, None
            for parameter in module.parameters():
                # Python changes threads at none of these reads.
                if self._others_train:
                    return None
                if not parameter.requires_grad or not parameter.is_leaf or parameter.grad is None:
                    continue
                is_used = id(parameter) in used
                whole = whole and not is_used
                if id(parameter) in seen:
                    continue
                seen.add(id(parameter))
                elements += parameter.numel()
                if not is_used:
                    missed += parameter.numel()
                    first = parameter if first is None else first
            if missed:
                unused.append((missed, whole, module, first))
        # Where an optimizer's parameters are in no model that is called, or none of a model's are, gradients are copied
        # by hand: to master weights, or to a shared model.
        if not unused:
            return None
        for at, parameter in used.items():
            if self._others_train or (parameter.grad is not None and at not in seen):
                return None
        share = sum(missed for missed, *_ in unused) / elements
        if not _LEAST_SHARE <= share < 1:
            return None
        _, whole, module, parameter = max(unused, key=lambda each: each[0])
        return _Suspect(module, parameter, share, whole)


class DroppedGradients:
    """A model that feeds the one that an optimizer trains, gets gradients with it, and has them cleared before its own
    optimizer steps: a generator in a step of the discriminator, without torch.no_grad() or detach().

    `note` is called once, with the line that calls the model there, its class, and its share of the parameters that
    have gradients then. What is fed by the model that is trained needs its gradients, and is not meant.
    """

    def __init__(self, optimizers, note):
        self._optimizers, self._note = optimizers, note
        self._steps_left = _STEPS_FOR_DROPPED
        self._calls: list = []  # (the model, weakly; the line) since an optimizer has stepped
        # Of each model that was called its first parameter, weakly, and what that had as its gradient then, by its id.
        self._gradients: dict = {}
        self._pending: dict = {}  # (line, model, share) by the id of the optimizer that has not used its gradients
        self._dropped: dict[int, int] = {}  # how often: of the ids of optimizers
        self._used: dict[int, int] = {}

    @property
    def looks(self) -> bool:
        return self._steps_left > 0

    def others_train(self) -> None:
        """See UnusedGradients.others_train()."""
        self._steps_left = 0

    def called(self, module, line: str) -> None:
        """A model is called with gradients, outside of any other."""
        self._calls.append((weakref.ref(module), line))

    def after_step(self, optimizer) -> None:
        if not self.looks:
            return
        self._steps_left -= 1
        calls, self._calls = self._calls, []
        try:
            if self._pending.pop(id(optimizer), None):
                self._used[id(optimizer)] = self._used.get(id(optimizer), 0) + 1
            self._look(optimizer, calls)
        except Exception:  # of a parameter of another class; nothing is said then
            self._steps_left = 0

    def cleared(self, optimizer) -> None:
        """The gradients of an optimizer's parameters are about to be set to zero."""
        if not self.looks:
            return
        for group in optimizer.param_groups:
            for each in group["params"]:
                ref, state = self._gradients.get(id(each), (None, None))
                if state is not None:  # zeros are written to it, or it is dropped
                    self._gradients[id(each)] = ref, (state[0], state[1] + 1)
        dropped = self._pending.pop(id(optimizer), None)
        if dropped is None:
            return
        count = self._dropped[id(optimizer)] = self._dropped.get(id(optimizer), 0) + 1
        if count >= _LEAST_DROPPED and count > 4 * self._used.get(id(optimizer), 0):
            self._steps_left = 0
            self._note(*dropped)

    def _look(self, optimizer, calls):
        """Notes the models that were called before the first one that `optimizer` trains, and got gradients."""
        is_before = True
        for ref, line in calls:
            module = ref()
            first, elements = _trained(module) if module is not None else (None, 0)
            if first is None:
                continue
            owner = next((each for each in self._optimizers if _has(each, first)), None)
            is_before = is_before and owner is not optimizer
            _, before = self._gradients.setdefault(id(first), (weakref.ref(first), None))
            now = _state(first.grad)
            if is_before and owner is not None and now is not None and now != before and id(owner) not in self._pending:
                own = sum(each.numel() for group in optimizer.param_groups for each in group["params"])
                self._pending[id(owner)] = line, class_of(module), elements / (elements + own)
        if is_before:  # no model that it trains was called
            self._pending.clear()
        for at, (ref, _) in self._gradients.items():
            parameter = ref()
            self._gradients[at] = ref, _state(parameter.grad) if parameter is not None else None


def _trained(module):
    """A model's first parameter with a gradient of its own, and the elements of all these; None for none."""
    parameters = [each for each in module.parameters() if each.requires_grad and each.is_leaf]
    return (parameters[0] if parameters else None), sum(each.numel() for each in parameters)


def _has(optimizer, parameter) -> bool:
    return any(each is parameter for group in optimizer.param_groups for each in group["params"])


def _state(gradient):
    """What changes when a gradient is added to; None for none."""
    return None if gradient is None else (id(gradient), gradient._version)


def class_of(module) -> str:
    """The class of a model, without what wraps it."""
    return type(unwrapped(module)).__name__
