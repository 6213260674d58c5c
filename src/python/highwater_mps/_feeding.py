"""Tells the begin of a training step from an evaluation: calls of models without gradients. Pure logic, without torch.

A model that no optimizer trains may be called before each step, as a teacher or a frozen encoder is; so may the one that
is trained, on the batch that the step takes next, for pseudo-labels or to choose samples. Where this came before each of
the last steps, it is the begin of the next one too. Without such a batch a model that is trained evaluates.
"""
from __future__ import annotations

import enum

# Models that are not trained were called before so many steps in a row: they are before the next one too.
_FED_STEPS = 2


class _Calls(enum.IntEnum):
    """What the calls since the last step are."""
    NONE = 0  # there were none
    EVALUATE = 1
    MAY_FEED = 2  # they are the next step's begin if the steps after it begin so too
    FEED = 3  # they are its begin


class Feeding:
    """What came before a step, since the last one."""

    def __init__(self):
        self._calls = _Calls.NONE
        self._number = 0  # of calls
        self._most = 0  # calls that came before the last step that was fed
        self._steps = 0  # in a row that were fed
        self._sources: set = set()  # of the training's batches that were fetched
        self.knows_source = False  # of the training
        self._has_evaluated = False

    @property
    def feeds(self) -> bool:
        """Whether the calls are the begin of the next step."""
        return self._calls is _Calls.FEED

    def fetched(self, source, trains: bool) -> None:
        """A batch is about to be fetched before the step's work begins; `trains`: `source` is one of the training's."""
        self.knows_source = self.knows_source or trains
        if trains and source not in self._sources:  # a step may take a batch of each, as of zip(labelled, unlabelled)
            self._sources.add(source)
            if self._calls is _Calls.EVALUATE:
                self._calls = _Calls.NONE  # the evaluation is over
        elif self._calls or not trains and self.knows_source:
            self._calls = _Calls.EVALUATE
            self._has_evaluated = self._has_evaluated or not trains and self.knows_source

    def called(self, trained: bool) -> None:
        """A model is called without gradients; `trained`: an optimizer has some of its parameters."""
        if trained and not self._sources:
            self._has_evaluated = True
            self._calls = _Calls.EVALUATE
            return
        if not self._calls:
            self._calls = _Calls.FEED if self._steps >= _FED_STEPS else _Calls.MAY_FEED
            self._number = 0
        self._number += 1
        if self.feeds and self._number > self._most:
            self._calls = _Calls.EVALUATE

    def step_ends(self) -> None:
        """An evaluation of the trained model may hide what came before the step: that neither tells for it nor against."""
        if self._calls >= _Calls.MAY_FEED:
            self._steps += 1
            self._most = self._number
        elif not self._has_evaluated:
            self._steps = 0
        self._calls = _Calls.NONE
        self._has_evaluated = False
        self._sources.clear()
