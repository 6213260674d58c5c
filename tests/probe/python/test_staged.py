"""Fallbacks that do not call aten::_to_cpu: a kernel of the device copies to the CPU by itself, calls the op there
and copies back, as svd and eigh do with large matrices since PyTorch 2.14."""
import unittest

import python_probe as probe
import torch

VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
mps = torch.device("mps")
torch.set_num_threads(1)


def symmetric(size):
    torch.manual_seed(0)
    matrix = torch.randn(size, size)
    return matrix + matrix.T


def eigh_by_itself(matrix, triangle="L", vectors=True, *, eigenvalues, eigenvectors):
    """What the kernel of 2.14 does, for the versions before."""
    values = torch._linalg_eigh(matrix.cpu(), triangle, vectors)
    for out, value in zip((eigenvalues, eigenvectors), values):
        out.resize_(value.shape).copy_(value)
    return eigenvalues, eigenvectors


class Staged(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if VERSION < (2, 14):
            cls.library = torch.library.Library("aten", "IMPL")
            cls.library.impl("_linalg_eigh.eigenvalues", eigh_by_itself, "MPS")
        probe.begin()

    @classmethod
    def tearDownClass(cls):
        probe.end()

    def setUp(self):
        torch.mps.synchronize()
        probe.take()

    def events(self):
        return [(event.kind, event.op) for event in probe.take()]

    def test_eigh_is_one_fallback(self):
        matrix = symmetric(120)
        on_device = matrix.to(mps)
        for level in "monitor", "ops":
            with self.subTest(level):
                probe.level(level)
                probe.take()
                values = torch.linalg.eigvalsh(on_device) if level == "ops" else torch.linalg.eigh(on_device)[0]
                seen = self.events()
                self.assertEqual(len(seen), 1, seen)
                self.assertEqual(seen[0][0], "fallback", seen)
                self.assertIn("linalg_eigh", seen[0][1])
                torch.testing.assert_close(values.cpu(), torch.linalg.eigvalsh(matrix), atol=1e-4, rtol=1e-4)
                probe.take()
        probe.level("monitor")

    def test_on_the_cpu_it_is_none(self):
        torch.linalg.eigh(symmetric(120))
        self.assertEqual(self.events(), [])

    @unittest.skipUnless(VERSION >= (2, 14), "before, svd always falls back")
    def test_svd(self):
        matrix = symmetric(120).to(mps)
        probe.take()
        torch.linalg.svd(matrix)
        seen = self.events()
        self.assertEqual([kind for kind, _ in seen], ["fallback"], seen)
        self.assertIn("svd", seen[0][1])

    @unittest.skipUnless(VERSION >= (2, 14), "before, both fall back whatever the size")
    def test_small_matrices_stay_on_the_device(self):
        matrix = symmetric(16).to(mps)
        probe.take()
        torch.linalg.eigh(matrix)
        torch.linalg.svd(matrix)
        self.assertEqual(self.events(), [])


if __name__ == "__main__":
    unittest.main()
