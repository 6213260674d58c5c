"""Random numbers: one seed for CPU and device, states, generators."""
import unittest

from simulated_mps import mps, torch


class Random(unittest.TestCase):
    def test_manual_seed_reaches_the_device(self):
        torch.manual_seed(5)
        first = torch.randn(6, device=mps)
        torch.manual_seed(5)
        self.assertTrue(torch.equal(first, torch.randn(6, device=mps)))
        torch.manual_seed(5)
        self.assertTrue(torch.equal(first.cpu(), torch.randn(6)))

    def test_seeds_of_the_device_alone(self):
        torch.mps.manual_seed(9)
        first = torch.rand(4, device=mps)
        torch.mps.manual_seed(9)
        self.assertTrue(torch.equal(first, torch.rand(4, device=mps)))
        torch.mps.seed()
        self.assertFalse(torch.equal(first, torch.rand(4, device=mps)))

    def test_state_is_in_the_order_of_the_queue(self):
        torch.mps.manual_seed(3)
        torch.rand(1000, device=mps)
        state = torch.mps.get_rng_state()
        first = torch.rand(4, device=mps)
        torch.mps.set_rng_state(state)
        self.assertTrue(torch.equal(first, torch.rand(4, device=mps)))
        with self.assertRaisesRegex(RuntimeError, "RNG state is wrong size"):
            torch.mps.set_rng_state(torch.zeros(5, dtype=torch.uint8))

    def test_fork_rng(self):
        torch.manual_seed(1)
        with torch.random.fork_rng(devices=[0], device_type="mps"):
            inside = torch.rand(3, device=mps)
        self.assertTrue(torch.equal(inside, torch.rand(3, device=mps)))

    def test_generators(self):
        generator = torch.Generator("mps").manual_seed(1)
        first = torch.randn(3, device=mps, generator=generator)
        self.assertFalse(torch.equal(first, torch.randn(3, device=mps, generator=generator)))
        generator.manual_seed(1)
        self.assertTrue(torch.equal(first, torch.randn(3, device=mps, generator=generator)))
        self.assertEqual(generator.initial_seed(), 1)
        with self.assertRaisesRegex(RuntimeError, "Expected a 'mps' device type for generator"):
            torch.randn(3, device=mps, generator=torch.Generator())

    def test_dropout_is_the_cpus(self):
        values = torch.ones(1000)
        torch.manual_seed(4)
        on_cpu = torch.nn.functional.dropout(values, 0.3)
        torch.manual_seed(4)
        on_device = torch.nn.functional.dropout(values.to(mps), 0.3)
        self.assertTrue(torch.equal(on_cpu, on_device.cpu()))


if __name__ == "__main__":
    unittest.main()
