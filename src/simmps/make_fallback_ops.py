#!/usr/bin/env python3
"""Makes fallback_ops_<version>.inc: the ops that have a CPU kernel and no MPS kernel.

Input: a JSON file with "fallback_candidates", the operator registrations of a macOS libtorch_cpu
that are made for CPU and not for MPS. Usage: make_fallback_ops.py ops.json > fallback_ops_2_13.inc
"""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    ops = json.load(file)["fallback_candidates"]
for name in sorted({op for op in ops if "::" not in op}):
    print(f'    "{name}",')
