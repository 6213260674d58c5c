"""From what happened to one verdict each, and the table of all."""
from collections import Counter

VERDICTS = ("pass", "refused", "not comparable", "wrong", "crash")


def verdict_of(job, result):
    """{"verdict", "reason"} of one (entry, dtype)."""
    if "crash" in result:
        return {"verdict": "crash", "reason": result["crash"]}
    if result["problems"]:
        return {"verdict": "wrong", "reason": result["problems"][0]}
    lacking = [kind for kind in result["refused"] if kind != "float64"]
    if lacking or (result["refused"] and not result["passed"]):
        ops = sorted(text for reasons in result["refused"].values() for text in reasons)
        return {"verdict": "refused", "reason": ", ".join(ops)}
    if not result["samples"]:
        return {"verdict": "not comparable", "reason": "no samples"}
    return {"verdict": "pass", "reason": ""}


def summary(verdicts):
    dtypes = list(dict.fromkeys(each["dtype"] for each in verdicts))
    lines = ["dtype     " + "".join(f"{name:>16}" for name in VERDICTS + ("all",))]
    for dtype in dtypes:
        counts = Counter(each["verdict"] for each in verdicts if each["dtype"] == dtype)
        row = [counts[name] for name in VERDICTS] + [sum(counts.values())]
        lines.append(f"{dtype:10}" + "".join(f"{count:16}" for count in row))
    return "\n".join(lines)
