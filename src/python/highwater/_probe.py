"""The seam between the hooks and the native part of the probe."""
from __future__ import annotations

import ctypes
import json
import os
import site
import sys
import sysconfig


# The knob that the loader of the training offers by itself.
LOADER_BATCH = "dataloader_batch_size"


class Probe:
    """What the hooks tell. This one ignores all of it, as a process that is not watched does.

    Module names and phases are UTF-8 bytes, so that the frequent calls convert nothing. All methods may
    be called by any thread.
    """

    def start(self, socket_path: str, token: str) -> str:
        """Connects to the window. Returns why that failed, else ""."""
        return ""

    def stop(self) -> None:
        """Sends what is left and ends the probe's threads; returns within about a second."""

    def module_calls(self, outermost, missing):
        """What `Module.__call__` is to call first and last, in place of the two methods below; or None.

        See hw_python_calls in native/python_calls.h.
        """
        return None

    def enter_module(self, name: bytes) -> None:
        """A module is called. `name` is the class of a model, or a path below it: "encoder.layers.0"."""

    def leave_module(self) -> None:
        """The module that was entered last on this thread returns or throws."""

    def begin_phase(self, key: bytes) -> None:
        """A phase begins on this thread; phases nest."""

    def end_phase(self) -> None:
        """The innermost phase of this thread ends."""

    def begin_step(self, number: int, late: bool) -> None:
        """See `StepListener`."""

    def end_step(self, number: int, batch: int, length: int, micro_steps: int, late: bool) -> None:
        """See `StepListener`. Batch and length are guesses, 0 where there is none."""

    def note_step_begin(self) -> None:
        """See `StepListener`."""

    def note_step_end(self) -> None:
        """See `StepListener`."""

    def describe(self, text: str) -> None:
        """What is known of the training, as a JSON object. Later calls add to earlier ones."""

    def mark(self, text: str) -> None:
        """A marker on the time axis."""

    def watch_thread(self) -> None:
        """The script started this thread."""

    def add_knob(self, text: str) -> None:
        """A setting that the user may turn, as a JSON object: name, value, and min, max, choices or warning."""

    def poll_commands(self) -> list[tuple[str, object]]:
        """The commands that came since the last call, as (name, value).

        A probe that loses its window while the training is paused returns ("resume", None).
        """
        return []

    def set_level(self, name: str) -> None:
        """Changes what is observed: off, monitor or ops."""


class NativeProbe(Probe):
    """The native part, as a library that exports a function hw_NAME for each method.

    Builtin functions of the library take the place of the frequent ones.
    """

    def __init__(self, path: str):
        # PyDLL keeps the GIL: a call lasts less than a switch of threads would.
        self._library = ctypes.PyDLL(path)
        self._starting = ctypes.CDLL(path)  # releases the GIL, as connecting and stopping may wait
        text, number, flag = ctypes.c_char_p, ctypes.c_uint64, ctypes.c_bool
        self.enter_module = self._bind("enter_module", text)
        self.leave_module = self._bind("leave_module")
        self.begin_phase = self._bind("begin_phase", text)
        self.end_phase = self._bind("end_phase")
        self.begin_step = self._bind("begin_step", number, flag)
        self.end_step = self._bind("end_step", number, number, number, number, flag)
        self.note_step_begin = self._bind("note_step_begin")
        self.note_step_end = self._bind("note_step_end")
        self.watch_thread = self._bind("watch_thread")
        self._describe = self._bind("describe", text, number, number, number)
        self._mark = self._bind("mark", text)
        self._offer_batch_size = self._bind("offer_batch_size")
        self._facts = {}
        self._batch_knob = ""  # the one that the window's slider turns
        self._set_level = self._bind("set_level", text)
        self._poll = self._bind("poll_commands", result=text)

    def module_calls(self, outermost, missing):
        if not self._bind("has_python_calls", result=ctypes.c_bool)():
            return None
        make = self._bind("python_calls", ctypes.py_object, ctypes.py_object, result=ctypes.py_object)
        calls = make(outermost, missing)
        enter, leave = calls.pop("enter_module"), calls.pop("leave_module")
        vars(self).update(calls)
        return enter, leave

    def _bind(self, name, *arguments, result=None):
        function = getattr(self._library, f"hw_{name}")
        function.argtypes = arguments
        function.restype = result
        return function

    def start(self, socket_path, token):
        prepare = self._bind("prepare", *[ctypes.c_char_p] * 4)
        prepare(_bytes(script_name()), _bytes("\n".join(library_folders())),
                _bytes(os.environ.get("HIGHWATER_SCRIPT_SIMMPS", "")),
                _bytes(os.environ.get("HIGHWATER_SCRIPT_LEVEL", "")))
        function = self._starting.hw_start
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        function.restype = ctypes.c_char_p
        return (function(_bytes(socket_path), _bytes(token)) or b"").decode(errors="replace")

    def stop(self):
        function = self._starting.hw_stop
        function.argtypes = [ctypes.c_bool, ctypes.c_char_p]
        # Set where the interpreter prints a traceback at its end.
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        interrupted = isinstance(error, KeyboardInterrupt)
        text = "" if error is None or interrupted else f"{type(error).__name__}: {error}"
        function(interrupted, _bytes(text[:2000]))

    def describe(self, text):
        self._facts.update(json.loads(text))
        known = self._facts.get
        self._describe(_bytes(known("model") or ""), known("parameters") or 0, known("batch_guess") or 0,
                       known("length_guess") or 0)

    def mark(self, text):
        self._mark(_bytes(text))

    def add_knob(self, text):
        name = json.loads(text)["name"]
        if name == "batch_size" or (name == LOADER_BATCH and not self._batch_knob):
            self._batch_knob = name
            self._offer_batch_size()

    def set_level(self, name):
        self._set_level(_bytes(name))

    def poll_commands(self):
        """hw_poll_commands returns null, or a JSON list of pairs that lives until its next call."""
        text = self._poll()
        commands = [(name, value) for name, value in json.loads(text)] if text else []
        return [(name, (self._batch_knob, value[1])) if name == "set_knob" else (name, value)
                for name, value in commands]


def script_name() -> str:
    """What runs, for the user: "train.py", or "-m package"."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name != "__main__":
        return f"-m {spec.name.removesuffix('.__main__')}"
    return os.path.basename(getattr(main, "__file__", "") or sys.argv[0] or "python")


def library_folders() -> list[str]:
    """The folders whose code is not the user's, each with a separator at its end."""
    paths = sysconfig.get_paths()
    folders = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"],
               *site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.path.abspath(__file__))}
    return sorted(os.path.join(folder, "") for folder in folders | {os.path.realpath(each) for each in folders})


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
