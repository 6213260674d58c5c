"""Finds hooks that a script registers again in each step, so that each step runs more of them."""
from __future__ import annotations

import functools
import os

# The steps of optimizers, counted from 1, after which hooks are counted.
_LOOK_AFTER = (5, 13, 29, 61, 125, 253)
# How many hooks each step must have added since the last look: what is registered at times is no pile.
_LEAST_A_STEP = 0.9
_OF_PARAMETER = ("_backward_hooks", "_post_accumulate_grad_hooks")
_OF_MODULE = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class PiledHooks:
    """The hooks of the models that were called and of their parameters, and whether each step adds to them.

    `note` is called once, with the line that the newest hook's code is at, and how many hooks a step adds.
    """

    def __init__(self, note):
        self._note = note
        self._before: tuple[int, int] | None = None  # step and hooks at the last look
        self._has_told = False

    def after_step(self, steps: int, names) -> None:
        """An optimizer has stepped as number `steps`; `names` knows the models that were called."""
        if steps not in _LOOK_AFTER or self._has_told:
            return
        count, longest = 0, {}
        for hooks in _hooks_of(names.called()):
            count += len(hooks)
            longest = max(longest, hooks, key=len)
        before, self._before = self._before, (steps, count)
        if before is None:
            return
        a_step = (count - before[1]) / (steps - before[0])
        if a_step < _LEAST_A_STEP:
            return
        line = _line_of(longest[next(reversed(longest))])
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
    seen = set()
    for model in models:
        for each, names in (*((m, _OF_MODULE) for m in model.modules()), *((p, _OF_PARAMETER) for p in model.parameters())):
            if id(each) in seen:
                continue
            seen.add(id(each))
            yield from filter(None, (getattr(each, name, None) for name in names))
