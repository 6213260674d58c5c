"""Serves the runner: reads a job (entry, dtype) per line, writes a result per line.

The runner attributes a crash or a hang of this process to the job that it sent last.
"""
import argparse
import json
import os
import sys
import warnings


def keep_stdout():
    """Returns the runner's pipe and redirects stdout, which ops may print to, to stderr."""
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return pipe


def load(library):
    """Loads the device, before the testing modules ask PyTorch for MPS."""
    import torch
    sys.path.append(os.path.join(os.path.dirname(__file__), "../../../src/python"))
    from highwater_mps import _simulated
    torch.ops.load_library(library)
    _simulated.complete(torch)
    if not torch.backends.mps.is_available():
        sys.exit(f"{library}: no mps device after loading it")
    torch.set_num_threads(1)
    # Only the CPU has flash attention; MPS takes the math path.
    torch.backends.cuda.enable_flash_sdp(False)


def serve(pipe):
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from entry_run import EntryRun
    entries = {entry.full_name: entry for entry in op_db}
    print(json.dumps({"ready": len(entries)}), file=pipe)
    for line in sys.stdin:
        job = json.loads(line)
        run = EntryRun(entries[job["entry"]], job)
        print(json.dumps(run.run()), file=pipe)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--list", action="store_true", help="print the catalog and end")
    warnings.simplefilter("ignore")
    pipe = keep_stdout()
    arguments = parser.parse_args()
    load(arguments.library)
    if arguments.list:
        from catalog import catalog
        print(json.dumps(catalog()), file=pipe)
    else:
        serve(pipe)


if __name__ == "__main__":
    main()
