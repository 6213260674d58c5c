#!/usr/bin/env python3
"""Lists the aten ops that have a CPU kernel and no MPS kernel: what falls back on real MPS.

    make_fallback_ops.py native_functions.yaml      from the dispatch keys of a PyTorch version
    make_fallback_ops.py mps-ops.json               from "fallback_candidates": the ops that a macOS
                                                    libtorch_cpu registers for CPU but not for MPS

Prints sorted C++ string literals. The wheel has the yaml in torchgen/packaged; only `func`,
`structured_delegate` and `dispatch` are read, so no yaml parser is needed.

An op has a kernel for a backend if its `dispatch` names that backend or a Composite key, which covers
all backends. Without `dispatch`, and under `autogen`, an op is composite. An op with
`structured_delegate` gets a CompositeExplicitAutogradNonFunctional kernel that calls the out= op it
delegates to, so only the latter can lack one.
"""
import json
import re
import sys

# Registered for MPS in MPSFallback.mm, not in the yaml: the first always falls back, the second only
# checks devices.
REGISTERED_BY_HAND = {"embedding_renorm_", "_slow_conv2d_forward"}

# Registered for the CPU in RNN.cpp, not in the yaml.
ONLY_IN_CPP = {
    f"{name}.{overload}"
    for name in ("quantized_gru", "quantized_lstm")
    for overload in ("data", "data_legacy", "input", "input_legacy")
}

COVERS_ALL = {
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
}


class Op:
    def __init__(self, schema):
        self.name = schema.split("(", 1)[0].strip()
        self.delegates = False
        self.keys = set()


def read_ops(lines):
    """Parses the ops of native_functions.yaml, by name."""
    ops, op, in_dispatch = {}, None, False
    for number, line in enumerate(lines, 1):
        text = line.split(" #", 1)[0].rstrip()
        if not text or text.startswith("#"):
            continue
        if match := re.match(r"- func:\s*(.+)", text):
            op, in_dispatch = Op(match[1]), False
            ops[op.name] = op
        elif op is None:
            raise ValueError(f"line {number}: no function yet: {text}")
        elif match := re.match(r"  (\w+):\s*(.*)", text):
            in_dispatch = match[1] == "dispatch"
            op.delegates = op.delegates or match[1] == "structured_delegate"
        elif in_dispatch:
            match = re.match(r"    ([\w, ]+):\s*[\w:]+", text)
            if not match:
                raise ValueError(f"line {number}: not an entry of dispatch: {text}")
            op.keys.update(key.strip() for key in match[1].split(","))
    return ops


def fallback_ops(ops):
    """Names of ops with a CPU kernel, but neither an MPS kernel nor one for every backend."""
    without = {
        op.name
        for op in ops.values()
        if "CPU" in op.keys
        and "MPS" not in op.keys
        and not op.keys & COVERS_ALL
        and not op.delegates
    }
    return sorted((without - REGISTERED_BY_HAND) | ONLY_IN_CPP)


def main(path):
    with open(path, encoding="utf-8") as file:
        if path.endswith(".json"):
            candidates = json.load(file)["fallback_candidates"]
            names = sorted({name.removeprefix("aten::") for name in candidates})
        else:
            names = fallback_ops(read_ops(file))
    if len(names) < 50:
        raise ValueError(f"{path}: only {len(names)} ops, so it was not understood")
    for name in names:
        print(f'    "{name}",')


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
