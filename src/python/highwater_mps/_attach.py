"""Attaching this process to the window that started it."""
from __future__ import annotations

import _thread
import atexit
import ctypes
import os
import sys

from . import _live

SIMULATED = "HIGHWATER_SCRIPT_SIMMPS"
SOCKET, TOKEN = "HIGHWATER_SCRIPT_SOCKET", "HIGHWATER_SCRIPT_TOKEN"
ATTACH_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attach")


def torch_imported(torch, variables=os.environ) -> None:
    """Called once `import torch` has finished, where the environment `variables` names a window."""
    from ._hooks import Hooks
    _live.environment = variables
    window = Window(variables.get(SOCKET, ""), variables.get(TOKEN, ""))
    problem = load_simulated_device(torch)
    if problem:
        # Who asked for a device that is not there wants no training on another; the reason is printed.
        window.note("unwatched", f"there is no simulated mps device: {problem}")
        raise SystemExit(2)
    if _live.hooks is None:
        window.note("torch")
        _live.hooks = Hooks(torch, window, make_probe)
        _live.hooks.watch_for_training()


def load_simulated_device(torch) -> str:
    """Makes "mps" the simulated device, where the environment asks for it. Returns why that failed, else ""."""
    library = _live.environment.get(SIMULATED, "")
    if not library or torch.backends.mps.is_built():
        return ""
    from . import _simulated
    torch.ops.load_library(library)
    native = ctypes.CDLL(library)
    native.highwater_simmps_error.restype = ctypes.c_char_p
    problem = native.highwater_simmps_error()
    if problem:
        return os.fsdecode(problem)
    _simulated.complete(torch)
    # Before the process's own end destroys what the kernels use: oneDNN's, say, is younger than the device.
    atexit.register(native.highwater_simmps_finish)
    return ""


def attach_now() -> str:
    """Attaches this process without waiting for a sign of training. Returns why it failed, else ""."""
    if SOCKET not in os.environ and _live.hooks is None:
        return ("no Highwater window waits for this process. Start it by `highwater run --record FILE -- python3 "
                "train.py`, or a notebook's server by `highwater run --record FILE -- jupyter notebook`")
    import torch
    if _live.hooks is None:  # where an import hook of the script's own has imported it
        torch_imported(torch)
    return _live.hooks.attach(quiet=True)


def make_probe():
    """The native probe, which observes from now on; or None and why there is none."""
    from ._library import find_library
    from ._probe import NativeProbe
    path, problem = find_library()
    if problem:
        return None, problem
    try:
        probe = NativeProbe(path)
        problem = probe.start()
    except (OSError, AttributeError) as error:
        problem = f"cannot load {path}: {error}"
    return (None, problem) if problem else (probe, "")


# The text of a link has at most 1023 bytes on macOS.
MOST_SIGN_BYTES = 1000


class Window:
    """What listens at a socket for the one process that trains. The socket's folder holds what all processes of a
    program know of each other, as names of files: links, since those are made with their text in one call."""

    def __init__(self, socket: str, token: str):
        self._socket, self._token = socket, token
        self._folder = os.path.dirname(socket)
        self._refused: OSError | None = None

    def note(self, sign: str, text: str = "-") -> bool:
        """Leaves a sign for the window, which says what it saw where nothing trained. Returns whether it is new.
        Of the text it keeps MOST_SIGN_BYTES bytes of UTF-8."""
        return self._leave(sign, text) is None

    def _leave(self, sign: str, text: str = "-") -> OSError | None:
        """As `note`; returns why the sign could not be left."""
        if not self._folder:
            return FileNotFoundError()
        try:
            # Bytes, because the encoding of file names may be ASCII.
            os.symlink(encoded(text)[:MOST_SIGN_BYTES], os.fsencode(os.path.join(self._folder, sign)))
        except OSError as error:
            return error
        return None

    def take_back(self, sign: str) -> None:
        """Undoes `note`."""
        try:
            os.unlink(os.path.join(self._folder, sign))
        except OSError:
            pass

    def is_taken(self) -> bool:
        """Whether a process is watched already."""
        return os.path.lexists(os.path.join(self._folder, "watched"))

    def claim(self) -> bool:
        """Makes this process the one that is watched, for all others to see. `refusal` says why where it returns
        False."""
        self._refused = self._leave("watched", str(os.getpid()))
        return self._refused is None

    def give_back(self) -> None:
        """Undoes `claim`: another process may be luckier."""
        self.take_back("watched")

    def connect(self, probe) -> str:
        """Connects the probe to the window. Returns why that failed, else "". Says so where it has to wait."""
        answered = _thread.allocate_lock()
        answered.acquire()

        def tell_of_waiting():
            if not answered.acquire(timeout=1):
                tell("waiting up to 10 s for the Highwater process, which does not answer ...")

        try:
            _thread.start_new_thread(tell_of_waiting, ())
        except RuntimeError:  # there are no more threads to be had
            pass
        try:
            return probe.connect(self._socket, self._token)
        finally:
            answered.release()

    def refusal(self) -> str:
        """Why this process cannot claim."""
        error = self._refused
        if isinstance(error, PermissionError) and self._is_of_another_user():
            return (f"this process runs as another user (uid {os.geteuid()}) than the one that started Highwater, and "
                    "may not open its socket")
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return "Highwater has ended"
        if error is not None and not isinstance(error, FileExistsError):
            return f"{self._folder} cannot be written: {error.strerror}"
        try:
            process = os.readlink(os.path.join(self._folder, "watched"))
        except OSError:
            return "Highwater has ended"
        try:
            os.kill(int(process), 0)
        except (ProcessLookupError, ValueError):
            return f"Highwater watched process {process}, which has ended"
        except OSError:
            pass  # it runs as another user
        return f"Highwater watches process {process} already"

    def _is_of_another_user(self) -> bool:
        try:
            return os.stat(self._folder).st_uid != os.geteuid()
        except OSError:
            return True  # not even its parent may be entered

    def tell_once(self, text: str) -> None:
        """Prints for the user what only the first of many processes has to say."""
        if not isinstance(self._leave("told"), FileExistsError):
            tell(text)


def tell(text: str) -> None:
    """Prints for the user; a closed stderr is no reason to fail."""
    try:
        sys.stderr.write(f"Highwater: {text}\n")  # the script may have replaced print()
        sys.stderr.flush()
    except Exception:  # of whatever the script has put there
        pass


def encoded(text: str) -> bytes:
    """`text` as UTF-8 for what knows no NUL, nor half of a surrogate pair: both are replaced."""
    return text.replace("\0", " ").encode(errors="replace")


def environment(socket: str, token: str, base=os.environ) -> dict[str, str]:
    """The environment in which the one Python process that trains attaches to `socket`."""
    added = dict(base)
    added[SOCKET], added[TOKEN] = socket, token
    paths = [ATTACH_FOLDER, base["PYTHONPATH"]] if base.get("PYTHONPATH") else [ATTACH_FOLDER]
    added["PYTHONPATH"] = os.pathsep.join(paths)
    return added


def clean_environment() -> None:
    """Removes what attaches, so that what this process starts is not watched."""
    os.environ.pop(SOCKET, None)
    os.environ.pop(TOKEN, None)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = [path for path in paths if path != ATTACH_FOLDER]
    if rest != paths:
        if rest:
            os.environ["PYTHONPATH"] = os.pathsep.join(rest)
        else:
            del os.environ["PYTHONPATH"]
