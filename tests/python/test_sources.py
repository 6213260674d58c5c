"""Which loaders are the training's, of the orders in which scripts fetch, evaluate and train."""
import unittest

from support import SOURCES  # noqa: F401  makes highwater importable
from highwater_mps._sources import Sources


class Loader:
    """What is read of a DataLoader, and of an iterator over it. It may not be compared: that would be a call of the
    user's code."""

    def __init__(self, dataset, sampler=None):
        self._dataset = dataset
        self._index_sampler = Unequal() if sampler is None else sampler

    def again(self):
        return Loader(self._dataset, self._index_sampler)


class Unequal:
    def __eq__(self, other):
        raise AssertionError("the user's == was called")

    def __bool__(self):
        raise AssertionError("the user's bool was called")

    __hash__ = None


class WhoseLoader(unittest.TestCase):
    def setUp(self):
        self.sources = Sources()
        self.data, self.held_out = Unequal(), Unequal()
        self.training, self.validation = Loader(self.data), Loader(self.held_out)

    def fetch(self, *loaders):
        for loader in loaders:
            self.sources.begins(loader)
            self.sources.fetched(loader)

    def validate(self, ends=True):
        for _ in range(2):
            self.fetch(self.validation)
            self.sources.evaluated()
        if ends:
            self.sources.ended(self.validation)

    def train(self, *loaders):
        self.fetch(*loaders)
        self.sources.trained()

    def check(self, *training, others=()):
        self.assertEqual([self.sources.train_with(each) for each in (*training, *others)],
                         [True] * len(training) + [False] * len(others))

    def test_the_one_before_a_training_step(self):
        self.train(self.training)
        self.validate()
        self.check(self.training, others=[self.validation])
        self.assertIn(self.training._index_sampler, self.sources)

    def test_each_of_those_that_a_step_takes(self):
        second = Loader(Unequal())
        self.train(self.training, second)
        self.check(second, others=[self.training])  # it may be what an evaluation broke off with
        self.train(self.training, second)
        self.check(self.training, second)

    def test_not_one_that_was_evaluated_before(self):
        self.validate()
        self.train()
        self.check(others=[self.validation])

    def test_not_one_whose_evaluation_broke_off(self):
        self.validate(ends=False)
        self.train(self.training)
        self.check(self.training, others=[self.validation])

    def test_not_one_of_which_a_batch_was_only_looked_at(self):
        """As an example for a log, or the batch with which `for` is left."""
        for _ in range(2):
            self.train(self.training)
            self.validate(ends=False)
            self.fetch(self.validation)
            self.train(self.training)
            self.check(self.training, others=[self.validation])

    def test_one_whose_batch_the_model_saw_before_it_was_trained_on_it(self):
        self.fetch(self.training)
        self.sources.evaluated()
        self.sources.trained()
        self.check(self.training)

    def test_one_made_anew_for_each_epoch(self):
        self.train(self.training)
        self.check(Loader(self.data), others=[Loader(self.held_out)])

    def test_not_by_data_that_is_evaluated_too(self):
        self.train(self.training)
        on_training_data = Loader(self.data)
        self.fetch(on_training_data)
        self.sources.evaluated()
        self.fetch(on_training_data)
        self.check(self.training, others=[on_training_data])

    def test_a_list_as_a_sampler_or_as_data(self):
        loader = Loader([1, 2], [[0], [1]])
        self.train(loader)
        self.check(loader, others=[Loader(loader._dataset)])
        self.train(Loader([1, 2], [[1], [0]]))  # only the newest is kept
        self.check(others=[loader])

    def test_repeats_where_the_batches_ended_or_an_iterator_follows_another(self):
        second = Loader(Unequal())
        for _ in range(3):
            self.train(self.training, second)
        self.assertFalse(self.sources.repeats)
        self.validate()
        self.assertFalse(self.sources.repeats)
        again = second.again()
        self.fetch(again)
        self.assertTrue(self.sources.repeats)
        self.sources.repeats = False
        self.sources.ended(self.training)
        self.assertTrue(self.sources.repeats)


if __name__ == "__main__":
    unittest.main()
