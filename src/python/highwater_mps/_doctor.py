"""`python -m highwater_mps._doctor`, which `highwater doctor --python` runs: what works with this interpreter.

Builds the library for this interpreter's PyTorch if there is none. Prints one JSON object to stdout, in which
"problem" is "" where a script could be watched; progress of a build goes to stderr. Also runs in interpreters that
are too old for the rest of the package.
"""
import json
import os
import platform
import sys

OLDEST_PYTHON = (3, 10)


def examine():
    """What is known of this interpreter; the keys after the first problem are missing."""
    found = {"schema": 1, "interpreter": sys.executable, "python": platform.python_version(), "problem": ""}
    if sys.version_info < OLDEST_PYTHON:
        found["problem"] = "Python %s is too old; Highwater needs %d.%d or later" % ((found["python"],) + OLDEST_PYTHON)
        return found
    from highwater_mps import _library
    torch, problem = _library.find_torch()
    found["problem"] = problem
    if torch is None:
        return found
    found.update(torch=torch.version, torch_git=torch.git_version, torch_folder=torch.folder,
                 cxx_abi="new" if torch.new_abi else "old", compiler=" ".join(_library.compiler()),
                 cache=_library.cache_folder())
    native = os.environ.get(_library.NATIVE, "")
    if native and _library.prebuilt(torch, native):
        found["origin"] = "prebuilt"
    else:
        cached = os.path.join(_library.cache_folder(), _library.cache_name(torch, native))
        found["origin"] = "cached" if _library.is_sound(cached) else "built"
    path, found["problem"] = _library.find_library()
    if found["problem"]:
        del found["origin"]
        return found
    found["library"] = path
    found["problem"] = _load(path, found)
    return found


def _load(path, found):
    """Imports PyTorch and loads the library beside it. Returns why that failed, else ""."""
    import ctypes
    try:
        import torch
    except Exception as error:
        return "import torch fails: %s: %s" % (type(error).__name__, error)
    found["mps_built"] = torch.backends.mps.is_built()
    found["mps_available"] = torch.backends.mps.is_available()
    try:
        ctypes.PyDLL(path)
    except OSError as error:
        return "cannot load %s: %s" % (path, error)
    return ""


if __name__ == "__main__":
    print(json.dumps(examine()))
