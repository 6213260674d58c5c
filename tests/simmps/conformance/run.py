#!/usr/bin/env python3
"""Operator conformance of the simulated MPS device, judged by PyTorch's own OpInfo database."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from pool import HERE, run_all
from verdicts import summary, verdict_of

DTYPES = ("float32", "float16", "bfloat16", "int64", "bool")


def options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="libhighwater_simmps.so")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--only", default="", help="regular expression on the entry's name")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one entry")
    parser.add_argument("--goal", type=int, default=640, help="float32 entries that must pass")
    parser.add_argument("--json", help="write every verdict here")
    parser.add_argument("--samples", type=int, default=0, help="most samples of an entry; 0: all")
    return parser.parse_args()


def worker_environment(folder):
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("HIGHWATER_SIM_", "PYTORCH_"))}
    kept.update(OMP_NUM_THREADS="1", CONFORMANCE_STDERR=os.path.join(folder, "stderr.{worker}"))
    return kept


def listed(arguments):
    """The catalog, from a process that loads the device."""
    done = subprocess.run([sys.executable, os.path.join(HERE, "worker.py"), arguments.library,
                           "--list"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def jobs_of(catalog, arguments):
    wanted = arguments.dtypes.split(",")
    for dtype in wanted:
        for entry, known in catalog.items():
            if dtype in known["dtypes"] and re.search(arguments.only, entry):
                yield {"entry": entry, "dtype": dtype, "values": True, "limit": arguments.samples}


def main():
    arguments = options()
    started = time.monotonic()
    catalog = listed(arguments)
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        def report(job, result):
            verdict = {**job, **result, **verdict_of(job, result)}
            verdicts.append(verdict)
            if verdict["verdict"] in ("wrong", "crash"):
                print(f"{verdict['verdict']:6} {job['entry']} {job['dtype']}: {verdict['reason']}",
                      flush=True)

        run_all(jobs_of(catalog, arguments), arguments.library, worker_environment(folder),
                arguments.workers, arguments.limit, report)
    print(summary(verdicts))
    print(f"{time.monotonic() - started:.0f} s")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(verdicts, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
