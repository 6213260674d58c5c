"""Settings that the user turns while the script runs."""
from __future__ import annotations

import json
import sys
import weakref

from . import _live
from ._attach import tell
from ._live import line_of_script
from ._probe import LEARNING_RATE_FACTOR, LOADER_BATCH


_MOST_PROBLEMS = 10
_MOST_LETTERS = 200
_MOST_BATCH = 4096  # kMostBatchSize of core/run_limits.h
_ENDLESS = 1_000_000_000  # samples
_SCRIPTS = object()
_TYPES = {bool: "True or False", int: "a whole number", float: "a number", str: "a text"}


def _short(value, text=repr) -> str:
    whole = text(value)
    return whole if len(whole) <= _MOST_LETTERS else whole[:_MOST_LETTERS] + "\u2026"


class Knobs:
    """The knobs of one training: the script's own, and the batch size of its training loader."""

    def __init__(self, training):
        self._training = training
        self._declared: dict[str, dict] = {}
        self._problems = 0
        self._asked: dict[str, object] = {}
        self._live: dict[str, object] = {}
        self._before_try: dict[str, object] = {}  # the live value of a knob that is tried, or _SCRIPTS
        self._returns: set[str] = set()  # knobs that have the script's own value again, from its next use on
        self._samplers: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # with the size that the script gave each
        self._loader_batch = 0  # of the first of these
        self._evaluating: weakref.WeakSet = weakref.WeakSet()

    def value(self, name, value, bounds):
        """The live value of the script's knob `name`, which has the value `value` until it is turned."""
        if name not in self._declared:
            self._declare(name, value, bounds, line_of_script())
        self._training.take_knobs()
        if name in self._asked:
            self._returns.discard(name)
            self._live[name] = self._asked.pop(name)
            self._turned(name, self._live[name])
        elif name in self._returns:
            self._returns.discard(name)
            self._training.probe.mark(f"{name} = {value}")
            shown = self._declared[name]["value"] if self._problem(name, value) else value
            self._training.probe.knob_turned(name, shown)
        return self._live.get(name, value)

    def declare_early_ones(self) -> None:
        """Declares the knobs that the script used before its training began."""
        for name, (value, bounds, line) in (_live.early_knobs or {}).items():
            self._declare(name, value, bounds, line)

    def turn(self, name, value) -> None:
        """The window asks for a value; one that the knob cannot take is refused with a marker."""
        problem = self._problem(name, value)
        if problem:
            self._training.probe.mark(f"{name} stays: {problem}")
            if name in self._declared:  # the window shows what it asked for
                self._training.probe.knob_turned(name, self._live.get(name, self._declared[name]["value"]))
        elif name == LOADER_BATCH:
            self._set_loader_batch(value)
        elif name == LEARNING_RATE_FACTOR:
            self._training.learning_rate_factor = float(value)
            self._turned(name, value)
        else:
            wants_float = isinstance(self._declared[name]["value"], float)
            self._asked[name] = float(value) if wants_float else value

    def begin_block(self, name, value, changed: bool) -> None:
        """In a changed block of a try the knob has this value; else what it had before, which may be the script's own,
        another one with each use."""
        if changed:
            self._before_try.setdefault(name, self._live.get(name, _SCRIPTS))
            self.turn(name, value)
        elif name in self._before_try:
            before = self._before_try.pop(name)
            if before is not _SCRIPTS:
                self.turn(name, before)
            else:
                self._asked.pop(name, None)
                self._live.pop(name, None)
                self._returns.add(name)

    def end_try(self) -> None:
        """What is tried ends here, and nobody is told."""
        for name, before in self._before_try.items():
            self._asked.pop(name, None)
            self._live.pop(name, None)
            if before is not _SCRIPTS:
                self._live[name] = before
        self._before_try.clear()

    def loader_used(self, sampler, evaluates: bool) -> None:
        """A model is called with what came from a loader with this batch sampler."""
        if evaluates:
            if sampler not in self._samplers:
                self._remember(self._evaluating, sampler)
        elif sampler not in self._samplers and is_stock_sampler(self._training.torch, sampler):
            try:
                self._samplers[sampler] = sampler.batch_size
            except TypeError:  # a class with __slots__ has no weak references
                pass
            self._loader_batch = self._loader_batch or sampler.batch_size
            self._evaluating.discard(sampler)
            if LOADER_BATCH in self._live:
                self._scale(sampler, sampler.batch_size)
            self._declare_loader_batch(sampler)

    def _declare_loader_batch(self, sampler) -> None:
        if LOADER_BATCH in self._declared or "batch_size" in self._declared:
            return
        samples = _samples(sampler)
        if samples and not sampler.drop_last:
            self._training.describe(epoch_samples=samples)
        most = max(sampler.batch_size, min(samples or _MOST_BATCH, max(_MOST_BATCH, 64 * sampler.batch_size)))
        knob = {"value": sampler.batch_size, "min": 1, "max": most, "choices": None}
        self._declared[LOADER_BATCH] = knob
        self._tell(LOADER_BATCH, {**knob, "warning": _trainer_warning()})

    def _set_loader_batch(self, value) -> None:
        self._live[LOADER_BATCH] = value
        for sampler, own in self._samplers.items():
            self._scale(sampler, own)
        self._turned(LOADER_BATCH, value)

    def _scale(self, sampler, own) -> None:
        """Loaders of other sizes, as of labelled and unlabelled samples, keep their proportion."""
        sampler.batch_size = max(1, round(own * self._live[LOADER_BATCH] / self._loader_batch))

    def offer_learning_rate(self) -> None:
        """An optimizer is about to step for the first time."""
        if LEARNING_RATE_FACTOR not in self._declared:
            knob = {"value": 1.0, "min": 0.01, "max": 100.0, "choices": None}
            self._declared[LEARNING_RATE_FACTOR] = knob
            self._tell(LEARNING_RATE_FACTOR, knob)

    def _turned(self, name, value) -> None:
        self._training.probe.mark(f"{name} = {value}")
        self._training.probe.knob_turned(name, value)

    def _declare(self, name, value, bounds, line) -> None:
        self._declared[name] = {"value": value, **bounds}
        self._tell(name, {**self._declared[name], "declared_at": line})

    def _tell(self, name, knob) -> None:
        facts = {key: each for key, each in {"name": name, **knob}.items() if each is not None}
        try:
            problem = self._training.probe.add_knob(json.dumps(facts)) if isinstance(name, str) else "its name is no text"
        except Exception:  # of values that have no form in JSON, as tensors
            problem = "its value, bounds and choices must be numbers, True or False, or texts"
        if problem:
            self._tell_problem(f"knob {_short(name)} cannot be shown: {_short(problem, str)}")

    def _tell_problem(self, text) -> None:
        """A script may ask for thousands of knobs."""
        self._problems += 1
        if self._problems <= _MOST_PROBLEMS:
            tell(text + ("; others are not named" if self._problems == _MOST_PROBLEMS else ""))

    def _problem(self, name, value) -> str:
        knob = self._declared.get(name)
        if knob is None:
            return "the script has no such knob"
        choices, least, most = knob["choices"], knob["min"], knob["max"]
        if choices is not None:
            return "" if value in choices else f"{value!r} is none of {', '.join(map(repr, choices))}"
        if not _has_type_of(value, knob["value"]):
            return f"{value!r} is not {_TYPES.get(type(knob['value']), 'of its type')}"
        if least is not None and value < least:
            return f"{value!r} is below its minimum of {least!r}"
        if most is not None and value > most:
            return f"{value!r} is above its maximum of {most!r}"
        return ""

    @staticmethod
    def _remember(samplers, sampler) -> None:
        try:
            samplers.add(sampler)
        except TypeError:  # a class with __slots__ has no weak references
            pass


def _samples(sampler) -> int:
    """How many samples an epoch has; 0 for an endless one, also where it only has a large number."""
    try:
        samples = len(sampler.sampler)
    except (TypeError, NotImplementedError):
        return 0
    return samples if samples < _ENDLESS else 0


def is_stock_sampler(torch, sampler) -> bool:
    """Whether the batch sampler is PyTorch's own, which reads its batch size before each batch."""
    return type(sampler) is torch.utils.data.BatchSampler


def _has_type_of(value, example) -> bool:
    if isinstance(example, bool) or isinstance(value, bool):
        return isinstance(example, bool) and isinstance(value, bool)
    if isinstance(example, float):
        return isinstance(value, (int, float))
    return isinstance(value, type(example))


def _trainer_warning():
    """What the trainer in this process derives from the batch size once."""
    if "lightning" in sys.modules or "pytorch_lightning" in sys.modules:
        return ("Lightning validates after a number of batches that it counted at the start; with another "
                "batch size that number may never come.")
    if "transformers.trainer" in sys.modules:
        return "Trainer fixed the number of steps at the start; another batch size changes the epochs they last."
    return None
