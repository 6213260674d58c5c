"""The entries of PyTorch's OpInfo database, with dtypes and expected failures on real MPS."""
import copy
import unittest

DTYPES = ("float32", "float16", "bfloat16", "int64", "bool")


def catalog():
    """{entry: {"dtypes": [...], "fails_on_mps": [dtypes with an expected failure]}}.

    float32 is listed if the CPU supports it, other dtypes if MPS supports them too.
    """
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_mps import mps_ops_modifier
    marked = mps_ops_modifier([_undecorated(entry) for entry in op_db])
    found = {}
    for entry, marks in zip(op_db, marks_of(marked)):
        cpu, mps = entry.supported_dtypes("cpu"), entry.supported_dtypes("mps")
        names = [name for name in DTYPES if getattr(torch, name) in cpu and
                 (name == "float32" or getattr(torch, name) in mps)]
        found[entry.full_name] = {"dtypes": names,
                                  "fails_on_mps": [name for name in names if marks(name)]}
    return found


def _undecorated(entry):
    entry = copy.copy(entry)
    entry.decorators = ()
    return entry


def marks_of(entries):
    """A predicate for each entry: True for the name of a dtype that common_mps.py expects to fail."""
    import torch

    def predicate(entry):
        failures = [each for each in entry.decorators
                    if each.decorators and each.decorators[0] is unittest.expectedFailure]
        return lambda name: any(each.dtypes is None or getattr(torch, name) in each.dtypes
                                for each in failures)

    return [predicate(entry) for entry in entries]
