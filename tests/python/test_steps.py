"""The closing rule of steps against the calls of the loops that people write."""
import unittest

from support import SOURCES  # noqa: F401  makes highwater importable
from highwater_mps._steps import MOST_MICRO_STEPS, StepListener, StepRule


class Log(StepListener):
    """Keeps the steps; each as what happened in it."""

    def __init__(self):
        self.calls = []
        self.steps = []

    def begin_step(self, number, late):
        self.calls.append(f"begin {number}" + (" late" if late else ""))

    def end_step(self, number, batch, length, micro_steps, late):
        self.calls.append(f"end {number}" + (" late" if late else ""))
        self.steps.append((batch, length, micro_steps, late))

    def note_step_begin(self):
        self.calls.append("note begin")

    def note_step_end(self):
        self.calls.append("note end")


class Loop:
    """Makes the calls of a training loop."""

    def __init__(self, alive=1):
        self.log = Log()
        self.rule = StepRule(self.log, lambda: alive)

    def forward(self, batch=8):
        self.rule.forward(batch, 0, 1)

    def backward(self, inside=()):
        self.rule.backward_begins()
        for optimizer in inside:
            self.step(optimizer)
        self.rule.backward_ends()

    def step(self, optimizer="sgd", closures=0):
        self.rule.optimizer_begins(optimizer)
        for _ in range(closures):
            self.rule.gradients_cleared()
            self.forward()
            self.backward()
        self.rule.optimizer_ends(optimizer)

    def do(self, calls):
        """Each word of `calls` is a call, with its argument behind a colon."""
        for word in calls.split():
            name, _, argument = word.partition(":")
            number = int(argument) if argument.isdecimal() else None
            if name == "forward":
                self.forward(number or 8)
            elif name == "model":
                self.rule.forward(8, 0, 1, argument)
            elif name == "loss":  # a loss is a module too
                self.rule.forward(weight=-1)
            elif name == "fetch":
                self.rule.fetched(*([number] if number else []))
            elif name == "fetch_to_train":
                self.rule.fetched(number, trains=True)
            elif name == "backward":
                self.backward(argument.split(",") if argument else ())
            elif name == "step":
                self.step(argument or "sgd")
            elif name == "closures":
                self.step("lbfgs", closures=number)
            elif name == "throws":  # a step that does not end
                self.rule.optimizer_begins("sgd")
            elif name == "grad":  # torch.autograd.grad()
                self.rule.backward_begins(accumulates=False)
                self.rule.backward_ends()
            elif name == "clear":
                self.rule.gradients_cleared()
            else:
                assert name == "close", name
                self.rule.close()

    def micro_steps(self):
        return [micro for _, _, micro, _ in self.log.steps]

    def late(self):
        return [late for _, _, _, late in self.log.steps]


# What a loop does in an iteration, how many optimizers there are, and what its steps are: micro-steps, and which of
# them end late. `closed`: the last one ends where the training does.
LOOPS = {
    "plain": ("fetch forward backward step", 1, 4, [1] * 4, []),
    "accumulation": ("forward:2 backward " * 4 + "step", 1, 3, [4] * 3, []),
    "GAN": ("backward step:discriminator backward step:generator", 2, 6, [1] * 6, [0, 1]),
    "n critics: two steps an iteration": ("backward step:critic backward step:critic backward step:generator", 2, 5,
                                          [1] * 10, None),
    "LBFGS": ("closures:5", 1, 3, [1] * 3, []),
    "closures beside an idle optimizer": ("closures:2", 2, 5, [1] * 5, None),
    "closure of Lightning": ("fetch closures:1", 1, 3, [1] * 3, []),
    "optimizers in backward": ("forward backward:a,b,c,d", 4, 3, [1] * 3, []),
    "two optimizers on one loss": ("backward step:dense step:sparse", 2, 5, [1] * 5, None),
    "an unused optimizer": ("backward step", 2, 5, [1] * 5, [0, 1]),
    "no optimizer": ("forward backward", 0, 3, [1] * 3, []),
    "a step that threw": ("backward throws backward step", 1, 1, [2], None),
    "several losses of one call": ("forward backward loss backward step", 1, 3, [1] * 3, None),
    "derivatives on the way": ("forward grad forward forward grad grad backward step", 1, 3, [1] * 3, None),
    "gradients that are set by hand": ("forward grad step", 1, 3, [1] * 3, None),
    "gradients of two batches that are added up by hand": ("forward grad forward grad step", 1, 3, [2] * 3, None),
    "one row of a Jacobian after the other": ("forward " + "grad " * 300 + "backward step", 1, 3, [1] * 3, None),
    "two models in one step": ("model:actor backward model:critic backward step", 1, 3, [1] * 3, None),
    "manual optimization of two models": (
        "forward backward " * 4 + "step:generator clear forward backward step:discriminator", 2, 3, [4] * 3, None),
    "real and generated samples of one batch": ("fetch:8 forward backward forward backward step", 1, 3, [1] * 3, None),
    "a batch in parts": ("fetch:32 " + "forward backward " * 4 + "step", 1, 3, [4] * 3, None),
    "a loader that is ahead, of frames of 8 videos": ("fetch_to_train:8 forward:80 backward " * 4 + "step", 1, 3,
                                                      [4] * 3, None),
}


