"""The seam between the hooks and the native part of the probe."""
from __future__ import annotations

import ctypes
import functools
import json
import math
import os
import site
import sys
import sysconfig

from . import _live
from ._attach import encoded, tell

# The knobs that Highwater offers by itself.
LOADER_BATCH = "dataloader_batch_size"
LEARNING_RATE_FACTOR = "learning_rate_factor"
TRY_CHANGED = 1  # a part of try_block()
# The kinds of ScriptKnob.
_INTEGER, _REAL, _CHOICE = 1, 2, 3
# How many host samples a second are taken; as in native/host_sampler.h.
HOST_SAMPLES = "HIGHWATER_HOST_SAMPLES"
_DEFAULT_HOST_SAMPLE_HZ, MOST_HOST_SAMPLE_HZ = 25, 200
_FIRST_HOST_SAMPLE_HZ = 100  # where the default is taken
_STEPS_ARE = ("training", "told", "iterations")  # StepsAre
# Of the exception that ended the training.
_MOST_ERROR_BYTES = 2000


class Probe:
    """What the hooks tell. This one ignores all of it, as a process that is not watched does.

    Module names and phases are UTF-8 bytes, so that the frequent calls convert nothing. All methods may
    be called by any thread.
    """

    # The time for which one of the first host samples stands, as a share of that of a later one.
    first_host_sample_share = 1.0

    def start(self) -> str:
        """Observes from now on, and keeps what it sees. Returns why that failed, else ""."""
        return ""

    def connect(self, socket_path: str, token: str) -> str:
        """Connects to the window and sends what was kept. Returns why that failed, else ""."""
        return ""

    def stop(self, limit_ms: int = 1000, evaluates: bool = False) -> None:
        """Sends what is left and ends the probe's threads; a window that does not read is given up at the limit.
        An exception that ends the program was raised in an evaluation if `evaluates`."""

    def module_calls(self, outermost, missing):
        """What `Module.__call__` is to call first and last, in place of the two methods below; or None.

        See hw_python_calls in native/python_calls.h.
        """
        return None

    def watch_waiting_calls(self, torch) -> str:
        """Records the calls of PyTorch that wait for the device and are no ops. Returns those that it cannot."""
        return ""

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

    def note_loss(self, tensor: int) -> None:
        """Backward begins on one tensor, whose `_cdata` this is: a read of it is one of the training's loss."""

    def describe(self, text: str) -> None:
        """What is known of the training, as a JSON object. Later calls add to earlier ones."""

    def mark(self, text: str) -> None:
        """A marker on the time axis."""

    def watch_thread(self) -> None:
        """The script started this thread."""

    def add_knob(self, text: str) -> str:
        """A setting that the user may turn, as a JSON object: name, value, and where they exist min, max,
        choices, declared_at and warning. Returns why it cannot be shown, else "".
        """
        return ""

    def knob_turned(self, name: str, value) -> None:
        """A knob that was added has this value from now on."""

    def poll_commands(self) -> list[tuple[str, object]]:
        """The commands that came since the last call, as (name, value).

        The value of "set_knob" is the knob's name and its new value; that of "try" the call sites and the part of
        try_block(), and for a knob the same pair, else None. A probe that loses its window while the
        training is paused returns ("resume", None).
        """
        return []

    def cut_step(self) -> None:
        """What follows is no part of the step whose work has ended: a notebook's cell has ended."""

    def set_paused(self, paused: bool) -> None:
        """The training stands still because the window asked for it, or goes on."""

    def set_level(self, name: str) -> None:
        """Changes what is observed: off, monitor or ops."""

    def empty_cache(self) -> None:
        """Empties the cache of the device's allocator. The script has not asked for it, so it is none of its waits."""

    def try_block(self, call_sites: list[int], part: int) -> None:
        """Waits for the device once, and begins a block of a try: at these places waits are left out in part 1, and are
        as ever in part 0. Part 2 ends the try."""


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
        self.note_loss = self._bind("note_loss", number)
        self.note_step_end = self._bind("note_step_end")
        self.watch_thread = self._bind("watch_thread")
        self._describe = self._bind("describe", text, text, text, number, number, number, ctypes.c_int, number,
                                    ctypes.c_int, flag, flag, number, number, flag, ctypes.c_double, number, text)
        self._mark = self._bind("mark", text)
        real = ctypes.c_double
        self._offer_knob = self._bind("offer_knob", text, ctypes.c_int, real, real, real, text, text, text,
                                      result=text)
        self._knob_turned = self._bind("knob_turned", number, real)
        self._facts = {}
        self._knobs = []  # in the order in which the library counts them
        self._set_level = self._bind("set_level", text)
        self.set_paused = self._bind("set_paused", flag)
        self.cut_step = self._bind("cut_step")
        self._poll = self._bind("poll_commands", result=text)

    def module_calls(self, outermost, missing):
        if not self._bind("has_python_calls", result=ctypes.c_bool)():
            return None
        make = self._bind("python_calls", ctypes.py_object, ctypes.py_object, result=ctypes.py_object)
        calls = make(outermost, missing)
        enter, leave = calls.pop("enter_module"), calls.pop("leave_module")
        vars(self).update(calls)
        return enter, leave

    def watch_waiting_calls(self, torch):
        watch = self._bind("watch_waiting_calls", ctypes.py_object, ctypes.c_uint64, result=ctypes.c_char_p)
        return (watch(torch, object.__basicsize__) or b"").decode(errors="replace")

    def empty_cache(self):
        self._starting.hw_empty_cache()

    def try_block(self, call_sites, part):
        sites = (ctypes.c_uint32 * len(call_sites))(*call_sites)
        self._starting.hw_try_block(sites, ctypes.c_uint64(len(call_sites)), ctypes.c_int(part))

    def _bind(self, name, *arguments, result=None):
        function = getattr(self._library, f"hw_{name}")
        function.argtypes = arguments
        function.restype = result
        return function

    def start(self):
        hz = host_sample_hz()
        if hz == _DEFAULT_HOST_SAMPLE_HZ:
            self.first_host_sample_share = hz / _FIRST_HOST_SAMPLE_HZ
        prepare = self._bind("prepare", *[ctypes.c_char_p] * 4, ctypes.c_uint64)
        prepare(encoded(script_name()), os.fsencode("\n".join(library_folders())),
                os.fsencode(_live.environment.get("HIGHWATER_SCRIPT_SIMMPS", "")),
                encoded(_live.environment.get("HIGHWATER_SCRIPT_LEVEL", "")), hz)
        function = self._starting.hw_start
        function.restype = ctypes.c_char_p
        return (function() or b"").decode(errors="replace")

    def connect(self, socket_path, token):
        function = self._starting.hw_connect
        function.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        function.restype = ctypes.c_char_p
        return (function(os.fsencode(socket_path), os.fsencode(token)) or b"").decode(errors="replace")

    def stop(self, limit_ms=1000, evaluates=False):
        function = self._starting.hw_stop
        function.argtypes = [ctypes.c_bool, ctypes.c_char_p, ctypes.c_bool, ctypes.c_uint64]
        interrupted = isinstance(_last_error(), KeyboardInterrupt)
        text = "" if interrupted else uncaught_error(_MOST_ERROR_BYTES)
        function(interrupted, encoded(text), evaluates, limit_ms)

    def describe(self, text):
        self._facts.update(json.loads(text))
        known = self._facts.get
        self._describe(encoded(known("model") or ""), encoded(known("optimizer") or ""),
                       encoded(known("dtype") or ""), known("parameters") or 0, known("batch_guess") or 0,
                       known("length_guess") or 0, _STEPS_ARE.index(known("steps_are", "training")),
                       known("first_step", 0), known("loader_workers", -1), known("persistent_workers", False),
                       known("device_data", False), known("open_batch", 0), known("open_length", 0),
                       known("open_in_optimizer", False), known("memory_fraction", 0.0), known("epoch_samples", 0),
                       encoded("\n".join(known("signs", ()))))

    def mark(self, text):
        self._mark(encoded(text))

    def add_knob(self, text):
        knob = json.loads(text)
        if not isinstance(knob["name"], str) or "value" not in knob:
            return "a knob needs a name that is a text, and a value"
        example, choices = knob["value"], knob.get("choices")
        if choices is None and isinstance(example, bool):
            choices = knob["choices"] = [False, True]
        if choices is not None:
            kind, least, most = _CHOICE, 0, len(choices) - 1
        elif isinstance(example, (int, float)):
            kind = _INTEGER if isinstance(example, int) else _REAL
            least, most = knob.get("min", -math.inf), knob.get("max", math.inf)
        else:
            return f"{example!r} is no number; name the choices: highwater.knob(..., choices=[...])"
        try:
            value = _number(knob, example)
        except ValueError:
            return f"{example!r} is none of its choices"
        lines = "\n".join(str(choice).replace("\n", " ") or " " for choice in choices or ())
        problem = self._offer_knob(encoded(knob["name"]), kind, value, least, most, encoded(lines),
                                   encoded(knob.get("declared_at", "")), encoded(knob.get("warning", "")))
        if not problem:
            self._knobs.append(knob)
        return (problem or b"").decode(errors="replace")

    def knob_turned(self, name, value):
        for index, knob in enumerate(self._knobs):
            if knob["name"] == name:
                self._knob_turned(index, _number(knob, value))

    def set_level(self, name):
        self._set_level(encoded(name))

    def poll_commands(self):
        """hw_poll_commands returns null, or a JSON list of pairs that lives until its next call."""
        text = self._poll()
        commands = []
        for name, value in json.loads(text) if text else ():
            if name == "set_knob":
                value = self._turn(*value)
            elif name == "try":
                value[2] = value[2] and self._turn(*value[2])
            commands.append((name, value))
        return commands

    def _turn(self, index, value):
        """The name of a knob, and its value as the script knows it."""
        knob = self._knobs[index]
        if "choices" in knob:
            return knob["name"], knob["choices"][int(value)]
        return knob["name"], int(value) if isinstance(knob["value"], int) else float(value)


