"""Attention with masks, and dropout, against the CPU's results to the bit."""
import unittest

import torch.nn.functional as F
from simulated_mps import mps, torch

# Only the CPU has flash attention; MPS takes the math path.
torch.backends.cuda.enable_flash_sdp(False)
attention = F.scaled_dot_product_attention


def heads(*sizes, dtype=torch.float32):
    torch.manual_seed(1)
    return [torch.randn(*sizes).to(dtype) for _ in range(3)]


def masks(length):
    """{name: boolean mask}; one has a row that masks everything."""
    torch.manual_seed(2)
    some = torch.rand(length, length) > 0.5
    some.fill_diagonal_(True)
    none_in_a_row = some.clone()
    none_in_a_row[3] = False
    return {"some": some, "a row without any": none_in_a_row, "causal": torch.ones(length, length).tril() > 0,
            "all": torch.ones(length, length, dtype=torch.bool)}


class Masks(unittest.TestCase):
    def same(self, function, *tensors):
        on_cpu = function(*tensors)
        on_mps = function(*(tensor.to(mps) for tensor in tensors))
        self.assertTrue(torch.equal(on_cpu, on_mps.cpu()), (on_cpu - on_mps.cpu()).abs().max())
        return on_cpu

    def test_boolean_masks(self):
        for name, mask in masks(8).items():
            for sizes in (2, 4, 8, 16), (4, 8, 16), (8, 16):
                with self.subTest(name, sizes=sizes):
                    result = self.same(lambda q, k, v, m: attention(q, k, v, attn_mask=m), *heads(*sizes), mask)
                    unmasked = attention(*heads(*sizes))
                    self.assertEqual(torch.equal(result, unmasked), name == "all")

    def test_a_mask_for_each_head_and_one_for_all(self):
        mask = masks(8)["a row without any"]
        for each in mask.expand(2, 4, 8, 8), mask.expand(2, 1, 8, 8), mask[:1]:
            self.same(lambda q, k, v, m: attention(q, k, v, attn_mask=m), *heads(2, 4, 8, 16), each)

    def test_half_precision(self):
        for dtype in torch.float16, torch.bfloat16:
            with self.subTest(dtype):
                self.same(lambda q, k, v, m: attention(q, k, v, attn_mask=m), *heads(2, 4, 8, 16, dtype=dtype),
                          masks(8)["a row without any"])

    def test_gradients(self):
        def gradients(query, key, value, mask):
            inputs = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
            attention(*inputs, attn_mask=mask).square().sum().backward()
            return torch.stack([tensor.grad for tensor in inputs])

        for name, mask in masks(8).items():
            with self.subTest(name):
                self.same(gradients, *heads(2, 4, 8, 16), mask)

    def test_a_boolean_mask_is_the_additive_one(self):
        mask = masks(8)["some"].to(mps)
        added = torch.zeros(8, 8, device=mps).masked_fill(~mask, float("-inf"))
        query, key, value = (tensor.to(mps) for tensor in heads(2, 4, 8, 16))
        self.assertTrue(torch.equal(attention(query, key, value, attn_mask=mask),
                                    attention(query, key, value, attn_mask=added)))

    def test_padding_of_an_encoder(self):
        def encoded(tokens, padding):
            torch.manual_seed(3)
            layer = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
            encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(tokens.device)
            return encoder(tokens, src_key_padding_mask=padding).detach()

        padding = torch.zeros(2, 8, dtype=torch.bool)
        padding[0, 5:] = True
        tokens = torch.randn(2, 8, 64)
        self.same(encoded, tokens, padding)


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

    def test_of_attention(self):
        results = []
        for device in "cpu", mps:
            torch.manual_seed(5)
            query, key, value = (tensor.to(device) for tensor in heads(2, 4, 8, 16))
            mask = masks(8)["some"].to(device)
            torch.manual_seed(6)
            results.append(attention(query, key, value, attn_mask=mask, dropout_p=0.3).cpu())
        self.assertTrue(torch.equal(*results))


if __name__ == "__main__":
    unittest.main()