class Steps(unittest.TestCase):
    def test_loops(self):
        for name, (calls, alive, times, micro_steps, late) in LOOPS.items():
            with self.subTest(name):
                loop = Loop(alive)
                for _ in range(times):
                    loop.do(calls)
                if late is None:  # how its steps end is not the question
                    loop.rule.finish()
                    self.assertEqual(loop.micro_steps()[-1], micro_steps[-1])
                    self.assertEqual(len(loop.log.steps), len(micro_steps))
                else:
                    self.assertEqual(loop.micro_steps(), micro_steps)
                    self.assertEqual([i for i, each in enumerate(loop.late()) if each], late)

    def test_steps_are_as_large_as_their_batch(self):
        loop = Loop()
        loop.do("fetch forward backward step " * 2 + "forward:2 backward forward:2 backward step")
        self.assertEqual(loop.log.steps, [(8, 0, 1, False)] * 2 + [(2, 0, 2, False)])
        self.assertEqual(loop.log.calls[:4], ["begin 1", "end 1", "begin 2", "end 2"])

    def test_a_late_step_begins_where_that_was_noted(self):
        """After the step before."""
        loop = Loop(alive=2)
        loop.do("closures:2 " * 5)
        for at, call in enumerate(loop.log.calls):
            if call.startswith("begin") and call.endswith("late"):
                self.assertEqual(loop.log.calls[at - 2:at], ["note begin", f"end {int(call.split()[1]) - 1} late"])

    def test_another_optimizer_later(self):
        loop = Loop(alive=2)
        loop.do("backward step:head " * 4 + "backward step:head step:body " * 5)
        loop.rule.finish()
        self.assertEqual(loop.micro_steps(), [1] * 9)

    def test_compiled_optimizer(self):
        """Its hooks are not called."""
        loop = Loop()
        loop.do("backward " * (MOST_MICRO_STEPS + 3))
        self.assertEqual(loop.micro_steps(), [MOST_MICRO_STEPS + 1, 1, 1])
        loop.do("step backward step")
        self.assertEqual(loop.micro_steps()[-1], 1)

    def test_optimizer_that_was_not_seen_before_its_step(self):
        """As after deepcopy: the first backward closed the step, the optimizer is part of it."""
        alive = set()
        log = Log()
        rule = StepRule(log, lambda: len(alive))
        for _ in range(3):
            rule.backward_begins()
            rule.backward_ends()
            alive.add("copy")
            rule.optimizer_begins("copy")
            rule.optimizer_ends("copy")
        self.assertEqual(len(log.steps), 3)

    def test_the_scripts_own_steps(self):
        loop = Loop()
        loop.do("close " + "backward step backward step close " * 3)
        self.assertEqual(loop.micro_steps(), [2] * 3)

    def test_steps_that_only_evaluate_or_do_nothing_that_is_seen(self):
        loop = Loop()
        loop.do("close " + "backward step close " * 2)
        loop.rule.evaluated("model", 32, 7, 1)
        loop.do("close close")
        self.assertEqual(loop.micro_steps(), [1, 1, 0, 0])
        self.assertEqual(loop.log.calls[-7:], ["note begin", "begin 3 late", "end 3", "note begin", "begin 4 late",
                                               "end 4", "note begin"])

    def test_work_after_a_late_end_is_of_the_next_step(self):
        loop = Loop(alive=2)
        loop.do("fetch forward:4 backward step fetch forward:6 backward step")
        self.assertEqual(loop.log.calls, ["begin 1", "note end", "note begin", "end 1 late", "begin 2 late",
                                          "note end"])
        loop.rule.finish()
        self.assertEqual(loop.log.steps, [(4, 0, 1, True), (6, 0, 1, True)])

    def test_the_largest_model_determines_the_batch(self):
        loop = Loop()
        loop.rule.forward(16, 0, 10)
        loop.rule.forward(4, 7, 100)
        loop.rule.forward(5, 7, 100)
        loop.do("backward step")
        self.assertEqual(loop.log.steps, [(4, 7, 1, False)])


