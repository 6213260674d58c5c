"""The closing rule of steps against the calls of the loops that people write."""
import unittest

from support import SOURCES  # noqa: F401  makes highwater importable
from highwater._steps import MOST_MICRO_STEPS, StepListener, StepRule


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

    def micro_steps(self):
        return [micro for _, _, micro, _ in self.log.steps]

    def late(self):
        return [late for _, _, _, late in self.log.steps]


class Steps(unittest.TestCase):
    def test_plain(self):
        loop = Loop()
        for _ in range(4):
            loop.rule.fetched()
            loop.forward()
            loop.backward()
            loop.step()
        self.assertEqual(loop.log.steps, [(8, 0, 1, False)] * 4)
        self.assertEqual(loop.log.calls[:4], ["begin 1", "end 1", "begin 2", "end 2"])

    def test_accumulation(self):
        loop = Loop()
        for _ in range(3):
            for _ in range(4):
                loop.forward(2)
                loop.backward()
            loop.step()
        self.assertEqual(loop.log.steps, [(2, 0, 4, False)] * 3)

    def test_gan(self):
        loop = Loop(alive=2)
        for _ in range(6):
            loop.backward()
            loop.step("discriminator")
            loop.backward()
            loop.step("generator")
        self.assertEqual(loop.micro_steps(), [1] * 6)
        self.assertEqual(loop.late(), [True, True, False, False, False, False])

    def test_n_critic_counts_two_steps_an_iteration(self):
        loop = Loop(alive=2)
        for _ in range(5):
            for _ in range(2):
                loop.backward()
                loop.step("critic")
            loop.backward()
            loop.step("generator")
        loop.rule.finish()
        self.assertEqual(loop.micro_steps(), [1] * 10)

    def test_lbfgs(self):
        loop = Loop()
        for _ in range(3):
            loop.step("lbfgs", closures=5)
        self.assertEqual(loop.micro_steps(), [1] * 3)

    def test_closures_beside_an_idle_optimizer(self):
        loop = Loop(alive=2)
        for _ in range(5):
            loop.step("lbfgs", closures=2)
        self.assertEqual(loop.micro_steps(), [1] * 5)
        # A step that begins late begins where that was noted, after the step before.
        for at, call in enumerate(loop.log.calls):
            if call.startswith("begin") and call.endswith("late"):
                self.assertEqual(loop.log.calls[at - 2:at], ["note begin", f"end {int(call.split()[1]) - 1} late"])

    def test_closure_of_lightning(self):
        loop = Loop()
        for _ in range(3):
            loop.rule.fetched()
            loop.step("adam", closures=1)
        self.assertEqual(loop.log.steps, [(8, 0, 1, False)] * 3)

    def test_optimizers_in_backward(self):
        loop = Loop(alive=4)
        for _ in range(3):
            loop.forward()
            loop.backward(inside=("a", "b", "c", "d"))
        self.assertEqual(loop.log.steps, [(8, 0, 1, False)] * 3)

    def test_two_optimizers_on_one_loss(self):
        loop = Loop(alive=2)
        for _ in range(5):
            loop.backward()
            loop.step("dense")
            loop.step("sparse")
        self.assertEqual(loop.micro_steps(), [1] * 5)

    def test_an_unused_optimizer(self):
        loop = Loop(alive=2)
        for _ in range(5):
            loop.backward()
            loop.step()
        self.assertEqual(loop.micro_steps(), [1] * 5)
        self.assertEqual(loop.late(), [True, True, False, False, False])

    def test_another_optimizer_later(self):
        loop = Loop(alive=2)
        for _ in range(4):
            loop.backward()
            loop.step("head")
        for _ in range(5):
            loop.backward()
            loop.step("head")
            loop.step("body")
        loop.rule.finish()
        self.assertEqual(loop.micro_steps(), [1] * 9)

    def test_a_skipping_scaler_is_told_as_a_step(self):
        loop = Loop()
        for _ in range(3):
            loop.backward()
            loop.rule.optimizer_begins("sgd")
            loop.rule.optimizer_ends("sgd")
        self.assertEqual(loop.micro_steps(), [1] * 3)

    def test_step_that_threw(self):
        loop = Loop()
        loop.backward()
        loop.rule.optimizer_begins("sgd")
        loop.backward()
        loop.step()
        self.assertEqual(loop.micro_steps(), [2])

    def test_no_optimizer(self):
        loop = Loop(alive=0)
        for _ in range(3):
            loop.forward()
            loop.backward()
        self.assertEqual(loop.log.steps, [(8, 0, 1, False)] * 3)

    def test_compiled_optimizer(self):
        """Its hooks are not called."""
        loop = Loop()
        for _ in range(MOST_MICRO_STEPS + 3):
            loop.backward()
        self.assertEqual(loop.micro_steps(), [MOST_MICRO_STEPS + 1, 1, 1])
        loop.step()
        loop.backward()
        loop.step()
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
        loop.rule.close()
        for _ in range(3):
            for _ in range(2):
                loop.backward()
                loop.step()
            loop.rule.close()
        self.assertEqual(loop.micro_steps(), [2] * 3)

    def test_steps_that_only_evaluate_or_do_nothing_that_is_seen(self):
        loop = Loop()
        loop.rule.close()
        for _ in range(2):
            loop.backward()
            loop.step()
            loop.rule.close()
        loop.rule.evaluated("model", 32, 7, 1)
        loop.rule.close()
        loop.rule.close()
        self.assertEqual(loop.micro_steps(), [1, 1, 0, 0])
        self.assertEqual(loop.log.calls[-7:], ["note begin", "note begin", "begin 3 late", "end 3", "note begin",
                                               "begin 4 late", "end 4", "note begin"][-7:])

    def test_work_after_a_late_end_is_of_the_next_step(self):
        loop = Loop(alive=2)
        loop.rule.fetched()
        loop.forward(4)
        loop.backward()
        loop.step()
        loop.rule.fetched()
        loop.forward(6)
        loop.backward()
        loop.step()
        self.assertEqual(loop.log.calls, ["begin 1", "note end", "note begin", "end 1 late", "begin 2 late",
                                          "note end"])
        loop.rule.finish()
        self.assertEqual(loop.log.steps, [(4, 0, 1, True), (6, 0, 1, True)])

    def test_the_largest_model_determines_the_batch(self):
        loop = Loop()
        loop.rule.forward(16, 0, 10)
        loop.rule.forward(4, 7, 100)
        loop.rule.forward(5, 7, 100)
        loop.backward()
        loop.step()
        self.assertEqual(loop.log.steps, [(4, 7, 1, False)])


