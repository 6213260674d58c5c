"""Found by every Python that `highwater run` starts, through PYTHONPATH; waits there for `import torch`.

Imports only what the interpreter has loaded anyway, since most of these processes never train. Some run in an old
Python: 3.6 loads this file too, and Python 2 passes over one that raises an ImportError.
"""
import _frozen_importlib
import atexit
import os
import sys
from _frozen_importlib_external import PathFinder, spec_from_file_location
from _thread import get_ident

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.dirname(_FOLDER)
# No import statement can have this name, so packages of the user's own are no obstacle.
_ATTACHED = "highwater-attached"
# The package's own name, and a short one, which is also that of somebody else's package on PyPI.
_NAME, _SHORT_NAME = "highwater_mps", "highwater"
# The script may remove its variables.
_ENVIRONMENT = {name: value for name, value in os.environ.items()
                if name.startswith("HIGHWATER_") or name in ("HOME", "XDG_CACHE_HOME")}
_SOCKET = _ENVIRONMENT.get("HIGHWATER_SCRIPT_SOCKET", "")
# Python 3.10 and 3.11 also ask finders that have only find_module.
_find_by_module = getattr(_frozen_importlib, "_find_spec_legacy", lambda finder, name, path: None)


def _note(sign, text="-"):
    """Tells `highwater run`, as `_attach.Window.note` does, how far this program came; it looks if nothing trains."""
    try:
        os.symlink(text, os.path.join(os.path.dirname(_SOCKET), sign))
    except (OSError, ValueError):
        pass


def _spec_of_package(name):
    """Of the package that this file belongs to, by the name `name`."""
    return spec_from_file_location(name, os.path.join(_PACKAGE, "__init__.py"), submodule_search_locations=[_PACKAGE])


class _Finder:
    """Finds torch as the finders behind it do, and is told when its import has finished.

    Also finds the package that this file belongs to: by its own name before any other, since another Highwater's may be
    of another version; by the short one where the script has no other of that name. It stays where it is: another
    thread may be walking through `sys.meta_path`.
    """

    def __init__(self):
        self._asking = set()
        self._torch_was_imported = False

    def find_spec(self, name, path=None, target=None):
        if name == _NAME:
            return _spec_of_package(name)
        if name != _SHORT_NAME and (name != "torch" or self._torch_was_imported):
            return None
        question = name, get_ident()
        if question in self._asking:  # by a finder that asks all others
            return None
        self._asking.add(question)
        try:
            spec = self._find_behind(name, path, target)
        finally:
            self._asking.discard(question)
        if name == _SHORT_NAME:
            return spec or _spec_of_package(name)
        if spec is None:
            _note("no-torch", sys.executable)
        elif hasattr(spec.loader, "exec_module"):
            try:
                # Asking for the spec, as importlib.util.find_spec does, imports nothing; only the loader does.
                spec.loader = _Loader(spec.loader, self.torch_imported)
            except Exception:
                pass  # a spec that cannot be changed
        return spec

    def _find_behind(self, name, path, target):
        finders = list(sys.meta_path)
        while finders and finders.pop(0) is not self:
            pass
        for finder in finders:
            if hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
            else:
                spec = _find_by_module(finder, name, path)
            if spec is not None:
                return spec
        return None

    def torch_imported(self, torch):
        self._torch_was_imported = True
        try:
            self.package("_attach").torch_imported(torch, _ENVIRONMENT)
        except Exception as error:
            _note("unwatched", "%.500r" % (error,))
            try:
                sys.stderr.write("Highwater: cannot watch this PyTorch: %r\n" % (error,))
            except Exception:
                pass  # of whatever the script has put there

    @staticmethod
    def package(module):
        """The module of that name in the package that this file belongs to."""
        if _ATTACHED not in sys.modules:
            _frozen_importlib._load(_spec_of_package(_ATTACHED))
        name = _ATTACHED + "." + module
        __import__(name)
        return sys.modules[name]

    def note_end(self):
        """Python ends."""
        if "torch" in sys.modules and not self._torch_was_imported:
            _note("missed")


class _Loader:
    """Loads a module as `loader` does, in all else is as `loader`, and calls `imported(module)` afterwards."""

    def __init__(self, loader, imported):
        self._loader = loader
        self._imported = imported

    def __getattr__(self, name):
        if name == "_loader":  # of a copy that is being made
            raise AttributeError(name)
        return getattr(self._loader, name)

    def exec_module(self, module):
        for owner, name in ((getattr(module, "__spec__", None), "loader"), (module, "__loader__")):
            if getattr(owner, name, None) is self:
                setattr(owner, name, self._loader)
        _note("importing")
        try:
            self._loader.exec_module(module)
        except Exception as error:  # the script may go on without it
            _note("unimportable", "%.500r" % (error,))
            raise
        self._imported(module)

    if sys.version_info >= (3, 8):
        # Tracebacks leave out the import system's frames, and so this one.
        exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")


def _run_the_users_own():
    """Runs the sitecustomize that this file hides, as if it had been found first."""
    sys.path[:] = [path for path in sys.path if path != _FOLDER]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = sys.modules["sitecustomize"] = _frozen_importlib.module_from_spec(spec)
    spec.loader.exec_module(module)


if _SOCKET:
    _note("python")
    _finder = _Finder()
    sys.meta_path.insert(0, _finder)
    atexit.register(_finder.note_end)
_run_the_users_own()