class Inference(unittest.TestCase):
    def test_told(self):
        loop = Loop(alive=0)
        for _ in range(3):
            loop.rule.evaluated("encoder", 32, 7, 1)
            loop.rule.evaluated("head", 32, 0, 0)
            loop.rule.close()
        self.assertEqual(loop.log.steps, [(32, 7, 0, False)] * 3)
        self.assertEqual(loop.rule.steps_are, "told")

    def test_told_before_the_training(self):
        """An optimizer that has not stepped yet does not tell whether this is an evaluation."""
        loop = Loop(alive=1)
        loop.rule.close()
        loop.rule.evaluated("model", 32, 0, 1)
        loop.rule.close()
        self.assertEqual(loop.log.steps, [(32, 0, 0, False)])

    def test_iterations(self):
        loop = Loop(alive=0)
        for _ in range(4):
            loop.rule.evaluated("encoder", 32, 7, 1)
            loop.rule.evaluated("head", 32, 0, 0)
        self.assertEqual(loop.rule.steps_are, "iterations")
        loop.rule.finish()
        self.assertEqual(loop.log.steps, [(32, 7, 0, False)] * 4)

    def test_iterations_begin_with_their_batch(self):
        loop = Loop(alive=0)
        for _ in range(2):
            loop.rule.fetched()
            loop.rule.evaluated("model", 32, 7, 1)
        self.assertEqual(loop.log.calls, ["begin 1", "end 1", "begin 2"])

    def test_a_training_ends_iterations(self):
        loop = Loop(alive=0)
        loop.rule.evaluated("model", 32, 7, 1)
        loop.rule.evaluated("model", 32, 7, 1)
        loop.do("forward backward")
        loop.rule.evaluated("model", 32, 7, 1)
        self.assertEqual(loop.rule.steps_are, "training")
        self.assertEqual(loop.log.steps, [(32, 7, 0, False)] * 2 + [(8, 0, 1, False)])

    def test_a_model_in_evaluation_mode_may_train(self):
        loop = Loop(alive=0)
        loop.rule.evaluated("model", 32, 7, 1)
        loop.backward()
        self.assertEqual(loop.log.steps, [(32, 7, 1, False)])


class Evaluation(unittest.TestCase):
    def test_is_not_part_of_a_step(self):
        loop = Loop()
        loop.rule.fetched()
        loop.rule.evaluated()
        loop.rule.fetched()
        loop.forward()
        loop.backward()
        loop.rule.evaluated()
        loop.step()
        self.assertEqual(loop.log.calls, ["begin 1", "begin 1", "end 1"])

    def test_is_not_part_of_a_step_that_began_late(self):
        loop = Loop(alive=2)
        loop.backward()
        loop.step()
        loop.rule.fetched()
        loop.rule.evaluated()
        loop.forward()
        loop.backward()
        loop.step()
        self.assertEqual(loop.log.calls[1:5], ["note end", "note begin", "note begin", "end 1 late"])


