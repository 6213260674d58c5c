"""Keeps torch.compile away from our own functions.

Where Dynamo skips a frame, it still looks at the functions called there, and would compile the hooks: that
costs graph breaks that the user's script does not have.
"""
from __future__ import annotations

import types


def exempt(torch, module) -> None:
    """Tells Dynamo to run all functions of a Python module as they are. Costs nothing at their calls."""
    skip = _skip_function(torch._C._dynamo.eval_frame)
    for value in vars(module).values():
        members = vars(value).values() if isinstance(value, type) else (value,)
        for member in members:
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
                _skip(skip, function.__code__)


def _skip_function(eval_frame):
    """What tells Dynamo to skip a code object; PyTorch has renamed it."""
    if hasattr(eval_frame, "skip_code"):
        return eval_frame.skip_code
    action = eval_frame._FrameAction.SKIP
    strategy = eval_frame._FrameExecStrategy(action, action)
    return lambda code: eval_frame.set_code_exec_strategy(code, strategy)


def _skip(skip, code) -> None:
    skip(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _skip(skip, constant)


def callback_getter(torch):
    """A function that returns None where Dynamo compiles nothing of what is called, so that Uncompiled adds nothing."""
    return getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", bool)


class Uncompiled:
    """A context in which Dynamo compiles nothing, for calls of functions that are not ours."""

    __slots__ = ("_set", "_before")

    def __init__(self, torch):
        self._set = torch._C._dynamo.eval_frame.set_eval_frame

    def __enter__(self):
        self._before = self._set(None)

    def __exit__(self, *_):
        self._set(self._before)
