"""Scripts as people write them, which do not mention Highwater: the same with the hooks and without, and what
the hooks told is what the script did."""
import importlib.util
import os
import unittest

from support import SCRIPTS, Step, forked, in_own_process, run_both, script

ITERATION = ["forward", "backward", "optimizer_step"]


def plain_steps(count, batch, length=0, micro_steps=1):
    return [Step(i + 1, batch, length, micro_steps, False) for i in range(count)]


class Scripts(unittest.TestCase):
    maxDiff = None

    def watched(self, name, *arguments, how=forked):
        """The log of a script that a user cannot tell from one without the hooks."""
        without, watched = run_both(self, script(name, *arguments), how=how)
        self.assertEqual(without.code, 0, without.err)
        self.assertEqual(watched.err, without.err)
        self.assertEqual(watched.log.nesting_problem(), "")
        self.assertEqual(len(watched.log.processes()), 1)
        self.assertEqual(len(watched.log.of("stop")), 1)
        begun = [number for number, _ in watched.log.of("begin_step")]
        self.assertEqual(sorted(set(begun)), list(range(1, len(set(begun)) + 1)))
        return watched.log

    def test_plain_loop(self):
        log = self.watched("plain_loop")
        self.assertEqual(log.steps(), plain_steps(6, 32))
        self.assertEqual(log.phases(), ["forward", *ITERATION] * 6)
        self.assertEqual(log.modules(), ["Sequential", "0", "1", "2", "CrossEntropyLoss"] * 6)
        facts = log.described()
        self.assertEqual((facts["model"], facts["parameters"], facts["optimizer"]), ("Sequential", 195, "SGD"))
        self.assertEqual(facts["steps_by"], "optimizer")

    def signs(self, name, *arguments):
        """What a script's log tells of its code, by key: the line, by its mark, with the rest."""
        with open(os.path.join(SCRIPTS, name + ".py"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        told = self.watched(name, *arguments).described().get("signs", ())
        signs = {}
        for what, line, *rest in (each.split("\t") for each in told):
            if not line:  # of Python rather than of the script
                continue
            at, number = line.split(":")
            self.assertEqual(at, name + ".py")
            signs[what] = lines[int(number) - 1].partition("# ")[2], *rest
        return signs

    def test_gradients_that_no_optimizer_uses(self):
        self.assertEqual(self.signs("teacher"), {"unused_gradients": ("TEACHER", "Sequential", "0.9587")})
        self.assertEqual(self.signs("part_trained"), {"unused_gradients": ("MODEL", "Sequential", "0.6890"),
                                                      "retain_graph": ("", "", "0.0000")})
        self.assertEqual(self.signs("trained_in_turn"), {})
        self.assertEqual(self.signs("two_optimizers"), {})

    def test_an_optimizer_without_foreach(self):
        """The first one that steps; of PyTorch's own nothing is said."""
        facts = self.watched("own_optimizer").described()
        self.assertEqual(facts["optimizer"], "Signs, LBFGS")
        self.assertIn("optimizer_own\t\tSigns\t0.0000", facts["signs"])
        self.assertFalse([each for each in self.watched("lbfgs").described().get("signs", ())
                          if each.startswith("optimizer_own")])

    def test_gradients_that_are_dropped(self):
        self.assertEqual(self.signs("critic_first"), {"dropped_gradients": ("GENERATOR", "Sequential", "0.4842")})
        self.assertEqual(self.signs("encoder_and_head"), {})

    def test_backwards_through_one_graph(self):
        """Where gradients are used apart from each other, are those of some parameters, or each backward has a graph
        of its own, none is needless.

        The trunk has 6 nodes, each head with its loss 4, their weighted sum 2: 20 of 36 and 6 of 20 are gone through
        again.
        """
        with open(os.path.join(SCRIPTS, "several_losses.py"), encoding="utf-8") as file:
            later = [number for number, line in enumerate(file, 1) if "# S" in line]
        self.assertEqual(self.signs("several_losses", "balanced"), {
            "repeated_grad": ("GRAD", f"several_losses.py:{later[0]}", "0.5556")})
        retains = {"retain_graph": ("FIRST", "", "0.0000")}
        self.assertEqual(self.signs("several_losses", "in_turn"), {
            **retains, "repeated_backward": ("FIRST", f"several_losses.py:{later[1]}", "0.3000")})
        self.assertEqual(self.signs("several_losses", "last_layer"), {})
        for way in ("graph_each", "model_each", "cleared", "clipped"):
            with self.subTest(way):
                self.assertEqual(self.signs("several_losses", way), retains)

    def test_padding(self):
        self.assertEqual(self.signs("padded"), {"padding": (
            "PAD", "64 columns, of which the longest row uses 16 (means of 10 batches)", "0.7500")})
        self.assertEqual(self.signs("encoder_decoder"), {})

    def test_rows_of_different_lengths(self):
        self.assertEqual(self.signs("ragged"), {"ragged_rows": (
            "PAD", "rows of 40 on average are padded to 100 (means of 10 batches)", "0.6000")})
        self.assertEqual(self.signs("ragged", "packed"), {})
        self.assertEqual(self.signs("ragged", "sorted"), {})

    def test_gradients_are_not_read_while_other_threads_compute_some(self):
        """Their backward changes them without the GIL: who reads them meanwhile may crash the script."""
        self.assertNotIn("unused_gradients", self.signs("teacher_and_thread"))

    def test_a_teacher_is_part_of_the_step(self):
        """Once its gradients were seen, it is no evaluation, though it was put in eval()."""
        self.assertEqual(self.watched("teacher").phases()[-4:], ["forward", "forward", "backward", "optimizer_step"])

    def test_a_convolution_takes_channels_before_the_length(self):
        self.assertEqual([(step.batch, step.length) for step in self.watched("conv1d").steps()],
                         [(4, 50), (4, 60), (4, 70)])

    def test_accumulation(self):
        log = self.watched("accumulation")
        self.assertEqual(log.steps(), plain_steps(4, 4, micro_steps=4))
        step = ["batch_assembly", "forward", "backward"] * 4 + ["optimizer_step"]
        self.assertEqual(log.phases(), step * 4 + ["batch_assembly"])
        self.assertEqual(log.knobs()["dataloader_batch_size"]["value"], 4)

    def test_autocast_and_own_function(self):
        log = self.watched("autocast_function")
        self.assertEqual(log.steps(), plain_steps(4, 6))
        self.assertEqual(log.modules(), ["Net", "conv", "head"] * 4)

    def test_workers_and_evaluation(self):
        log = self.watched("workers_and_evaluation")
        self.assertEqual(log.steps(), plain_steps(10, 8))
        self.assertEqual(log.phases().count("evaluation"), 2)  # one an epoch
        # Each loader starts its workers at each epoch, fetches their first two batches, and ends them.
        self.assertEqual(log.phases().count("starting DataLoader workers"), 2 * 2)
        self.assertEqual(log.phases().count("first batch of DataLoader workers"), 2 * 4)
        self.assertEqual(log.phases().count("end of DataLoader workers"), 2 * 2)
        self.assertEqual(log.phases().count("batch_assembly"), 2 * (3 + 1 + 0 + 1))
        self.assertEqual((log.described()["loader_workers"], log.described()["persistent_workers"]), (2, False))
        self.assertEqual(log.described()["epoch_samples"], 40)
        self.assertEqual(log.phases().count("forward"), 2 * 5 * 2)
        self.assertEqual(log.knobs()["dataloader_batch_size"]["value"], 8)

    def test_encoder_decoder(self):
        log = self.watched("encoder_decoder")
        self.assertEqual([(step.batch, step.length) for step in log.steps()],
                         [(6, 7), (6, 8), (6, 5), (6, 10), (6, 11)])
        self.assertEqual(log.phases(), ITERATION * 5)
        self.assertIn("transformer.decoder.layers.0.multihead_attn", log.modules())
        self.assertEqual(log.modules().count("embed"), 2 * 5)

    def test_two_optimizers(self):
        log = self.watched("two_optimizers")
        self.assertEqual(log.steps(), [Step(i + 1, 16, 0, 1, i < 2) for i in range(6)])
        self.assertEqual(log.phases().count("optimizer_step"), 12)

    def test_lbfgs(self):
        log = self.watched("lbfgs")
        self.assertEqual([step.micro_steps for step in log.steps()], [1] * 3)
        self.assertEqual(log.phases().count("optimizer_step"), 3)

    def test_skipping_scaler(self):
        log = self.watched("skipping_scaler")
        self.assertEqual(log.steps(), plain_steps(6, 4))
        self.assertEqual(log.phases().count("optimizer_step"), 4)

    def test_optimizers_in_backward(self):
        log = self.watched("optimizers_in_backward")
        self.assertEqual(log.steps(), plain_steps(4, 9))
        self.assertEqual(log.phases(), ["forward", "backward", *["optimizer_step"] * 4] * 4)

    def test_checkpointed(self):
        log = self.watched("checkpointed")
        self.assertEqual(log.steps(), plain_steps(3, 4, 11))
        for block in ("blocks.0", "blocks.1"):  # forward, and again in backward
            self.assertEqual(log.modules().count(f"{block}.mix"), 2 * 3)
        self.assertEqual(log.phases().count("forward"), 3)

    def test_compiled(self):
        log = self.watched("compiled", how=in_own_process)  # prints the numbers of graphs, breaks and frames
        self.assertEqual(log.steps(), plain_steps(4, 16))

    @unittest.skipUnless(importlib.util.find_spec("transformers") and importlib.util.find_spec("accelerate"),
                         "transformers is not installed")
    def test_hugging_face(self):
        log = self.watched("hf_trainer")
        self.assertEqual(log.steps(), plain_steps(8, 4, 12, micro_steps=2))
        self.assertEqual(log.phases().count("forward"), 16)
        self.assertEqual(log.phases().count("evaluation"), 2)
        self.assertIn("bert.encoder.layer.0.attention.self.query", log.modules())
        self.assertEqual(log.described()["model"], "BertForSequenceClassification")
        self.assertIn("Trainer", log.knobs()["dataloader_batch_size"]["warning"])

    @unittest.skipUnless(importlib.util.find_spec("lightning"), "lightning is not installed")
    def test_lightning(self):
        log = self.watched("lightning_fit")
        self.assertEqual(log.steps(), plain_steps(12, 16))
        self.assertEqual(log.phases().count("evaluation"), 1 + 2)  # the sanity check, and each epoch
        self.assertEqual(set(log.modules()), {"layers", "layers.0", "layers.1", "layers.2"})
        self.assertEqual(log.described()["model"], "Classifier")
        self.assertIn("Lightning", log.knobs()["dataloader_batch_size"]["warning"])


if __name__ == "__main__":
    unittest.main()
