"""Tells the loaders that the training fetches from, from those of its evaluations."""
from __future__ import annotations

import weakref


class _Objects:
    """A set of objects that are told apart by identity and not kept alive: their own == is not asked."""

    def __init__(self):
        self._refs: dict[int, weakref.ref] = {}

    def add(self, ref) -> None:
        thing = ref()
        if thing is not None:
            self._refs[id(thing)] = ref

    def __contains__(self, thing) -> bool:
        return thing is not None and self._refs.get(id(thing), _nothing)() is thing


class Sources:
    """What the thread that trains fetches its batches from.

    A source is the training's where a model is trained after its batch, and before another one's; or where it is fetched
    beside that for two steps in a row, as of zip(labelled, unlabelled). It is known by its sampler, and by its data set
    where a loader is made anew for each epoch and no evaluation takes that data.
    """

    def __init__(self):
        self._samplers, self._datasets, self._evaluated = _Objects(), _Objects(), _Objects()
        self._fetched: list[tuple] = []  # sampler and data set, weakly, of what was fetched since a model was trained
        self._last: tuple = ()  # of these the newest, which also stays when they are cleared
        self._beside: list = []  # the samplers, weakly, of what was fetched before the last step beside its last batch
        self._added: tuple = ()  # the one that was noted last as the training's: mostly the next one too
        self._unlisted = None  # a sampler of the training that has no weak references: the last one
        self._has_evaluated = False  # a model that is trained, on what was fetched
        self._iterators: dict[int, weakref.ref] = {}  # the last one of each sampler
        self.repeats = False  # the training has fetched the whole of a source, or begun with it anew

    def __contains__(self, sampler) -> bool:
        return sampler is not None and (sampler in self._samplers or sampler is self._unlisted)

    def train_with(self, iterator) -> bool:
        """Whether the iterator, or a loader, is of the training."""
        sampler, dataset = _parts(iterator)
        return sampler in self or dataset in self._datasets and dataset not in self._evaluated

    def begins(self, iterator) -> None:
        """A batch is about to be fetched, from another iterator than the last one."""
        key = id(_parts(iterator)[0])
        last, self._iterators[key] = self._iterators.get(key), weakref.ref(iterator)
        if last is not None and last() is not iterator and self.train_with(iterator):
            self.repeats = True

    def fetched(self, iterator) -> None:
        """A batch was fetched."""
        if self._has_evaluated:
            self._forget()
        sampler, dataset = _parts(iterator)
        if not self._fetched and self._last and sampler is not None and self._last[0]() is sampler:
            self._fetched.append(self._last)
            return
        self._fetched = [each for each in self._fetched if each[0]() is not sampler]
        self._last = _weakly(sampler, lambda: sampler), _weakly(dataset, _nothing)
        self._fetched.append(self._last)

    def ended(self, iterator) -> None:
        """There was no batch left."""
        self.repeats = self.repeats or self.train_with(iterator)
        if self._has_evaluated:
            self._forget()
        sampler = _parts(iterator)[0]
        self._fetched = [each for each in self._fetched if each[0]() is not sampler]

    def trained(self) -> None:
        """A model is called in training."""
        self._has_evaluated = False
        if not self._fetched:
            return
        *others, last = self._fetched
        if not others and last is self._added:
            self._fetched, self._beside = [], []
            return
        again = [each for each in others if any(each[0]() is before() for before in self._beside)]
        for sampler, dataset in (*again, last):
            self._add(sampler)
            self._datasets.add(dataset)
        self._fetched, self._beside, self._added = [], [sampler for sampler, _ in others], last

    def _add(self, sampler) -> None:
        if isinstance(sampler, weakref.ref):
            self._samplers.add(sampler)
        else:
            self._unlisted = sampler()

    def evaluated(self) -> None:
        """A model that is trained is called without training it. It may be on a batch that the step takes next, as for
        pseudo-labels."""
        self._has_evaluated = True

    def _forget(self) -> None:
        """What was fetched was for an evaluation."""
        for _, dataset in self._fetched:
            self._evaluated.add(dataset)
        self._fetched.clear()
        self._has_evaluated = False


def _parts(iterator) -> tuple:
    """The sampler and the data set of a loader or of an iterator over it."""
    members = getattr(iterator, "__dict__", {})  # a loader's class may answer for what it has not
    return getattr(iterator, "_index_sampler", None), members.get("_dataset", members.get("dataset"))


def _nothing() -> None:
    return None


def _weakly(thing, otherwise):
    """`otherwise` for None, a list, or a class with __slots__. A data set as a list is not kept alive, so not known."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return otherwise
