"""Adds calls to a Python function in place.

The function object keeps its identity, and the code that runs keeps the file, lines and columns of the
original, so tracebacks, `inspect`, and Dynamo's rules about files see what they saw without Highwater. A
wrapper would add a frame to every traceback.
"""
from __future__ import annotations

import __future__
import ast
import copy
import inspect
import types

_FUTURE_FLAGS = __future__.annotations.compiler_flag


def surround(function, enter, leave=None, arguments=("self",), unless=None, result="") -> str:
    """Makes `function` call `entered = enter(*arguments)` first, and `leave(entered)` however it ends.

    `arguments` are names of the function's parameters. Where `unless()` is true, nothing is added. With `result`, the name
    of one of its variables, it calls `leave(entered, value)`: None where the variable has got no value.
    Returns why it cannot be done, else "".
    """
    if not hasattr(function, "__code__"):  # the script has put something else in its place
        return f"{function!r} is no function in Python"
    lacking = [name for name in arguments if name not in _parameters(function)]
    if lacking:  # another version of PyTorch: the call would fail in the user's program
        return f"{function.__module__}.{function.__qualname__} has no parameter {', '.join(lacking)}"
    names = {"enter": enter, "leave": leave, "unless": unless}
    stem = "_highwater_" + function.__qualname__.replace(".", "_").replace("<locals>", "")

    def add_calls(definition):
        body = definition.body
        call = ast.Call(_load(f"{stem}_enter"), [_load(name) for name in arguments], [])
        if leave is None:
            definition.body = [ast.Expr(call), *body]
        else:
            given = [_load(f"{stem}_entered")]
            if result:
                get = ast.Attribute(ast.Call(_load("locals"), [], []), "get", ast.Load())
                given.append(ast.Call(get, [ast.Constant(result)], []))
            end = ast.Call(_load(f"{stem}_leave"), given, [])
            definition.body = [ast.Assign([ast.Name(f"{stem}_entered", ast.Store())], call),
                               ast.Try(body, [], [], [ast.Expr(end)])]
        if unless is not None:
            definition.body = [ast.If(ast.Call(_load(f"{stem}_unless"), [], []), copy.deepcopy(body),
                                      definition.body)]

    problem = rewrite(function, add_calls)
    if not problem:
        function.__globals__.update({f"{stem}_{name}": value for name, value in names.items() if value})
    return problem


def _parameters(function):
    """The names of a function's parameters, *args and **kwargs included."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def rewrite(function, change) -> str:
    """Replaces the code of `function` by that of its syntax tree after `change(definition)`.

    What is added without a line takes the line of the definition. Returns why it cannot be done, else "".
    """
    try:
        lines, first = inspect.getsourcelines(function)
        code = _compile_changed(function, "".join(lines), first, change)
    except (OSError, TypeError, SyntaxError, ValueError) as error:
        return f"cannot read {function.__module__}.{function.__qualname__}: {error}"
    if code.co_freevars != function.__code__.co_freevars:
        return f"{function.__module__}.{function.__qualname__} has other closures than expected"
    function.__code__ = code
    return ""


def _compile_changed(function, source, first, change) -> types.CodeType:
    original = function.__code__
    # A class around a method keeps its columns, the mangling of its names, and its qualified name.
    scope = original.co_qualname if hasattr(original, "co_qualname") else function.__qualname__
    scopes = scope.split(".")[:-1]
    if len(scopes) > 1 or source[0].isspace() != bool(scopes):
        raise ValueError(f"{scope} is defined inside a function or an inner class")
    if scopes:
        source = f"class {scopes[0]}:\n{source}"
    tree = ast.parse(source)
    ast.increment_lineno(tree, first - 1 - len(scopes))
    definition = tree.body[0].body[0] if scopes else tree.body[0]
    definition.decorator_list = []
    change(definition)
    for node in ast.walk(definition):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            node.lineno = node.end_lineno = definition.lineno
            node.col_offset = node.end_col_offset = definition.col_offset
    module = compile(tree, original.co_filename, "exec", original.co_flags & _FUTURE_FLAGS, True)
    return _find_code(module, definition.name)


def _find_code(code, name) -> types.CodeType:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            if constant.co_name == name:
                return constant
            try:
                return _find_code(constant, name)
            except ValueError:
                pass
    raise ValueError(f"{name} is not a function")


def _load(name) -> ast.Name:
    return ast.Name(name, ast.Load())
