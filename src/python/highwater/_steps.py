"""Finds the borders of training steps in the calls that a script makes. Pure logic, without torch.

A step is the set of optimizers that stepped. It closes
(a) at once, when only one optimizer is alive, or when the set equals that of the last two steps;
(b) at the end of a backward in which optimizers stepped;
(c) late, when one of the set is about to step again. Then the step ended when its last optimizer had
    stepped, and what happened since belongs to the next step.
"""
from __future__ import annotations

from dataclasses import dataclass


# After so many backwards without a step of an optimizer, each backward counts as a step.
MOST_MICRO_STEPS = 256


class StepListener:
    """Receives the borders of steps. Each method is called at the moment that it describes."""

    def begin_step(self, number: int, late: bool) -> None:
        """Step `number` begins: now, or at the last `note_step_begin` if `late`.

        Called again for the same number if all that happened since was part of an evaluation: the step
        begins here instead.
        """

    def end_step(self, number: int, batch: int, length: int, micro_steps: int, late: bool) -> None:
        """Step `number` ended: now, or at the last `note_step_end` if `late`."""

    def note_step_begin(self) -> None:
        """The next step begins here, if the open one turns out to have ended at `note_step_end`."""

    def note_step_end(self) -> None:
        """The open step may end here."""


@dataclass
class _Work:
    """What was done in a step, or in the part of it since its last optimizer stepped."""
    micro_steps: int = 0
    batch: int = 0
    length: int = 0
    weight: int = -1
    sure: bool = False

    def add_forward(self, batch: int, length: int, weight: int) -> None:
        """The largest model of a step determines its batch; of equal ones, the first."""
        if weight > self.weight:
            self.batch, self.length, self.weight = batch, length, weight

    def add(self, later: _Work) -> None:
        self.micro_steps += later.micro_steps
        self.sure = self.sure or later.sure
        self.add_forward(later.batch, later.length, later.weight)


class StepRule:
    """Applies the closing rule to the calls of the thread that trains.

    Optimizers are told apart by any hashable key. `alive` tells the number of optimizers that exist.
    """

    def __init__(self, listener: StepListener, alive):
        self._listener = listener
        self._alive = alive
        self._number = 1
        self._open = False
        self._manual = False
        self._backwards = 0  # depth
        self._stepped: set = set()
        self._stepped_in_backward = False
        self._begin_noted = False
        self._unstepped = 0  # backwards since an optimizer stepped
        self._recent: list[frozenset] = []  # the sets of the last two steps
        self._straggling = False  # no work since the last step was closed by (a) or without optimizers
        self._work = _Work()
        self._since = _Work()

    @property
    def number(self) -> int:
        """The number of the open step, or of the next one."""
        return self._number

    @property
    def step(self) -> int:
        """The number of the open step, else of the last one; 0 before the first."""
        return self._number if self._open else self._number - 1

    def fetched(self) -> None:
        """A batch is about to be fetched, for training or for an evaluation."""
        self._touch()

    def forward(self, batch: int = 0, length: int = 0, weight: int = 0) -> None:
        """A model is about to be called in training. `weight` ranks the models of one step."""
        self._touch()
        self._since.sure = True
        self._since.add_forward(batch, length, weight)

    def evaluated(self) -> bool:
        """A model was called in an evaluation: what was only fetched so far was not for training.

        Returns False where the call is part of an open step, as a teacher's is.
        """
        if self._since.sure or self._work.sure and not self._waits:
            return False
        self._begin_noted = False
        if not self._waits:
            self._open = False
        return True

    def backward_begins(self) -> None:
        """A backward pass begins; nested ones are part of the outermost."""
        self._backwards += 1
        if self._backwards == 1:
            self._touch()
            self._since.sure = True
            self._since.micro_steps += 1

    def backward_ends(self) -> None:
        """A backward pass ended, or threw."""
        self._backwards -= 1
        if self._backwards or self._manual:
            return
        self._unstepped += 1
        if self._stepped_in_backward or not self._stepped and self._steps_unseen:
            self._keep_work()
            self._close()

    def optimizer_begins(self, optimizer) -> None:
        """An optimizer is about to step, and is not called by another step of its own."""
        if optimizer in self._stepped and not self._manual and not self._backwards:
            self._close_late()
        if not self._is_straggler(optimizer):
            self._touch()
            self._since.sure = True

    def optimizer_ends(self, optimizer) -> None:
        """The optimizer has stepped, or its scaler skipped the step."""
        if self._is_straggler(optimizer):
            self._join_last_step(optimizer)
            return
        if not self._open:
            return
        self._keep_work()
        self._unstepped = 0
        self._stepped.add(optimizer)
        self._stepped_in_backward = bool(self._backwards)
        self._begin_noted = False
        if self._backwards or self._manual:
            return
        if self._alive() <= 1 or self._recent == [self._stepped, self._stepped]:
            self._close()
        else:
            self._listener.note_step_end()

    def close(self) -> None:
        """The script says itself that its step ended; from now on only this closes a step."""
        self._manual = True
        if self._open:
            self._keep_work()
            self._close()

    def finish(self) -> None:
        """The training ends: closes a step in which all was done."""
        if self._open and self._stepped and not self._manual:
            self._open = False
            self._end(late=True)

    @property
    def _steps_unseen(self) -> bool:
        """Whether nothing but backwards tells steps: no optimizer, or one whose step is compiled."""
        return not self._alive() or self._unstepped > MOST_MICRO_STEPS

    @property
    def _waits(self) -> bool:
        """Whether optimizers have stepped, and only the next call tells whether that was all."""
        return bool(self._stepped) and not self._backwards and not self._manual

    def _touch(self) -> None:
        self._straggling = False
        if not self._open:
            self._open = True
            self._listener.begin_step(self._number, False)
        elif self._waits and not self._begin_noted:
            self._begin_noted = True
            self._listener.note_step_begin()

    def _keep_work(self) -> None:
        self._work.add(self._since)
        self._since = _Work()

    def _close_late(self) -> None:
        self._end(late=True)
        self._listener.begin_step(self._number, True)

    def _close(self) -> None:
        self._open = False
        self._straggling = not self._manual
        self._end(late=False)

    def _end(self, late: bool) -> None:
        work, number = self._work, self._number
        self._number += 1
        self._recent = [*self._recent[-1:], frozenset(self._stepped)]
        self._stepped = set()
        self._stepped_in_backward = False
        self._begin_noted = False
        self._work = _Work()
        # The listener may be interrupted, as by Ctrl+C: the step has been closed before.
        self._listener.end_step(number, work.batch, work.length, work.micro_steps, late)

    def _is_straggler(self, optimizer) -> bool:
        """Whether the optimizer belongs to the step that has just been closed: nothing was computed since."""
        return self._straggling and optimizer not in self._recent[-1]

    def _join_last_step(self, optimizer) -> None:
        """The next step must not close before this optimizer has stepped, so forgets earlier sets."""
        self._recent = [self._recent[-1] | {optimizer}]
