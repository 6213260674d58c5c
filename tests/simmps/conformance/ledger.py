"""Which entries made the host wait because the device did not know a result's shape?

Read from the device's own account (HIGHWATER_SIM_LEDGER): the waits with cause "no_shape".
"""
import json
from collections import Counter


def shapeless_waits(path):
    """[(time in ns, op)] in the order of time; none where the process wrote no ledger."""
    waits = []
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if "no_shape" not in line:
                    continue
                entry = json.loads(line)
                waits.append((entry["begin_ns"], entry["op"]))
    except FileNotFoundError:
        pass
    return waits


def charge(results, path_of):
    """Adds "drains", ops with counts, to each result; path_of(worker) names its ledger."""
    by_worker = {}
    for result in results:
        if "ns" in result:
            by_worker.setdefault(result["worker"], []).append(result)
    for worker, own in by_worker.items():
        waits = shapeless_waits(path_of(worker))
        for result in own:
            begin, end = result["ns"]
            result["drains"] = dict(Counter(op for at, op in waits if begin <= at <= end))
