"""Loads the simulated device. Import this before anything asks PyTorch for MPS."""
import os
import sys

import torch

sys.path.append(os.path.join(os.path.dirname(__file__), "../../../src/python"))
from highwater_mps import _simulated  # noqa: E402

torch.ops.load_library(os.environ["HIGHWATER_SIMMPS"])
_simulated.complete(torch)

mps = torch.device("mps")
