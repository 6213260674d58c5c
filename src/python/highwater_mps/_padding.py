"""Finds batches that are padded: beyond their longest row, or as their rows differ in length."""
from __future__ import annotations

import collections.abc
import os
import re
import weakref

from ._code import function_of_users, source_lines

# So many batches of the training are looked at, the first eight and then each eighth; a look takes some 30 us.
_LOOKS = 10
_NEAR, _APART = 8, 8
# Shorter rows, or a smaller share of columns of padding, are not worth a word.
_LEAST_COLUMNS = 32
_LEAST_SHARE = 0.2
_PADS = re.compile(r"pad|\bfull\(|\bzeros\(|max_?len", re.IGNORECASE)


class Padding:
    """What no row of a batch uses: columns that the model computes for nothing.

    `note` is called once, with the line that pads, "reviews.py:29" ("" where it is not the script's), the sizes,
    "256 columns, of which the longest row uses 71 (means of 10 batches)", and the share of columns that no row uses.
    """

    def __init__(self, torch, note):
        self._torch, self._note = torch, note
        self._integers = torch.int64, torch.int32
        self._batches, self._looks, self._columns, self._unused = 0, 0, 0, 0
        self._found = None  # the columns of the last batch that was looked at, those unused, and its iterator, weakly

    @property
    def looks(self) -> bool:
        return self._looks < _LOOKS

    def fetched(self, iterator, batch) -> None:
        """A loader has made a batch for the training."""
        number, self._batches = self._batches, self._batches + 1
        if number >= _NEAR and number % _APART:
            return
        try:
            self._found = None
            sizes = self._unused_columns(batch)
            if sizes is None:
                self._looks = _LOOKS
            else:
                self._found = *sizes, weakref.ref(iterator)
        except Exception:  # a batch may be anything; nothing is said then
            self._looks = _LOOKS

    def computed(self, length: int) -> None:
        """The model is called with rows of this length. One that gets others cuts them, or does not read these tokens."""
        if self._found is None or not self.looks:
            return
        (columns, unused, iterator), self._found = self._found, None
        if length != columns:
            self._looks = _LOOKS
            return
        self._looks += 1
        self._columns += columns
        self._unused += unused
        if self._looks == _LOOKS and self._unused >= _LEAST_SHARE * self._columns:
            mean, used = self._columns / _LOOKS, (self._columns - self._unused) / _LOOKS
            sizes = f"{mean:.0f} columns, of which the longest row uses {used:.0f} (means of {_LOOKS} batches)"
            self._note(_line_that_pads(iterator()), sizes, self._unused / self._columns)

    def _unused_columns(self, batch):
        """How many columns the batch has, and how many of them are padding in all of its rows: those that its mask leaves
        out, or a value that all rows repeat at their ends. None where it is not of tokens."""
        mask = batch.get("attention_mask") if isinstance(batch, collections.abc.Mapping) else None
        if isinstance(mask, self._torch.Tensor) and self._is_of_tokens(mask):
            return mask.shape[1], int((mask == 0).all(0).sum())
        found = [each for each in self._tensors_in(batch) if self._is_of_tokens(each)]
        if not found:
            return None
        most = max(each.shape[1] for each in found)
        # Beside the tokens there may be their types, which are all the same.
        return most, min(max(self._repeats(each, -1), self._repeats(each.flip(1), -1))
                         for each in found if each.shape[1] == most)

    def _is_of_tokens(self, tensor) -> bool:
        return (tensor.ndim == 2 and tensor.dtype in self._integers and tensor.device.type == "cpu"
                and tensor.shape[0] > 0 and tensor.shape[1] >= _LEAST_COLUMNS)

    def _repeats(self, tensor, column) -> int:
        same = (tensor == tensor[0, column]).all(0)
        return int(same.flip(0).cumprod(0).sum())

    def _tensors_in(self, batch, depth=2):
        if isinstance(batch, self._torch.Tensor):
            return [batch]
        if not depth:
            return []
        values = (batch.values() if isinstance(batch, collections.abc.Mapping)
                  else batch if isinstance(batch, (tuple, list)) else ())
        return [tensor for each in values for tensor in self._tensors_in(each, depth - 1)]


# Less padding than this is what rows of any lengths have, 0 to 1.
_LEAST_RAGGED_SHARE = 0.4
# So many batches are looked at until _LOOKS of them were those that the model was called with.
_MOST_RAGGED_LOOKS = 60


class RaggedRows:
    """What torch.nn.utils.rnn.pad_sequence adds to rows of different lengths, in the batches of the training.

    `note` is called once, with the line that pads, "data.py:22", the sizes, "rows of 121 on average are padded to 279
    (means of 10 batches)", and the share of positions that are padding.
    """

    def __init__(self, torch, note):
        self._torch, self._note = torch, note
        self._looks, self._batches = 0, 0
        self._rows, self._used, self._padded = 0, 0, 0  # sums over the batches that the model was called with
        # Of what was padded since the last call of the model, by the longest row: the rows, the sum of their lengths, where.
        self._found: dict[int, tuple] = {}

    @property
    def looks(self) -> bool:
        return self._batches < _MOST_RAGGED_LOOKS and self._looks < _LOOKS

    def padded(self, sequences, line) -> None:
        """Rows are about to be padded; `line()` is where."""
        try:
            if type(sequences) not in (list, tuple) or not all(type(each) is self._torch.Tensor for each in sequences):
                return
            lengths = [each.shape[0] for each in sequences if each.ndim]
            if len(lengths) > 1 and max(lengths) >= _LEAST_COLUMNS:
                self._found[max(lengths)] = len(lengths), sum(lengths), line()
        except Exception:  # nothing is said then
            self._batches = _MOST_RAGGED_LOOKS

    def packed(self) -> None:
        """The script packs padded rows, so that the model does not compute what was added."""
        self._batches = _MOST_RAGGED_LOOKS

    def evaluates(self) -> None:
        """What was padded was for an evaluation."""
        self._found.clear()

    def computed(self, length: int) -> None:
        """The model is called with rows of this length: those that were padded, or without their last or first position."""
        if not self._found or not self.looks:
            return
        longest = next((each for each in (length, length + 1) if each in self._found), 0)
        rows, used, line = self._found.get(longest, (0, 0, ""))
        self._found.clear()
        self._batches += 1
        if not rows:
            return
        self._looks += 1
        self._rows += rows
        self._used += used
        self._padded += rows * longest
        share = 1 - self._used / self._padded
        if self._looks == _LOOKS and share >= _LEAST_RAGGED_SHARE and line:
            self._note(line, f"rows of {self._used / self._rows:.0f} on average are padded to "
                             f"{self._padded / self._rows:.0f} (means of {_LOOKS} batches)", share)


def _line_that_pads(iterator) -> str:
    """Of the script's code that makes batches or rows, the first line that seems to pad, else the first of all."""
    dataset = getattr(iterator, "_dataset", None)
    collate = getattr(iterator, "_collate_fn", None)
    collate = getattr(collate, "func", collate)  # of functools.partial
    if not hasattr(collate, "__code__"):
        collate = getattr(type(collate), "__call__", None)
    for method in (collate, getattr(type(dataset), "__getitem__", None)):
        function = function_of_users(method)
        file, lines, first = (function and source_lines(function.__code__)) or ("", [], 0)
        if lines:
            pads = next((number for number, line in enumerate(lines) if number and _PADS.search(line)), 0)
            return f"{os.path.basename(file)}:{first + pads}"
    return ""
