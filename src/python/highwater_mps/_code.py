"""Reads the script's source for what only it tells."""
from __future__ import annotations

import ast
import functools
import inspect
import os
import textwrap
import time

from ._probe import library_folders


_STARTED = time.time()


def function_of_users(method, others: tuple[str, ...] = ()):
    """The function in Python that a method is, as it was written; None where it is not the script's. `others`: what
    the paths of code that is not the user's begin with."""
    function = inspect.unwrap(getattr(method, "__func__", method))
    code = getattr(function, "__code__", None)
    return None if code is None or code.co_filename.startswith(others or _others()) else function


def _others() -> tuple[str, ...]:
    """Path prefixes of code that is not the user's: libraries, and code without a file ("<string>")."""
    return "<", *library_folders()


def _source(code, file: str) -> tuple[str, int]:
    """The text of a class or function of that file, and the number of its first line; "" where the file has changed since
    this process began. Slow: it may read and parse the whole file."""
    if os.path.getmtime(file) > _STARTED:
        return "", 0
    lines, first = inspect.getsourcelines(code)
    return textwrap.dedent("".join(lines)), first


def _or_none(function):
    """`function`, which returns None where it fails: what it would tell is a hint, and source may be anything."""
    @functools.wraps(function)
    def careful(*args):
        try:
            return function(*args)
        except Exception:
            return None
    return careful


@_or_none
def source_lines(owner) -> tuple[str, list[str], int] | None:
    """The file of a class, of a code object or of a path, the lines of what it is, and the number of the first; None
    where the source is not the script's, not known, or has changed since this process began."""
    if getattr(owner, "co_name", "") == "<module>":  # inspect finds no more than its first statement
        owner = owner.co_filename
    file = owner if isinstance(owner, str) else inspect.getsourcefile(owner)
    if file.startswith(_others()) or os.path.getmtime(file) > _STARTED:
        return None
    if file is not owner:
        text, first = _source(owner, file)
        return (file, text.splitlines(), max(first, 1)) if text else None
    with open(owner, encoding="utf-8") as source:
        return owner, source.read().splitlines(), 1


@_or_none
def sampler_code(sampler) -> tuple[str, str] | None:
    """The first line of the class of a DataLoader's sampler, "sampler.py:17", and the number of its last; None where
    it is none of the script's."""
    return _lines_of_sampler(type(sampler))


@functools.lru_cache(maxsize=8)  # asked again at each epoch, and slow
def _lines_of_sampler(sampler_class: type) -> tuple[str, str] | None:
    cls = next((each for each in sampler_class.__mro__ if "__iter__" in each.__dict__), object)
    function = function_of_users(cls.__dict__.get("__iter__"), _others())
    if function is None:
        return None
    file = function.__code__.co_filename
    text, first = _source(cls, file)
    last = first + text.count("\n") - 1
    return (f"{os.path.basename(file)}:{first}", str(last)) if text else None


@_or_none
def kept_output(torch) -> tuple[str, str] | None:
    """Where a torch.autograd.Function of the script keeps an output as a member of ctx, "train.py:16", and its name.

    An output has ctx as its grad_fn, so that both keep each other: PyTorch's documentation asks for save_for_backward().
    """
    others = _others()
    for cls in _subclasses(torch.autograd.Function):
        for name in ("forward", "setup_context"):
            function = function_of_users(cls.__dict__.get(name), others)
            if function is None:
                continue
            file = function.__code__.co_filename
            text, first = _source(function, file)
            backward = function_of_users(cls.__dict__.get("backward"), others)
            released = set() if backward is None else _released(_source(backward, file)[0])
            line = _line_that_keeps_output(text, released, with_context=name == "forward")
            if line:
                return f"{os.path.basename(file)}:{first + line - 1}", cls.__name__
    return None


def _subclasses(cls: type):
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)


def _line_that_keeps_output(text: str, released: set[str], with_context: bool) -> int:
    """The line, counted from 1, that makes a member of ctx of a name which `forward(ctx, ...)` returns, or of the
    argument `output` of `setup_context(ctx, inputs, output)`; 0: there is none. Not one of the members `released`."""
    if not text:
        return 0
    function = ast.parse(text).body[0]
    arguments = [each.arg for each in function.args.args]
    nodes = list(_nodes(function))
    if with_context:
        outputs = {name for node in nodes if isinstance(node, ast.Return) for name in _names(node.value)}
        outputs -= set(arguments)  # an input may be handed on, and may be kept
    else:
        outputs = set(arguments[2:3])
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "mark_non_differentiable":
            outputs -= {name for each in node.args for name in _names(each)}  # they have no grad_fn
    for node in nodes:
        if not isinstance(node, ast.Assign):
            continue
        kept = [target for target in node.targets if isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name) and target.value.id == arguments[0]
                and target.attr not in released]
        # A name that is bound again stands for something else when it is returned.
        bound_later = {name for other in nodes if isinstance(other, ast.Assign) and other.lineno > node.lineno
                       for target in other.targets for name in _names(target)}
        if kept and outputs.intersection(_names(node.value)) - bound_later:
            return node.lineno
    return 0


def _released(text: str) -> set[str]:
    """The members that a backward deletes or sets to another value."""
    if not text:
        return set()
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Delete, ast.Assign))]
    return {target.attr for node in nodes for target in node.targets if isinstance(target, ast.Attribute)}


def _nodes(function):
    """What a function consists of, without the functions in it."""
    waiting = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))


def _names(value) -> list[str]:
    """The names that an expression is, or a tuple of."""
    values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
    return [each.id for each in values if isinstance(each, ast.Name)]
