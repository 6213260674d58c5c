"""What all copies of this package in a process share. Kept apart so that reading it imports nothing.

Highwater attaches by a copy under a name of its own (see attach/sitecustomize.py); `import highwater_mps` in the
script may load another one.
"""
import os
import sys

sys.modules[__name__] = sys.modules.setdefault("highwater-shared", sys.modules[__name__])

# The names under which this package is imported.
OURS = "highwater_mps", "highwater", "highwater-attached"

# The training that is watched in this process, or None.
training = None
# The hooks of this process, once PyTorch is imported.
hooks = None
# Where Highwater's own variables are read: those that the process began with, as far as that is known.
environment = os.environ
# What the script has declared before its training began, by name: (value, bounds, line). None where no
# Highwater waits for this process.
early_knobs = {} if "HIGHWATER_SCRIPT_SOCKET" in os.environ else None


def declare_early(name, value, bounds):
    """Keeps a knob for the training that is to begin."""
    try:
        if early_knobs is not None and name not in early_knobs:
            early_knobs[name] = value, bounds, line_of_script()
    except Exception:  # a name of a type that no knob has
        pass


def line_of_script() -> str:
    """Where the script called into this package: "train.py:33"."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__package__") in OURS:
        frame = frame.f_back
    return line_of(frame)


def line_of(frame) -> str:
    """The line that a frame runs: "train.py:33"; "" for None."""
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame is not None else ""
