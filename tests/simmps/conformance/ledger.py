"""Which entries made the host wait because the device did not know a result's shape?

Read from the device's own account (HIGHWATER_SIM_LEDGER): the waits with cause "no_shape". And which
ops fell back to the CPU: its "fallback" entries.
"""
import json
from collections import Counter


class BadLedger(Exception):
    """A ledger that is not there, or is none."""


def entries(path, wanted):
    """The ledger's entries with the text `wanted` in their line; raises BadLedger."""
    found = []
    try:
        with open(path, encoding="utf-8") as lines:
            try:
                header = json.loads(next(lines, ""))
            except json.JSONDecodeError:
                header = {}
            if not isinstance(header, dict) or header.get("event") != "header":
                raise BadLedger(f"{path}: its first line is no header")
            for line in lines:
                if wanted in line:
                    found.append(json.loads(line))
    except FileNotFoundError:
        raise BadLedger(f"{path}: the worker wrote no ledger") from None
    return found


def shapeless_waits(path):
    """[(time in ns, op)] in the order of time; raises BadLedger."""
    return [(each["begin_ns"], each["op"]) for each in entries(path, '"no_shape"')
            if each.get("cause") == "no_shape"]


def fallbacks(path):
    """As shapeless_waits(), of ops that ran on the CPU; an op has its overload."""
    return [(each["begin_ns"], each["op"]) for each in entries(path, '"fallback"')
            if each.get("event") == "fallback"]


def charge(results, path_of, name="drains", read=shapeless_waits):
    """Adds ops with counts to each result, as `name`; path_of(worker) names its ledger."""
    by_worker = {}
    for result in results:
        if "ns" in result:
            by_worker.setdefault(result["worker"], []).append(result)
    for worker, own in by_worker.items():
        events = read(path_of(worker))
        for result in own:
            begin, end = result["ns"]
            result[name] = dict(Counter(op for at, op in events if begin <= at <= end))
