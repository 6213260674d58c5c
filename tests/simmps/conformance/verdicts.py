"""Verdicts on results, and tables of verdicts."""
from collections import Counter

import expectations
from training import TRAINING

VERDICTS = ("pass", "falls back", "refused", "not comparable", "wrong", "crash")


def _verdict(verdict, reason=""):
    return {"verdict": verdict, "reason": reason}


def verdict_of(entry, dtype, result):
    """{"verdict", "reason"} of one (entry, dtype); anything unexpected is "wrong"."""
    if "crash" in result:
        return _verdict("crash", result["crash"])
    if result["problems"]:
        return _verdict("wrong", result["problems"][0])
    refused = _refusal(result, expectations.refusal(entry, dtype))
    if refused:
        return refused
    compared = result["passed"] - result["both_raise"]
    if entry in expectations.NOT_COMPARABLE:
        if compared and entry not in expectations.UNINITIALIZED:
            return _verdict("wrong", "listed as not comparable, but samples were compared")
        return _verdict("not comparable", expectations.NOT_COMPARABLE[entry])
    if not compared:
        return _verdict("wrong", "nothing was compared, but not listed")
    return _verdict("pass")


def _refusal(result, expected):
    """The verdict on an entry that was refused, or should have been; else None.

    Single samples may be refused for float64 in entries that pass otherwise.
    """
    kinds = {kind: sorted(reasons) for kind, reasons in result["refused"].items()}
    if result["passed"] > result["both_raise"]:
        kinds.pop("float64", None)
    if not kinds:
        return _verdict("wrong", "listed as refused, but it passes") if expected else None
    if not expected and all(expectations.is_right_in_this_version(*each) for each in kinds.items()):
        return _verdict("refused", f"no MPS kernel: {kinds['no MPS kernel'][0]}")
    if not expected:
        return _verdict("wrong", f"refused, but not listed: {kinds}")
    kind, reason = expected
    if kind not in kinds:
        return _verdict("wrong", f"refused for {kinds}, not for {kind}")
    if kind == "no MPS kernel" and kinds[kind] != [reason]:
        return _verdict("wrong", f"refused for {kinds[kind]}, not for {reason}")
    return _verdict("refused", f"{kind}: {reason}")


def with_fallback(verdict, result):
    """The verdict on a refused entry after a run with PYTORCH_ENABLE_MPS_FALLBACK=1.

    The missing op must be among the result's "fallbacks", which come from the device's ledger.
    """
    if "crash" in result:
        return _verdict("crash", "with fallback: " + result["crash"])
    if result["problems"]:
        return _verdict("wrong", "with fallback: " + result["problems"][0])
    if set(result["refused"]) - {"float64"}:
        return _verdict("wrong", f"refused with fallback too: {result['refused']}")
    if result["passed"] <= result["both_raise"]:
        return _verdict("wrong", "with fallback: nothing was compared")
    missing = verdict["reason"].removeprefix("no MPS kernel: ")
    if missing not in result["fallbacks"]:
        return _verdict("wrong", f"with fallback: {missing} did not fall back, but "
                        f"{sorted(result['fallbacks'])}")
    return _verdict("falls back", verdict["reason"])


def count(verdicts, *wanted):
    """Number of float32 entries with one of these verdicts."""
    return sum(each["dtype"] == "float32" and each["verdict"] in wanted for each in verdicts)


def table(verdicts):
    lines = ["dtype     " + "".join(f"{name:>16}" for name in VERDICTS + ("all", "bit-identical"))]
    for dtype in dict.fromkeys(each["dtype"] for each in verdicts):
        rows = [each for each in verdicts if each["dtype"] == dtype]
        counts = Counter(each["verdict"] for each in rows)
        same = sum(each["verdict"] == "pass" and each["bit_identical"] for each in rows)
        row = [counts[name] for name in VERDICTS] + [sum(counts.values()), same]
        lines.append(f"{dtype:10}" + "".join(f"{count:16}" for count in row))
    return "\n".join(lines)


class Drains:
    """Waits of float32 entries for a result's shape."""

    def __init__(self, verdicts):
        ran = [each for each in verdicts
               if each["dtype"] == "float32" and each["verdict"] in ("pass", "not comparable")]
        self.all = ran
        self.training = [each for each in ran if each["entry"] in TRAINING]

    @staticmethod
    def without(entries):
        return [each for each in entries if not each.get("drains")]

    def seen(self):
        """Number of such waits in the ledgers."""
        return sum(sum(each.get("drains", {}).values()) for each in self.all)

    def training_share(self):
        return len(self.without(self.training)) / max(1, len(self.training))

    def text(self):
        lines = [f"queued without a wait for a shape (float32): "
                 f"{len(self.without(self.all))} of {len(self.all)} entries that ran; of those that "
                 f"training uses {len(self.without(self.training))} of {len(self.training)} "
                 f"({100 * self.training_share():.1f} %)"]
        for each in self.training:
            if each.get("drains"):
                lines.append(f"  drains in training: {each['entry']}: {each['drains']}")
        return "\n".join(lines)


def against_common_mps(verdicts, catalog):
    """Differences from PyTorch's list for real MPS (common_mps.py), for information."""
    def named(wanted, fails):
        return sorted({f"{each['entry']} ({each['dtype']})" for each in verdicts
                       if each["verdict"] in wanted and
                       (each["dtype"] in catalog[each["entry"]]["fails_on_mps"]) == fails})

    return {"refused here, expected to work on MPS": named(("refused", "falls back"), False),
            "passes here, expected to fail on MPS": named(("pass",), True)}
