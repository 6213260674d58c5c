"""Losses on the device are bit-identical to the CPU's: same seed, same thread count, dropout on.

The device's thread keeps the thread count that it started with, so a later torch.set_num_threads() would change the
CPU's only. check_parity and check_training run with OMP_NUM_THREADS=1, too.
"""
import unittest

from simulated_mps import mps, torch
from train_classifier import train

# Only the CPU has a fused attention; the math path is the same on both.
torch.backends.cuda.enable_flash_sdp(False)


class Losses(unittest.TestCase):
    def check(self, **options):
        on_cpu, on_device = train("cpu", **options), train(mps, **options)
        self.assertEqual(on_cpu, on_device)
        self.assertNotEqual(on_cpu[0], on_cpu[-1])
        self.assertTrue(all(loss == loss for loss in on_cpu))

    def test_adamw(self):
        self.check()

    def test_adamw_foreach(self):
        self.check(foreach=True)

    def test_adamw_fused(self):
        self.check(fused=True)

    def test_adam_amsgrad_foreach(self):
        self.check(optimizer=torch.optim.Adam, foreach=True, amsgrad=True)

    def test_sgd(self):
        for foreach in (False, True):
            self.check(optimizer=torch.optim.SGD, momentum=0.9, foreach=foreach)

    def test_sgd_fused(self):
        self.check(optimizer=torch.optim.SGD, momentum=0.9, fused=True)


if __name__ == "__main__":
    unittest.main()
