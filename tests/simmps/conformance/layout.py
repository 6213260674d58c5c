"""Copies of sample inputs on another device that keep sizes, strides, offset and aliasing."""
import torch
from torch.utils._pytree import tree_map


def _plain_copy(tensor, device):
    """The tensor's whole storage on `device`, and the same view of it."""
    whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
    copied = whole.clone() if device == "cpu" else whole.to(device)
    return copied.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def copy_tensor(tensor, device):
    """A leaf on `device` with the layout of `tensor`. PyTorch converts sparse tensors."""
    source = tensor.detach()
    if source.layout != torch.strided or source.is_nested:
        copied = source.clone() if device == "cpu" else source.to(device)
    else:
        conjugate, negative = source.is_conj(), source.is_neg()
        source = source.conj() if conjugate else source
        source = torch._neg_view(source) if negative else source
        copied = _plain_copy(source, device)
        copied = torch._neg_view(copied) if negative else copied
        copied = copied.conj() if conjugate else copied
    return copied.detach().requires_grad_(tensor.requires_grad)


def copy_tree(tree, device):
    """`tree` with its tensors and device arguments moved to `device`."""

    def moved(value):
        if isinstance(value, torch.Tensor):
            return copy_tensor(value, device)
        if isinstance(value, torch.device):
            return torch.device(device)
        return device if isinstance(value, str) and value in ("cpu", "mps") else value

    return tree_map(moved, tree)
