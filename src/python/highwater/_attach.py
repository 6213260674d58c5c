"""Attaching this process to the window that started it."""
from __future__ import annotations

import os
import sys

SIMULATED = "HIGHWATER_SCRIPT_SIMMPS"
SOCKET, TOKEN = "HIGHWATER_SCRIPT_SOCKET", "HIGHWATER_SCRIPT_TOKEN"
ATTACH_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attach")

_hooks = None


def torch_imported(torch) -> None:
    """Called once `import torch` has finished, where the environment names a window."""
    from ._hooks import Hooks
    global _hooks
    load_simulated_device(torch)
    if _hooks is None:
        _hooks = Hooks(torch, make_probe)
        _hooks.watch_for_training()


def load_simulated_device(torch) -> None:
    """Makes "mps" the simulated device, where the environment asks for it."""
    library = os.environ.get(SIMULATED, "")
    if not library or torch.backends.mps.is_built():
        return
    torch.ops.load_library(library)
    # PyTorch for Linux sets it to False, which torch.manual_seed() and others look at.
    torch._C._has_mps = True


def attach_now() -> str:
    """Attaches this process without waiting for a sign of training. Returns why it failed, else ""."""
    if SOCKET not in os.environ and _hooks is None:
        return (f"no Highwater window waits for this process: {SOCKET} is not set. Start the process by "
                "`highwater run`")
    import torch
    torch_imported(torch)
    return _hooks.attach()


def make_probe():
    """The native probe, connected to the window; None, with a message on stderr, where that fails."""
    from ._library import find_library
    from ._probe import NativeProbe
    socket, token = os.environ.get(SOCKET, ""), os.environ.get(TOKEN, "")
    clean_environment()
    path, problem = find_library()
    if not problem:
        try:
            probe = NativeProbe(path)
            problem = probe.start(socket, token)
        except (OSError, AttributeError) as error:
            problem = f"cannot load {path}: {error}"
    if problem.startswith("no process listens"):
        problem = "Highwater watches another process of this program already, or has ended"
    if problem:
        print(f"Highwater: this training is not watched: {problem}", file=sys.stderr, flush=True)
        return None
    return probe


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
