"""Reads the device's ledger (HIGHWATER_SIM_LEDGER).

Finds waits for a result whose shape the device could not infer (drains of cause "no_shape"), and ops
that fell back to the CPU.
"""
import json
from collections import Counter


class BadLedger(Exception):
    """A missing or malformed ledger."""


def entries(path, wanted):
    """The ledger's entries whose line contains `wanted`; raises BadLedger."""
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
    """[(time in ns, op)] of waits for a shape, ordered by time; raises BadLedger."""
    return [(each["begin_ns"], each["op"]) for each in entries(path, '"no_shape"')
            if each.get("cause") == "no_shape"]


def fallbacks(path):
    """[(time in ns, op with overload)] of ops that ran on the CPU; raises BadLedger."""
    return [(each["begin_ns"], each["op"]) for each in entries(path, '"fallback"')
            if each.get("event") == "fallback"]


def charge(results, path_of, name="drains", read=shapeless_waits):
    """Adds {op: count} to each result, as `name`; path_of(worker) is the path of a worker's ledger."""
    by_worker = {}
    for result in results:
        if "ns" in result:
            by_worker.setdefault(result["worker"], []).append(result)
    for worker, own in by_worker.items():
        events = read(path_of(worker))
        for result in own:
            begin, end = result["ns"]
            result[name] = dict(Counter(op for at, op in events if begin <= at <= end))
