#!/usr/bin/env python3
"""Exports a recording to each kind of file, and prints the time, the size and the memory that each takes.

    tests/bench/exports.py build/release/bin/highwater RECORDING [KIND...]
"""
import os
import sys
import tempfile
import time

KINDS = (".pftrace", ".json", ".json.gz", ".sqlite", ".csv", "/")
MIB = 1 << 20
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # of getrusage


def size_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(each.stat().st_size for each in os.scandir(path))


def main(program, recording, *kinds):
    print(f"{recording}: {os.path.getsize(recording) / MIB:.0f} MiB\nkind          s   MiB written   MiB of memory")
    for kind in kinds or KINDS:
        # Beside the recording, as /tmp may be too small.
        with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(recording))) as folder:
            target = os.path.join(folder, "run" + kind)
            begin = time.monotonic()
            child = os.posix_spawn(program, [program, "export", recording, "--to", target], os.environ)
            _, status, usage = os.wait4(child, 0)
            seconds = time.monotonic() - begin
            if status:
                sys.exit(f"the export to {kind} has failed")
            print(f"{kind:9} {seconds:6.1f} {size_of(target) / MIB:13.0f} {usage.ru_maxrss * RSS_UNIT / MIB:15.0f}",
                  flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
