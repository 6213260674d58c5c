"""Dropout of tensors in any memory layout, against the CPU's results to the bit."""
import unittest

import torch.nn.functional as F
from simulated_mps import mps, torch


class Dropout(unittest.TestCase):
    """The CPU draws in the order of memory, so the layout of the input decides which elements fall."""

    layouts = {
        "as made": lambda tensor: tensor,
        "transposed": lambda tensor: tensor.transpose(1, 2),
        "channels last": lambda tensor: tensor.unsqueeze(-1).expand(-1, -1, -1, 3).to(
            memory_format=torch.channels_last),
        "expanded": lambda tensor: tensor[:, :1].expand(-1, 5, -1),
        "a part": lambda tensor: tensor[:, ::2],
    }

    def same(self, function):
        torch.manual_seed(1)
        tensor = torch.randn(2, 6, 8)
        for name, layout in self.layouts.items():
            with self.subTest(name):
                results = []
                for device in "cpu", mps:
                    torch.manual_seed(5)
                    results.append(function(layout(tensor.to(device))))
                for on_cpu, on_mps in zip(*results):
                    self.assertTrue(torch.equal(on_cpu, on_mps.cpu()))
                    self.assertEqual(on_cpu.stride(), on_mps.stride())

    def test_native_dropout(self):
        for train in True, False, None:
            self.same(lambda tensor, train=train: torch.native_dropout(tensor, 0.3, train))

    def test_dropout(self):
        for probability in 0.0, 0.3, 1.0:
            self.same(lambda tensor, p=probability: [F.dropout(tensor, p)])

    def test_its_gradient(self):
        def gradient(tensor):
            tensor = tensor.detach().requires_grad_()
            F.dropout(tensor, 0.3).sum().backward()
            return [tensor.grad]

        self.same(gradient)


if __name__ == "__main__":
    unittest.main()