class MicroSteps(unittest.TestCase):
    """Batches whose gradients a step adds up."""

    def micro_steps(self, step, alive=1):
        """Of the third of three steps, each by a call of `step` with the loop."""
        loop = Loop(alive)
        for _ in range(3):
            step(loop)
        loop.rule.finish()
        return loop.micro_steps()[-1]

    def test_several_losses_of_one_call(self):
        def step(loop):
            loop.forward()
            loop.backward()
            loop.rule.forward(weight=-1)  # a loss is a module too
            loop.backward()
            loop.step()
        self.assertEqual(self.micro_steps(step), 1)

    def test_two_models_in_one_step(self):
        def step(loop):
            for model in ("actor", "critic"):
                loop.rule.forward(8, 0, 1, model)
                loop.backward()
            loop.step()
        self.assertEqual(self.micro_steps(step), 1)

    def test_manual_optimization_of_two_models(self):
        def step(loop):
            for _ in range(4):
                loop.forward()
                loop.backward()
            loop.step("generator")
            loop.rule.gradients_cleared()
            loop.forward()
            loop.backward()
            loop.step("discriminator")
        self.assertEqual(self.micro_steps(step, alive=2), 4)

    def test_real_and_generated_samples_of_one_batch(self):
        def step(loop):
            loop.rule.fetched(8)
            for _ in range(2):
                loop.forward()
                loop.backward()
            loop.step()
        self.assertEqual(self.micro_steps(step), 1)

    def test_a_batch_in_parts(self):
        def step(loop):
            loop.rule.fetched(32)
            for _ in range(4):
                loop.forward()
                loop.backward()
            loop.step()
        self.assertEqual(self.micro_steps(step), 4)

    def test_a_loader_that_is_ahead(self):
        def step(loop):
            for _ in range(4):
                loop.rule.fetched(8, trains=True)
                loop.forward(80)  # frames of 8 videos
                loop.backward()
            loop.step()
        loop = Loop()
        loop.rule.fetched(8)
        for _ in range(3):
            step(loop)
        self.assertEqual(loop.micro_steps(), [4] * 3)


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
        loop.forward()
        loop.backward()
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


if __name__ == "__main__":
    unittest.main()
