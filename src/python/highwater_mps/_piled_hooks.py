"""Finds hooks that a script registers again in each step, so that each step runs more of them."""
from __future__ import annotations

import functools
import os

# The steps of optimizers, counted from 1, after which hooks are counted.
_LOOK_AFTER = (5, 13, 29, 61, 125, 253)
# How many hooks a model or parameter must have got in each step since the last look. Two optimizers step in turn.
_LEAST_A_STEP = 0.45
_OF_PARAMETER = ("_backward_hooks", "_post_accumulate_grad_hooks")
_OF_MODULE = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class PiledHooks:
    """The hooks of the models that were called and of their parameters, and whether each step adds to them.

    `note` is called once, with the line that the newest hook's code is at, and how many hooks a step adds.
    """

    def __init__(self, note):
        self._note = note
        self._step, self._counts = 0, {}  # of the last look: hooks by the id of what holds them, and its kind of hooks
        self._grew = set()  # since the look before that
        self._has_told = False

    def after_step(self, steps: int, names) -> None:
        """An optimizer has stepped as number `steps`; `names` knows the models that were called."""
        if steps not in _LOOK_AFTER or self._has_told:
            return
        try:
            self._look(steps, names)
        except Exception:  # of a model of another class; nothing is said then
            self._has_told = True

    def _look(self, steps, names):
        hooks = dict(_hooks_of(names.called()))
        least = _LEAST_A_STEP * (steps - self._step)
        added = {key: len(each) - self._counts[key] for key, each in hooks.items() if key in self._counts}
        grew = {key for key, count in added.items() if count >= least}
        # What is registered once, as by a tool that watches the training, grows at one look only.
        piled = grew & self._grew
        a_step = sum(added[key] for key in piled) / (steps - self._step)
        self._step, self._counts, self._grew = steps, {key: len(each) for key, each in hooks.items()}, grew
        if not piled:
            return
        newest = hooks[max(piled, key=lambda key: added[key])]
        line = _line_of(newest[next(reversed(newest))])
        if line:
            self._has_told = True
            self._note(line, a_step)


def _line_of(hook) -> str:
    """Where the code of a hook begins: "train.py:30"; "" for code that is not Python's."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    hook = getattr(hook, "__func__", hook)
    code = getattr(hook, "__code__", None) or getattr(type(hook).__call__, "__code__", None)
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}" if code is not None else ""


def _hooks_of(models):
    for model in models:
        for each, names in (*((m, _OF_MODULE) for m in model.modules()), *((p, _OF_PARAMETER) for p in model.parameters())):
            for name in names:
                hooks = getattr(each, name, None)
                if hooks is not None:
                    yield (id(each), name), hooks
