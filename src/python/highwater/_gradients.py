"""Finds models for which backward computes gradients that no optimizer uses."""
from __future__ import annotations

import weakref

from ._modules import unwrapped

# The steps of optimizers, counted from 1, after which it is looked for; the one after each confirms what was found.
_LOOK_AFTER = (3, 10, 30, 100, 300)
# The least share of the parameters with gradients that no optimizer has.
_LEAST_SHARE = 0.2


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


def class_of(module) -> str:
    """The class of a model, without what wraps it."""
    return type(unwrapped(module)).__name__
