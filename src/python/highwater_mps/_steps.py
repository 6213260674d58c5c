"""Finds the borders of training steps in the calls that a script makes. Pure logic, without torch.

A step is the set of optimizers that stepped. It closes
(a) at once, when only one optimizer is alive, or when the set equals that of the last two steps;
(b) at the end of a backward in which optimizers stepped;
(c) late, when one of the set is about to step again. Then the step ended when its last optimizer had
    stepped, and what happened since belongs to the next step.

A step has as many micro steps as batches whose gradients it adds up: so many backwards of new calls of the same model
came before an optimizer stepped, since the gradients were last set to zero. Backwards of different optimizers, of
several losses of one call, and of a closure that is called again, are no more of them. Nor has a step more samples than
its loader has fetched.

A model that is not trained may come before the first call of one that is, without gradients, as a teacher or a frozen
encoder does: then its call begins the step, see `Feeding`.

A script may tell its steps. Where it does not, and nothing trains, calls of a model are iterations; see
`StepRule.steps_are`.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ._feeding import Feeding

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
    backwards: Counter = field(default_factory=Counter)  # of new calls of each model, no optimizer has used them yet
    used: Counter = field(default_factory=Counter)  # by each optimizer, summed up
    batch: int = 0
    length: int = 0
    weight: int = -1
    sure: bool = False
    derived: Counter = field(default_factory=Counter)  # as backwards, of derivatives that are not accumulated

    def add_forward(self, batch: int, length: int, weight: int) -> None:
        """The largest model of a step determines its batch; of equal ones, the first."""
        if weight > self.weight:
            self.batch, self.length, self.weight = batch, length, weight

    def use(self, optimizer) -> None:
        """The optimizer stepped, by the gradients of all backwards so far."""
        self.used[optimizer] += max(self.backwards.values(), default=0)
        self.backwards.clear()

    @property
    def micro_steps(self) -> int:
        return (max((*self.used.values(), *self.backwards.values()), default=0)
                or max(self.derived.values(), default=0))

    def add(self, later: _Work) -> None:
        self.backwards.update(later.backwards)
        self.used.update(later.used)
        self.sure = self.sure or later.sure
        self.derived.update(later.derived)
        self.add_forward(later.batch, later.length, later.weight)


class StepRule:
    """Applies the closing rule to the calls of the thread that trains.

    Optimizers are told apart by any hashable key. `alive` tells the number of optimizers that exist.
    """

    def __init__(self, listener: StepListener, alive):
        self._listener = listener
        self._alive = alive
        self._trains = False  # a backward has run, or an optimizer stepped
        self._called: set = set()  # models that the open iteration has called
        self._iterations = 0  # that have begun
        self._begin = ""  # what the listener knows of the next step's begin: "noted", or "begun"
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
        self._models: set = set()  # that were called since the last backward
        self._underived: set = set()  # and since the last derivative
        self._derives = False  # the backward that runs, or ran last, does not accumulate
        self._saw_models = False
        self._fetched = 0  # samples since the last call of a model, for it or for an evaluation
        self._stock: int | None = None  # samples that were fetched and not yet trained; None: not known
        self._loader_batch = 0
        self._feeding = Feeding()

    @property
    def number(self) -> int:
        """The number of the open step, or of the next one."""
        return self._number

    @property
    def step(self) -> int:
        """The number of the open step, else of the last one; 0 before the first."""
        return self._number if self._open else self._number - 1

    @property
    def infers(self) -> bool:
        """Whether a call of a model in an evaluation is the work of a step: nothing trains, or is about to."""
        return not self._trains and (self._manual or not self._alive())

    @property
    def steps_are(self) -> str:
        """What steps are: "told" by the script, "iterations" where nothing trains, else "training".

        An iteration begins with a fetch or a call of a model, and ends with the next fetch or when a model that
        it has called is called again. A training, or a step that the script tells, makes all earlier iterations none.
        """
        if self._manual:
            return "told"
        return "iterations" if self._iterations and not self._trains else "training"

    def fetched(self, samples: int = 0, trains: bool = False, source=None) -> None:
        """A batch is about to be fetched: for training if `trains`, else for it or for an evaluation. `samples`: as
        many as a loader's full batch has; 0: not known. `source` is any hashable key of the loader."""
        self._end_iteration()
        self._loader_batch = samples
        if not self._is_sure:
            self._feeding.fetched(source, trains)
        if trains:
            self._stock = (self._stock or 0) + samples
        else:
            self._fetched += samples
        # A step does not begin with a batch of an evaluation, nor with its last, vain fetch, which its results follow.
        if trains or not self._feeding.knows_source:
            self._touch()

    def forward(self, batch: int = 0, length: int = 0, weight: int = 0, model=None) -> None:
        """A model is about to be called in training. `weight` ranks the models of one step, and is below 0 for one
        without parameters; `model` is any hashable key."""
        self._end_iteration()
        if weight >= 0:
            self._models.add(model)
            self._underived.add(model)
            self._saw_models = True
        if self._fetched:
            self._stock = (self._stock or 0) + self._fetched
            self._fetched = 0
        self._work_on(batch, length, weight)

    def evaluated(self, model=None, batch: int = 0, length: int = 0, weight: int = 0, trained: bool = True) -> bool:
        """A model is called without training it: what was only fetched so far was not for training.

        Returns False where the call is part of a step: of an open one, as a teacher's is, or where `infers`. Then
        `model` is any hashable key, and the rest is as for `forward`. `trained`: whether an optimizer has any of its
        parameters.
        """
        if self.infers:
            if model in self._called:
                self._end_iteration()
            self._work_on(batch, length, weight)
            self._fetched = 0
            if not self._manual:
                self._iterations += not self._called
                self._called.add(model)
            return False
        self._end_iteration()
        if self._is_sure:
            return False
        self._begin_noted = False
        self._fetched = 0
        if not self._waits:
            self._feeding.called(trained)
            if not self._begin:
                self._begin = "noted"
                self._listener.note_step_begin()
            self._open = False
        return True

    @property
    def feeds(self) -> bool:
        """Whether the calls since the last step are the begin of the next one, rather than an evaluation."""
        return self._feeding.feeds

    def backward_begins(self, accumulates: bool = True) -> None:
        """A backward pass begins; nested ones are part of the outermost. Where it does not accumulate gradients, it is
        a derivative on the way: one batch may have several."""
        self._backwards += 1
        self._train()
        if self._backwards > 1:
            return
        self._touch()
        self._since.sure = True
        self._derives = not accumulates
        self._since.derived.update(self._underived if self._saw_models else (None,))
        self._underived.clear()
        if accumulates:
            self._since.backwards.update(self._models if self._saw_models else (None,))
            self._models.clear()

    def gradients_cleared(self) -> None:
        """An optimizer set gradients to zero: what backwards added up is not used."""
        self._since.backwards.clear()

    def backward_ends(self) -> None:
        """A backward pass ended, or threw."""
        self._backwards -= 1
        if self._backwards or self._manual or self._derives and self._alive():
            return
        self._unstepped += 1
        if self._stepped_in_backward or not self._stepped and self._steps_unseen:
            self._keep_work()
            self._close()

    def optimizer_begins(self, optimizer) -> None:
        """An optimizer is about to step, and is not called by another step of its own."""
        self._train()
        if optimizer in self._stepped and not self._manual and not self._backwards:
            self._touch()  # a closure may do all of the step's work, so that nothing came before
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
        self._work.use(optimizer)
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
        """The script says itself that its step ended; from now on only this closes a step.

        A first call where nothing was done only begins the first step.
        """
        if not (self._manual or self._open or self._begin):
            self.tell()
            return
        self._manual = True
        self._called.clear()
        if not self._open:  # all of it was an evaluation, or work that no hook sees
            if self._begin != "begun":
                self._listener.begin_step(self._number, True)
            self._open = True
        self._keep_work()
        self._close()
        self._listener.note_step_begin()

    def tell(self) -> None:
        """The script will say where its steps end, and the first one begins here."""
        self._manual = True
        self._listener.note_step_begin()

    def finish(self) -> None:
        """The training ends: closes a step in which all was done."""
        self._end_iteration()
        if self._open and self._stepped and not self._manual:
            self._open = False
            self._end(late=True)

    @property
    def _steps_unseen(self) -> bool:
        """Whether nothing but backwards tells steps: no optimizer, or one whose step is compiled."""
        return not self._alive() or self._unstepped > MOST_MICRO_STEPS

    @property
    def _is_sure(self) -> bool:
        """Whether a training step's work has begun."""
        return self._since.sure or self._work.sure and not self._waits

    @property
    def _waits(self) -> bool:
        """Whether optimizers have stepped, and only the next call tells whether that was all."""
        return bool(self._stepped) and not self._backwards and not self._manual

    def _train(self) -> None:
        self._trains = True
        self._called.clear()  # the open iteration is the first step

    def _work_on(self, batch: int, length: int, weight: int) -> None:
        self._touch()
        self._since.sure = True
        self._since.add_forward(batch, length, weight)

    def _end_iteration(self) -> None:
        if self._called:
            self._called.clear()
            self._keep_work()
            self._close()

    def _touch(self) -> None:
        self._straggling = False
        if not self._open:
            self._open = True
            begin, self._begin = self._begin, "begun"
            if not self.feeds:
                self._listener.begin_step(self._number, False)
            elif begin == "noted":
                self._listener.begin_step(self._number, True)
        elif self._waits and not self._begin_noted:
            self._begin_noted = True
            self._listener.note_step_begin()

    def _keep_work(self) -> None:
        self._work.add(self._since)
        self._since = _Work()

    def _close_late(self) -> None:
        self._end(late=True)
        self._begin = "begun"
        self._listener.begin_step(self._number, True)

    def _close(self) -> None:
        self._open = False
        self._straggling = not self._manual
        self._end(late=False)

    def _end(self, late: bool) -> None:
        work, number = self._work, self._number
        self._number += 1
        self._begin = ""
        self._recent = [*self._recent[-1:], frozenset(self._stepped)]
        self._stepped = set()
        self._stepped_in_backward = False
        self._begin_noted = False
        self._feeding.step_ends()
        self._work = _Work()
        # The listener may be interrupted, as by Ctrl+C: the step has been closed before.
        self._listener.end_step(number, work.batch, work.length, self._take_from_stock(work), late)

    def _take_from_stock(self, work: _Work) -> int:
        """The micro steps of a step: no more than the batches that were fetched for it."""
        micro_steps = work.micro_steps
        # A model may be called with more than a loader's batch, as with the frames of its videos.
        batch = min(work.batch, self._loader_batch)
        if not self._stock or not batch:
            return micro_steps
        micro_steps = min(micro_steps, -(-self._stock // batch))
        left = max(self._stock - micro_steps * batch, 0)
        self._stock = left - left % batch  # an epoch's last batch is smaller than it was taken for
        return micro_steps

    def _is_straggler(self, optimizer) -> bool:
        """Whether the optimizer belongs to the step that has just been closed: nothing was computed since."""
        return self._straggling and optimizer not in self._recent[-1]

    def _join_last_step(self, optimizer) -> None:
        """The next step must not close before this optimizer has stepped, so forgets earlier sets."""
        self._recent = [self._recent[-1] | {optimizer}]