def host_sample_hz() -> int:
    """How often a second the line is noted that the training runs; a wrong value is told and not taken."""
    text = _live.environment.get(HOST_SAMPLES, "").strip()
    if not text:
        return _DEFAULT_HOST_SAMPLE_HZ
    if text.isascii() and text.isdigit() and len(text) <= 4 and int(text) <= MOST_HOST_SAMPLE_HZ:
        return int(text)
    tell(f"{HOST_SAMPLES}={text} is ignored: it takes a whole number of samples a second, 0 (none) to "
         f"{MOST_HOST_SAMPLE_HZ}; {_DEFAULT_HOST_SAMPLE_HZ} are taken")
    return _DEFAULT_HOST_SAMPLE_HZ


def _last_error():
    """Set where the interpreter prints a traceback at its end; in a notebook, at that of any cell."""
    return None if is_notebook() else getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def uncaught_error(most_bytes: int) -> str:
    """The exception that ends this program, "TypeError: ... (train.py:41)" with the user's line; else "".

    The exceptions that it was raised from follow: "RuntimeError: ... (train.py:41), caused by TypeError: ...".
    Long messages are shortened, so that all are at most `most_bytes` bytes of UTF-8. There is no NUL in it.
    """
    error = _last_error()
    if error is None:
        return ""
    if error.__cause__ is None:
        return _text_with_line(error, most_bytes)
    text, seen, cause = _text_with_line(error, most_bytes // 2), {id(error)}, error.__cause__
    while cause is not None and id(cause) not in seen:  # a chain may be a ring
        seen.add(id(cause))
        text, cause = f"{text}, caused by {_text(cause)}", cause.__cause__
    return _shortened(text, most_bytes)


def _text(error: BaseException) -> str:
    """"TypeError: ...", as in Python's own tracebacks."""
    try:
        message = str(error)
    except Exception:
        message = "<exception str() failed>"  # the words of Python's own tracebacks
    return f"{type(error).__name__}: {message}"


def _text_with_line(error: BaseException, most_bytes: int) -> str:
    """"TypeError: ... (train.py:41)", with the innermost line that is the user's.

    Where a library called that, "(model.py:29, called at train.py:45)", as a model's forward is.
    """
    folders, line, called_at, trace = library_folders(), "", "", error.__traceback__
    in_library = False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(("<", *folders)):
            in_library = True
        else:
            if in_library and line:
                called_at = line
            line, in_library = f"{os.path.basename(file)}:{trace.tb_lineno}", False
        trace = trace.tb_next
    if line:
        line = _shortened(f" ({line}, called at {called_at})" if called_at else f" ({line})", most_bytes // 2)
    return _shortened(_text(error), most_bytes - len(line.encode())) + line


def line_of_user() -> str:
    """Where code that is neither ours nor a library's called into it: "train.py:33"; "" where there is none."""
    folders, frame = ("<", *library_folders()), sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(folders)
                                 or frame.f_globals.get("__package__") in _live.OURS):
        frame = frame.f_back
    return _live.line_of(frame)


def _shortened(text: str, most_bytes: int) -> str:
    """`text` in at most `most_bytes` bytes of UTF-8, without NUL and lone surrogates."""
    whole = encoded(text)
    if len(whole) <= most_bytes:
        return whole.decode()
    end = "\u2026"
    return whole[:most_bytes - len(end.encode())].decode(errors="ignore") + end


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    return "ipykernel.kernelapp" in sys.modules


def script_name() -> str:
    """What runs, for the user: "train.py", "-m package", or the name of a notebook."""
    if is_notebook():
        return os.path.basename(os.environ.get("JPY_SESSION_NAME", "")) or "notebook"
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name != "__main__":
        return f"-m {spec.name.removesuffix('.__main__')}"
    return os.path.basename(getattr(main, "__file__", "") or first_argument() or "python")


def script_path() -> str:
    """The path of what runs, or "" where it is no file."""
    path = first_argument()
    try:
        return os.path.abspath(path) if path else ""
    except OSError:  # the working folder was deleted
        return path


def first_argument() -> str:
    """sys.argv[0], which a script may have removed."""
    first = next(iter(getattr(sys, "argv", None) or ()), "")
    return first if isinstance(first, str) else ""


@functools.lru_cache(maxsize=None)
def _has_packages(folder: str) -> bool:
    """Whether pip has installed packages there."""
    try:
        with os.scandir(folder) as entries:
            return any(each.name.endswith(".dist-info") for each in entries)
    except OSError:
        return False


def _is_scripts(folder: str) -> bool:
    """Whether a folder is that of the script, or the one that it runs in."""
    try:
        return os.path.realpath(folder) in (os.path.realpath(os.path.dirname(script_path())), os.getcwd())
    except OSError:  # the working folder was deleted
        return False


# What library_folders() returned last, with what it was made of. Looking at the folders takes as long as a small step.
_known_folders: tuple[str, ...] = ()
_known_from: tuple = ()


def library_folders() -> tuple[str, ...]:
    """The folders whose code is not the user's, each with a separator at its end. They are looked at again where the
    texts of sys.path or the script's name have changed, but not where the working folder has."""
    global _known_folders, _known_from
    # Entries of other types may be objects of the script's own, which must neither be called nor be kept.
    texts = (path for path in (*sys.path, first_argument()) if type(path) is str)
    made_from = (*texts, "torch" in sys.modules)
    if made_from != _known_from:
        _known_folders, _known_from = _look_for_library_folders(), made_from
    return _known_folders


def _look_for_library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"],
               *site.getsitepackages(), site.getusersitepackages(), os.path.dirname(os.path.abspath(__file__))}
    # PyTorch may lie in another environment's folder, which a .pth file adds to the path.
    folders |= {path for path in sys.path
                if isinstance(path, str) and os.path.basename(path) in ("site-packages", "dist-packages")}
    # And packages in a folder of their own (pip install --target), if it is not the script's.
    folders |= {path for path in sys.path if isinstance(path, str) and _has_packages(path) and not _is_scripts(path)}
    if "torch" in sys.modules:
        folders.add(os.path.dirname(sys.modules["torch"].__file__))
    return tuple(sorted(os.path.join(folder, "")
                        for folder in folders | {os.path.realpath(each) for each in folders}))


def _number(knob, value) -> float:
    """The value of a knob as the library knows it: of a choice its index. ValueError: it is no choice."""
    return knob["choices"].index(value) if "choices" in knob else value
