"""Highwater in a training script, with a line or two.

Everything here costs about a dictionary look-up, and does nothing, while no window watches the script.
"""
from . import _live

__all__ = ["knob", "mark", "phase", "start", "step"]


def knob(name, value, min=None, max=None, choices=None):
    """The live value of a setting: what the user has turned the knob `name` to, else `value`.

    The window shows a slider from `min` to `max` for a number, and a list for `choices`. A value out of
    bounds or of another type is refused there.
    """
    training = _live.training
    if training is None:
        if _live.early_knobs is not None:
            _live.declare_early(name, value, {"min": min, "max": max, "choices": choices})
        return value
    try:
        return training.knobs.value(name, value, {"min": min, "max": max, "choices": choices})
    except Exception:  # a bound or a name of a type that no knob has
        return value


class phase:
    """A context that shows what runs in it as a phase of its own: `with highwater.phase("augment"):`."""

    __slots__ = ("_name", "_training")

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        self._training = _live.training
        _tell(self._training, "begin_phase", self._name)
        return self

    def __exit__(self, *_):
        _tell(self._training, "end_phase")


def mark(text):
    """Puts a marker with `text` on the window's time axis."""
    _tell(_live.training, "mark", text)


def step():
    """Ends a step here, of a training or of any other loop. From the first call on, only this ends steps; no other
    rule does. Where nothing is watched yet, as no optimizer was built, the first call begins the first step.
    """
    if _live.training is None:
        _tell(_live.hooks, "told_step")
    else:
        _tell(_live.training, "close_step")


def start():
    """Attaches this process to its window now, as in a notebook or late in a script.

    Raises RuntimeError with the reason where that fails. Otherwise the first optimizer attaches.
    """
    from ._attach import attach_now
    problem = attach_now()
    if problem:
        raise RuntimeError(f"Highwater: {problem}")


def _tell(training, what, *values):
    """Calls the method `what` of a training. An error of Highwater's is none of the script's."""
    if training is None:
        return
    try:
        getattr(training, what)(*values)
    except Exception as error:
        training.give_up(error)
