"""Runs scripts in forks of this process, which has imported PyTorch: two seconds less for each script.

A script sees what it would see in a process of its own: its arguments, environment and sys.path, a fresh
__main__, and a `torch` that is not in sys.modules until it is imported, so that the hooks attach as they do.
What tests the very start of a process, such as flags and PYTHONPATH, needs a process of its own.

Reads a request from stdin, a JSON object a line: arguments, environment, folder, and the files for stdout and
stderr. Answers with the pid of the script's process, and with its exit code once it has ended.
"""
import atexit
import ctypes
import gc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import threading
import types

BEFORE = set(sys.modules)
IMPORTED = {}


@atexit.register  # before PyTorch's own, so that it runs last
def keep_modules():
    """Python clears each module at its end, for which a fork would copy all memory of PyTorch's."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(IMPORTED))
    for name in IMPORTED:
        sys.modules.pop(name, None)


import torch  # noqa: E402
import torch._dynamo  # noqa: E402  the first step of any optimizer imports it

IMPORTED.update((name, module) for name, module in sys.modules.items() if name not in BEFORE)

# Where Python finds a `sitecustomize` of its own accord.
SITE_PATH = [path for path in sys.path[1:] if path not in os.environ.get("PYTHONPATH", "").split(os.pathsep)]


class ImportedTorch:
    """Finds and loads the `torch` that is there already."""

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self, is_package=True) if name == "torch" else None

    def create_module(self, spec):
        spec.origin, spec.submodule_search_locations = torch.__spec__.origin, torch.__spec__.submodule_search_locations
        return torch

    def exec_module(self, module):
        pass


def use_files(request):
    """Makes the request's files stdin, stdout and stderr."""
    wanted = [(os.devnull, os.O_RDONLY), *((request[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                                           for name in ("stdout", "stderr"))]
    for number, (path, flags) in enumerate(wanted):
        file = os.open(path, flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)


def become(request):
    """Makes this process what `python <arguments>` is when its script begins. Returns the script's code and names."""
    use_files(request)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    first, *rest = request["arguments"]
    main = types.ModuleType("__main__")
    main.__builtins__ = __builtins__
    if first == "-c":
        text, sys.argv, own = rest[0], ["-c", *rest[1:]], ""
        name = "<string>"
    else:
        name = os.path.abspath(first)  # as Python makes it
        text, sys.argv, own = open(first, encoding="utf-8").read(), [first, *rest], os.path.dirname(name)
        main.__file__ = name
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", first)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = paths + SITE_PATH
    del sys.modules["torch"]
    sys.meta_path.insert(0, ImportedTorch())
    sys.modules.pop("sitecustomize", None)
    if importlib.util.find_spec("sitecustomize"):
        importlib.import_module("sitecustomize")
    sys.path.insert(0, own)
    sys.modules["__main__"] = main
    return compile(text, name, "exec"), vars(main)


def serve():
    """Forks for each request. Returns in a fork, with its request; ends this process after the last one."""
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    while line := sys.stdin.readline():
        # A fork has only the thread that forks: locks that others hold would stay locked.
        threads = len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self") else threading.active_count()
        if threads != 1:
            sys.exit(f"{threads} threads are running: cannot fork")
        child = os.fork()
        if child == 0:
            answers.detach()
            return json.loads(line)
        print(json.dumps(child), file=answers)
        print(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])), file=answers)
    sys.exit()


if __name__ == "__main__":
    # The script runs and ends here, where nothing catches what it raises.
    exec(*become(serve()))