class ModelThatIsNotTrained(unittest.TestCase):
    """A teacher or a frozen encoder, called without gradients before the model that is trained."""

    @staticmethod
    def calls_of(steps, *, fetches=True, trained=False, between=lambda loop: None):
        loop = Loop()
        for number in range(steps):
            if fetches:
                loop.rule.fetched(8, number > 0)  # whose loader it is, is known from the first step on
            loop.rule.evaluated(trained=trained)
            between(loop)
            loop.forward()
            loop.backward()
            loop.step()
        return loop.log.calls

    def test_begins_a_step_after_two_that_began_so(self):
        """The step began where its batch was fetched; without a loader, at the call."""
        for fetches, evaluation, step in ((True, ["begin {0}", "begin {0}", "end {0}"], ["begin {0}", "end {0}"]),
                                          (False, ["note begin", "begin {0}", "end {0}"],
                                           ["note begin", "begin {0} late", "end {0}"])):
            self.assertEqual(self.calls_of(4, fetches=fetches),
                             [call.format(number + 1) for number, calls in enumerate([evaluation] * 2 + [step] * 2)
                              for call in calls])

    def test_evaluates_where_a_batch_is_fetched_before_the_training_goes_on(self):
        calls = self.calls_of(4, between=lambda loop: loop.rule.fetched(8, True))
        self.assertEqual(calls, [f"{what} {number}" for number in range(1, 5) for what in ("begin", "begin", "end")])

    def test_evaluates_on_the_batches_of_another_loader(self):
        loop = Loop()
        for _ in range(3):
            loop.rule.fetched(8, True)
            loop.rule.evaluated(trained=False)
            loop.do("forward backward step:sgd")
        self.assertTrue(loop.rule.evaluated(trained=False) and loop.rule.feeds)
        loop.do("forward backward step:sgd")
        loop.rule.fetched(8, False)
        self.assertTrue(loop.rule.evaluated(trained=False))
        self.assertFalse(loop.rule.feeds)

    def test_evaluates_where_it_is_called_now_and_then(self):
        loop = Loop()
        for number in range(9):
            if number % 3 == 0:
                loop.rule.evaluated(trained=False)
            loop.forward()
            loop.backward()
            loop.step()
        self.assertFalse([call for call in loop.log.calls if "late" in call])

    def test_one_that_is_trained_evaluates_without_a_batch_of_the_training(self):
        self.assertEqual(self.calls_of(5, trained=True, fetches=False),
                         [call for number in range(1, 6) for call in ("note begin", f"begin {number}", f"end {number}")])

    def test_one_that_is_trained_begins_a_step_on_its_batch(self):
        """As for pseudo-labels. Of the first step it is not known that its batch is the training's."""
        calls = self.calls_of(5, trained=True)
        self.assertEqual(calls[9:], ["begin 4", "end 4", "begin 5", "end 5"])
        self.assertEqual(calls[:9], [f"{what} {number}" for number in range(1, 4) for what in ("begin", "begin", "end")])

    def test_takes_a_batch_of_each_loader(self):
        """Of zip(labelled, unlabelled), or the second one after the model was called on the first."""
        for first, second in ((("labelled", "unlabelled"), ()), (("labelled",), ("unlabelled",))):
            loop = Loop()
            for number in range(5):
                for source in first:
                    loop.rule.fetched(8, number > 0, source)
                loop.rule.evaluated(trained=False)
                for source in second:
                    loop.rule.fetched(8, number > 0, source)
                loop.do("forward backward step:sgd")
            self.assertEqual(loop.log.calls[-4:], ["begin 4", "end 4", "begin 5", "end 5"])

    def test_begins_the_step_after_an_evaluation_too(self):
        loop = Loop()
        for number in range(6):
            if number in (3, 5):
                for _ in range(3):
                    loop.rule.fetched(8, False, "validation")
                    loop.rule.evaluated(trained=True)
            loop.rule.fetched(8, number > 0, "training")
            loop.rule.evaluated(trained=False)
            self.assertEqual(loop.rule.feeds, number > 1)
            loop.do("forward backward step:sgd")

    def test_begins_where_the_training_fetches_again_after_an_evaluation(self):
        """And not with the vain fetch that ends it: what is made of its results is no work of the step."""
        loop = Loop()
        for _ in range(2):
            loop.rule.fetched(8, True, "training")
            loop.do("forward backward step:sgd")
        for trains, source, calls in ((False, "validation", 0), (False, "validation", 1), (True, "training", 1)):
            self.assertEqual(loop.log.calls[4:], ["note begin", "begin 3"][:calls])
            loop.rule.fetched(8, trains, source)
            if source == "validation":
                loop.rule.evaluated(trained=True)
        self.assertEqual(loop.log.calls[4:], ["note begin", "begin 3"])

    def test_begins_a_step_whose_batch_was_fetched_before_an_evaluation(self):
        loop = Loop()
        for number in range(9):
            loop.rule.fetched(8, number > 0, "training")
            if number % 3 == 2:
                loop.rule.fetched(8, False, "validation")
                loop.rule.evaluated(trained=True)
            loop.rule.evaluated(trained=False)
            self.assertEqual(loop.rule.feeds, number > 1 and number % 3 != 2)
            loop.do("forward backward step:sgd")

    def test_an_evaluation_without_a_loader_hides_it_for_one_step_only(self):
        loop = Loop()
        for number in range(6):
            if number == 3:
                loop.rule.evaluated(trained=True)
            loop.rule.evaluated(trained=False)
            self.assertEqual(loop.rule.feeds, number in (2, 4, 5))
            loop.do("forward backward step:sgd")

    def test_evaluates_on_each_batch_of_the_training(self):
        """Features of a whole epoch, and then one step."""
        loop = Loop()
        for number in range(5):
            for _ in range(3):
                loop.rule.fetched(8, number > 0, "training")
                loop.rule.evaluated(trained=False)
            self.assertFalse(loop.rule.feeds)
            loop.do("forward backward step:sgd")

    def test_evaluates_where_it_is_called_more_often_than_before_a_step(self):
        loop = Loop()
        for _ in range(3):
            loop.rule.evaluated(trained=False)
            loop.do("forward backward step:sgd")
        loop.rule.evaluated(trained=False)
        self.assertTrue(loop.rule.feeds)
        loop.rule.evaluated(trained=False)
        self.assertFalse(loop.rule.feeds)


if __name__ == "__main__":
    unittest.main()
