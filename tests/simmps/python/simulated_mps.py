"""Loads the simulated device. Import this before anything asks PyTorch for MPS."""
import os

import torch

torch.ops.load_library(os.environ["HIGHWATER_SIMMPS"])
# PyTorch builds for Linux set this to False, which torch.manual_seed() and torch.mps.device_count()
# check.
torch._C._has_mps = True

mps = torch.device("mps")
