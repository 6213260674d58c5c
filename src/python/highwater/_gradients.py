"""Finds models for which backward computes gradients that no optimizer uses."""
from __future__ import annotations

import weakref

# The steps of optimizers, counted from 1, after which it is looked for; the one after each confirms what was found.
_LOOK_AFTER = (3, 10, 30, 100, 300)
# The least share of the parameters with gradients that no optimizer has.
_LEAST_SHARE = 0.2


class UnusedGradients:
    """A teacher that is called without torch.no_grad(), or a part of a model that is not trained and not frozen.

    `optimizers` are those that are alive, and can be iterated over.
    """

    def __init__(self, optimizers):
        self._optimizers = optimizers
        self._suspect = None  # its module, weakly; one of its parameters; what that parameter's gradient was
        self._module = lambda: None  # the model that has most of them, weakly
        self._was_training = True
        self._has_told = False
        self.share = 0.0  # of the parameters that have gradients, by their elements

    def after_step(self, steps: int, names) -> None:
        """An optimizer has stepped as number `steps`; `names` knows the models that were called."""
        try:
            if self._suspect is not None:
                self._confirm(*self._suspect)
                self._suspect = None
            elif steps in _LOOK_AFTER and self._module() is None:
                self._suspect = self._look(names)
        except Exception:  # of a parameter of another class; nothing is said then
            self._suspect = None

    def are_of(self, module) -> bool:
        """Whether `module` is a model that no optimizer trains, and that gets gradients though it was put in eval()."""
        return not self._was_training and self._module() is module

    def awaits_call_of(self, module) -> bool:
        """Whether `module` is a model that was found, at its first call since: that is where it is used."""
        if self._has_told or self._module() is not module:
            return False
        self._has_told = True
        return True

    def _look(self, names):
        used = {id(parameter) for optimizer in self._optimizers for group in optimizer.param_groups
                for parameter in group["params"]}
        seen, elements, unused = set(), 0, []
        for module in names.called():
            missed = 0
            first = None
            for parameter in module.parameters():
                if id(parameter) in seen or parameter.grad is None:
                    continue
                seen.add(id(parameter))
                elements += parameter.numel()
                if id(parameter) not in used:
                    missed += parameter.numel()
                    first = parameter if first is None else first
            if missed:
                unused.append((missed, module, first))
        share = sum(missed for missed, _, _ in unused) / max(elements, 1)
        if share < _LEAST_SHARE:
            return None
        self.share = share
        _, module, parameter = max(unused, key=lambda each: each[0])
        return weakref.ref(module), parameter, (id(parameter.grad), parameter.grad._version)

    def _confirm(self, module, parameter, before) -> None:
        """A gradient may be left over from an optimizer that has gone: one that is used by none is computed anew."""
        if parameter.grad is None or (id(parameter.grad), parameter.grad._version) == before:
            return
        found = module()
        if found is not None:
            self._module, self._was_training = module, found.training
