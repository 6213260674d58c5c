"""The JSON of a bench, which tests/bench/harness.h describes. Prints the table of such files: results.py FILE..."""
import datetime
import json
import os
import random
import statistics
import sys

_DRAWS = 10_000
_LEAST_SAMPLES = 5


def estimate(values):
    """The median, and its 95 % bootstrap interval by percentiles."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(_DRAWS))
    return {"value": statistics.median(values), "low": medians[int(0.025 * _DRAWS)],
            "high": medians[int(0.975 * _DRAWS)], "samples": len(values)}


def exact(value):
    """A value without an interval."""
    return {"value": value, "low": None, "high": None, "samples": 1}


def verdict(found, goal):
    """Whether what estimate() or exact() has returned meets the goal, an upper limit; None without one."""
    if goal is None:
        return None
    if found["low"] is not None and (
            found["samples"] < _LEAST_SAMPLES or found["low"] <= goal < found["high"]):
        return "inconclusive"
    return "met" if found["value"] <= goal else "missed"


def row(name, setting, unit, found, goal=None):
    return {"name": name, "setting": setting, "unit": unit, **found, "goal": goal,
            "verdict": verdict(found, goal)}


def report(bench, peer):
    """A report without rows. Call it before anything is measured, for the load of the machine."""
    return {"schema": 2, "bench": bench, "peer": peer,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": os.environ.get("HIGHWATER_BENCH_COMMIT") or None,
            "machine": {"processor": _processor(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)},
            "rows": []}


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), None)
    except OSError:
        return None


def _number(value):
    return "none" if value is None else f"{value:.4g}"


def table(reports):
    """One table of all rows, a line for each report on where it was measured, and a count of the verdicts."""
    lines = [("bench", "what", "setting", "value", "95 % interval", "goal", "")]
    verdicts = {}
    for each in reports:
        for found in each["rows"]:
            interval = "" if found["low"] is None else f"{_number(found['low'])} to {_number(found['high'])}"
            goal = "" if found["goal"] is None else f"≤ {_number(found['goal'])}"
            lines.append((each["bench"], found["name"], found["setting"],
                          f"{_number(found['value'])} {found['unit']}".strip(), interval, goal,
                          found["verdict"] or ""))
            if found["verdict"]:
                verdicts[found["verdict"]] = verdicts.get(found["verdict"], 0) + 1
    widths = [max(map(len, column)) for column in zip(*lines)]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    text.append("")
    for each in reports:
        machine = each["machine"]
        text.append(f"{each['bench']}: beside {each['peer']}; {each['date']}, commit {each['commit'] or 'unknown'}, "
                    f"{machine['cores']} cores of {machine['processor'] or 'an unknown processor'}, "
                    f"load {_number(machine['load'])}")
    text.append("goals: " + (", ".join(f"{count} {name}" for name, count in sorted(verdicts.items())) or "none"))
    return "\n".join(text)


def main():
    reports = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))
        if reports[-1]["schema"] != 2:
            raise SystemExit(f"{path} has schema {reports[-1]['schema']}, not 2: run its bench again")
    print(table(reports))


if __name__ == "__main__":
    main()
