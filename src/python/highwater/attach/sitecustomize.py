"""Found by every Python that `highwater run` starts, through PYTHONPATH; waits there for `import torch`.

Imports only what the interpreter has loaded anyway, since most of these processes never train.
"""
import os
import sys
from _frozen_importlib_external import PathFinder

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_PACKAGES = os.path.dirname(os.path.dirname(_FOLDER))


def _note(sign, text="-"):
    """Tells `highwater run`, as `_attach.Window.note` does, how far this program came; it looks if nothing trains."""
    socket = os.environ.get("HIGHWATER_SCRIPT_SOCKET", "")
    try:
        if socket:
            os.symlink(text, os.path.join(os.path.dirname(socket), sign))
    except OSError:
        pass


class _Finder:
    """Finds torch as the other finders do, and is told when its import has finished.

    Also finds the package `highwater` that this file belongs to, installed or not.
    """

    def find_spec(self, name, path=None, target=None):
        if name == "highwater":
            return PathFinder.find_spec(name, [_PACKAGES])
        if name != "torch":
            return None
        for finder in list(sys.meta_path):
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                return self._watched(spec)
        _note("no-torch", sys.executable)
        return None

    def _watched(self, spec):
        loader = spec.loader
        run = getattr(loader, "exec_module", None)
        if run is None:
            return spec

        def exec_module(module):
            del loader.exec_module
            run(module)
            try:
                from highwater._attach import torch_imported
                torch_imported(module)
            except Exception as error:
                print(f"Highwater: cannot watch this PyTorch: {error!r}", file=sys.stderr)
            sys.meta_path.remove(self)

        # Asking for the spec, as importlib.util.find_spec does, imports nothing; only this call does.
        loader.exec_module = exec_module
        return spec


def _run_the_users_own():
    """Runs the sitecustomize that this file hides, as if it had been found first."""
    sys.path[:] = [path for path in sys.path if path != _FOLDER]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from _frozen_importlib import module_from_spec
    module = sys.modules["sitecustomize"] = module_from_spec(spec)
    spec.loader.exec_module(module)


if os.environ.get("HIGHWATER_SCRIPT_SOCKET"):
    _note("python")
    sys.meta_path.insert(0, _Finder())
_run_the_users_own()
