"""The training that is watched in this process, or None. Kept apart so that reading it imports nothing."""
import os
import sys

training = None
# What the script has declared before its training began, by name: (value, bounds, line). None where no
# Highwater waits for this process.
early_knobs = {} if "HIGHWATER_SCRIPT_SOCKET" in os.environ else None


def declare_early(name, value, bounds):
    """Keeps a knob for the training that is to begin."""
    if early_knobs is not None and name not in early_knobs:
        early_knobs[name] = value, bounds, line_of_script()


def line_of_script() -> str:
    """Where the script called into this package: "train.py:33"."""
    package = os.path.dirname(__file__)
    frame = sys._getframe(1)
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == package:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame is not None else ""
