"""How a Python script takes the simulated device: import this before anything asks for MPS."""
import os

import torch

torch.ops.load_library(os.environ["HIGHWATER_SIMMPS"])
# PyTorch builds for Linux say "no MPS" here, and torch.manual_seed() and torch.mps.device_count()
# believe it.
torch._C._has_mps = True

mps = torch.device("mps")
