"""Finds models for which backward computes gradients that no optimizer uses."""
from __future__ import annotations

import collections
import weakref

from ._modules import unwrapped

# The steps of optimizers, counted from 1, after which it is looked for; the one after each confirms what was found.
_LOOK_AFTER = (3, 10, 30, 100, 300)
# The least share of the parameters with gradients that no optimizer has.
_LEAST_SHARE = 0.2
# In these steps of optimizers, counted from 1, it is looked for what is dropped, which must happen so often. In the first
# ones a scaler may still look for its scale, and what is called more often is no part of a training in turns.
_FIRST_FOR_DROPPED, _STEPS_FOR_DROPPED = 10, 60
_LEAST_DROPPED = 5
_MOST_CALLS = 64


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
    have gradients, over all steps. What is also fed by the model that is trained needs its gradients, and is not meant.
    """

    def __init__(self, optimizers, note):
        self._optimizers, self._note = optimizers, note
        self._steps, self._is_done = 0, False
        self._calls: list = []  # (the model, weakly; the line) since an optimizer has stepped
        self._hooks: dict = {}  # of the first parameters of models that may be meant, by the parameters' ids
        self._computed: set[int] = set()  # the ids of those that got gradients since an optimizer has stepped
        self._pending: dict = {}  # (line, model, share) by the id of the optimizer that has not used its gradients
        # By the ids of optimizers: in how many steps of others, how often cleared, and how often used after all.
        self._regions, self._dropped, self._used = collections.Counter(), collections.Counter(), collections.Counter()

    @property
    def looks(self) -> bool:
        return not self._is_done and len(self._calls) < _MOST_CALLS

    def others_train(self) -> None:
        """See UnusedGradients.others_train(). Hooks stay, as there."""
        self._is_done = True

    def called(self, module, line_of_call) -> None:
        """A model is called with gradients, outside of any other."""
        if self.looks:
            self._calls.append((weakref.ref(module), line_of_call()))

    def skipped(self, optimizer) -> None:
        """A scaler left out the step of an optimizer: its gradients are not finite."""
        self._pending.pop(id(optimizer), None)
        self._calls.clear()
        self._computed.clear()

    def after_step(self, optimizer) -> None:
        if self._is_done:
            return
        calls, self._calls = self._calls, []
        computed, self._computed = self._computed, set()
        self._steps += 1
        if self._steps > _STEPS_FOR_DROPPED:
            self._end()
            return
        try:
            if self._pending.pop(id(optimizer), None):
                self._used[id(optimizer)] += 1
            self._look(optimizer, calls if len(calls) < _MOST_CALLS else [], computed)
        except Exception:  # of a parameter of another class; nothing is said then
            self._end()

    def cleared(self, optimizer) -> None:
        """The gradients of an optimizer's parameters are about to be set to zero."""
        found = self._pending.pop(id(optimizer), None)
        if found is None or self._is_done:
            return
        self._dropped[id(optimizer)] += 1
        count = self._dropped[id(optimizer)]
        if count >= _LEAST_DROPPED and count > 4 * self._used[id(optimizer)]:
            line, model, share = found
            share *= self._regions[id(optimizer)] / (self._steps - _FIRST_FOR_DROPPED)
            self._end()
            self._note(line, model, min(share, 1.0))

    def _end(self) -> None:
        self._is_done = True
        self._calls.clear()
        self._pending.clear()
        for hook in self._hooks.values():
            hook.remove()
        self._hooks.clear()

    def _look(self, optimizer, calls, computed) -> None:
        """Notes the models that were called only before the first one that `optimizer` trains, and got gradients."""
        used = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        models = {id(module): module for module in (ref() for ref, _ in calls) if module is not None}
        trained = {at for at, module in models.items() if any(id(each) in used for each in module.parameters())}
        order = [id(ref()) for ref, _ in calls]
        first = next((i for i, at in enumerate(order) if at in trained), None)
        if first is None:
            self._pending.clear()
            return
        for i in range(first):
            if order[i] not in models or order[i] in order[:i] or order[i] in order[first:]:
                continue
            module = models[order[i]]
            own = [each for each in module.parameters() if each.requires_grad and each.is_leaf]
            owner = next((each for each in self._optimizers if each is not optimizer and own and _has(each, own[0])), None)
            if owner is None:
                continue
            if id(own[0]) not in self._hooks:
                self._hooks[id(own[0])] = own[0].register_post_accumulate_grad_hook(self._note_computed)
            elif id(own[0]) in computed and self._steps > _FIRST_FOR_DROPPED:
                elements = sum(each.numel() for each in own)
                others = sum(each.numel() for group in optimizer.param_groups for each in group["params"])
                self._regions[id(owner)] += 1
                self._pending.setdefault(id(owner), (calls[i][1], class_of(module), elements / (elements + others)))

    def _note_computed(self, parameter) -> None:
        self._computed.add(id(parameter))


def _has(optimizer, parameter) -> bool:
    return any(each is parameter for group in optimizer.param_groups for each in group["params"])


def class_of(module) -> str:
    """The class of a model, without what wraps it."""
    return type(unwrapped(module)).__name__
