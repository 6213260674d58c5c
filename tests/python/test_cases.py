"""What Highwater says of whole programs: those of tests/cases, whose heads tell what a perfect profiler would say.

Needs HIGHWATER_BIN, the folder of the program `highwater`. A case of cases.json is a program, recorded on the
simulated device. The report's findings are searched for regular expressions; a finding is then all of its texts, a
line each.
  args, env, before   the arguments of python, variables, and those of a program that runs first; {tmp} is a folder
  needs, alone        a package without which the case is skipped; whether the program needs a process of its own, as
                      for its footprint: a fork's grows as it touches what it shares
  steps, exit         the number of steps of the report; the exit code (0 if not given)
  first, any, never   what the first finding, or some finding, must say; what none may say
  none                no finding at all
  waits               what the list of waits must have, as "file:line"
  samples_a_step      the batch by which samples/s were counted, within 15 %
  stderr              what Highwater or the program must say on stderr
  any_in_report, never_in_report   what the text of the report must say, or may not
  kernels             false where the simulated device's kernels do not tell a Mac's shares, as in convolutions over
                      2 x 2 pixels, which take it much longer
  by_time             it depends on which is the slower, the host or the device; of the others a finding that the
                      host is the slower one counts for nothing
  known_wrong         why Highwater does not do so yet, or not each time: then the case is skipped where it is wrong
Of each program that ends well, what was recorded of its waits must be the simulated device's own account of them, the
ledger. What a case says of time (by_time) is wrong where other programs have the machine's cores, as the simulated
device works on them: of these a tenth may be wrong, of the others none.
"""
import bisect
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import typing
import unittest

import support
from support import PYTHON
from test_recordings import LIMIT, PROGRAM, Recording, environment, exported, installed

CASES = os.path.join(os.path.dirname(support.HERE), "cases")


def texts(value):
    """All texts in a value of JSON."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in texts(each)]


def samples_a_step(report):
    return (report["samples_per_s"] or 0) * (report["step_ms"].get("mean") or report["step_ms"]["p50"]) / 1000


# Causes in the ledger that are no waits of a Mac's: the simulated device computes the shape of some results (no_shape).
NO_WAITS = {"queue_full", "exit", "release", "no_shape"}
# A wait is recorded by its whole op, which makes a tensor and copies to it once the device is done; where the script's
# thread loses its core in between, also that. On a quiet machine it is 8 to 50 us.
MOST_MS_BESIDE_A_WAIT = 0.15
MOST_MS_WITHOUT_A_CORE = 10
# And once for longer: a group of processes that has used up its share of the cores gets them back within 100 ms.
MOST_MS_WITHOUT_A_CORE_ONCE = 100


# The lower bound of a share holds for a CPU whose caches make some ops much faster than others.
MOST_OF_THE_TRUE_SHARE = 1.25
# In a shorter step a call takes longer than what it computes.
LEAST_WORK_NS = 5_000_000


class Ledger(typing.NamedTuple):
    """What the simulated device says that it did: its lines, of which each is an object of JSON."""
    drains: list
    kernels: list


def read_ledger(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file if '"drain"' in line or '"kernel"' in line]
    return Ledger([each for each in lines if each["event"] == "drain" and each["cause"] not in NO_WAITS],
                  [each for each in lines if each["event"] == "kernel"])


def wrong_waits(tables, ledger):
    """Says by how much the recorded waits, those of fallbacks included, differ from the ledger's by more than 1 %."""
    if not tables:
        return
    # Emptying the cache waits, and then takes long to give the memory back.
    waits = tables.execute("SELECT begin_ms, duration_ms, duration_ms FROM sync_points "
                           "WHERE ifnull(op, '') NOT LIKE '%.empty_cache' UNION ALL "
                           "SELECT begin_ms, duration_ms, wait_ms FROM fallbacks ORDER BY begin_ms").fetchall()
    drains = ledger.drains
    if not waits or not drains:
        return
    # The clocks differ by their zero. Both end with the script's last wait, but only one begins with its first.
    begin_ns = drains[-1]["return_ns"] - (max(begin + ms for begin, ms, _ in waits) - waits[0][0] + 0.2) * 1e6
    true = [(each["end_ns"] - each["begin_ns"]) / 1e6 for each in drains if each["call_ns"] >= begin_ns]
    recorded = [wait for *_, wait in waits]
    most = 1.01 * sum(true) + MOST_MS_BESIDE_A_WAIT * len(waits)
    if len(recorded) == len(true):
        # Where other programs have the cores, the script loses its own at times, and for milliseconds.
        beside = sorted(max(wait - of_device - MOST_MS_BESIDE_A_WAIT, 0) for wait, of_device in zip(recorded, true))
        *others, longest = beside[-1 - len(beside) // 10:]
        most += min(longest, MOST_MS_WITHOUT_A_CORE_ONCE) + sum(min(each, MOST_MS_WITHOUT_A_CORE) for each in others)
    if not 0.99 * sum(true) <= sum(recorded) <= most:
        yield f"{len(waits)} waits take {sum(recorded):.2f} ms, by the ledger {sum(true):.2f} ms"


def wrong_device_work(report, tables, ledger):
    """Says which place has a larger share of the device's work in the step that was counted, by its lower bound, than the
    ledger gives to all kernels of its ops."""
    begins, zero_ns = steps_in_the_ledger(tables, ledger)
    work = report["device_work"]
    if not work or zero_ns is None or work["step"] + 1 not in begins:
        return
    times = times_of_a_step_like(work["step"], begins, zero_ns, ledger.kernels)
    if sum(times.values()) < LEAST_WORK_NS:
        return
    for place in work["places"]:
        share = sum(times[each] for each in {kernel_of(op) for op in place["ops"]}) / sum(times.values())
        if place["low_share"] > MOST_OF_THE_TRUE_SHARE * share + 0.1:
            yield f"{place} has {share:.2f} of the device's time by the ledger"


def times_of_a_step_like(counted, begins, zero_ns, kernels):
    """The time of each op's kernels: the median over the steps that enqueued the same kernels as the counted one did.
    Beside other programs a kernel of one step may take the time of many: one step tells no shares."""
    counts, times = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    order = sorted(begins)
    borders = [zero_ns + begins[step] * 1e6 for step in order]
    for each in kernels:
        step = order[max(bisect.bisect_right(borders, each["enqueued_ns"]) - 1, 0)]
        op = kernel_of(each["op"].removeprefix("aten::"))
        counts[step][op] += 1
        times[step][op] += each["end_ns"] - each["start_ns"]
    alike = [times[step] for step in order if counts[step] == counts[counted]]
    return collections.Counter({op: statistics.median(each[op] for each in alike) for op in counts[counted]})


def kernel_of(op):
    return op.removesuffix("_overrideable").rstrip("_")


def steps_in_the_ledger(tables, ledger):
    """When steps begin by the recording, in ms; and the ledger's time in ns at which the recording's is 0,
    None where no wait tells."""
    last_wait, = tables.execute("SELECT max(end) FROM (SELECT begin_ms + duration_ms AS end FROM sync_points UNION ALL "
                                "SELECT begin_ms + wait_ms FROM fallbacks)").fetchone()
    begins = dict(tables.execute("SELECT step, begin_ms FROM steps"))
    if not ledger.drains or last_wait is None:
        return begins, None
    return begins, ledger.drains[-1]["return_ns"] - last_wait * 1e6


def wrong_idle_time(report, tables, ledger):
    """Says by how much the device's true idle time in the steps lies out of the bounds that the report gives, and
    whether its verdict is wrong by it."""
    idle = report["idle_estimate"]
    begins, zero_ns = steps_in_the_ledger(tables, ledger)
    if not idle or zero_ns is None:
        return
    kernels = [((each["start_ns"] - zero_ns) / 1e6, (each["end_ns"] - zero_ns) / 1e6) for each in ledger.kernels]
    steps = [(begins[each["step"]], begins[each["step"]] + each["step_ms"], each) for each in idle["per_step"]]
    busy = sum(max(0, min(end, to_ms) - max(start, from_ms))
               for from_ms, to_ms, _ in steps for start, end in overlapping(kernels, from_ms, to_ms))
    true = sum(to_ms - from_ms for from_ms, to_ms, _ in steps) - busy
    low, high = (sum(each[key] for _, _, each in steps) for key in ("low_ms", "high_ms"))
    most_off = 0.02 * (true + busy) + 0.1 * len(steps)
    if not low - most_off <= true <= high + most_off:
        yield f"idle {true:.1f} of {true + busy:.1f} ms in {len(steps)} steps, by the report {low:.1f} to {high:.1f} ms"
    verdict, busy_share = report["verdict"], busy / (true + busy)
    # The report judges by an estimate, from a share of 0.8 on.
    if (verdict["bottleneck"] == "device" and busy_share < 0.7) or \
            (verdict["bottleneck"] in ("host", "turns") and busy_share > 0.9):
        yield f"busy for {100 * busy_share:.0f} % of a step: {verdict['text']}"


def overlapping(spans, from_ms, to_ms):
    """Those of sorted, disjoint spans that overlap a range."""
    first = max(bisect.bisect_left(spans, (from_ms,)) - 1, 0)
    return spans[first:bisect.bisect_left(spans, (to_ms,))]


class Judged(Recording):
    """Programs and what is said of them."""

    def run_program(self, arguments, variables, folder, alone):
        """Records `python <arguments>`. Returns its exit code and all that was written to stderr."""
        command = [PYTHON, *(each.replace("{tmp}", self.folder) for each in arguments)]
        options = ["--device", "sim", "--force"]
        done = support.in_own_process(self.command(command, options), variables, LIMIT, folder) if alone else \
            self.run_forked(command, options, variables, folder)
        return done.returncode, done.stderr

    def ledger_of_the_training(self):
        """The file of the process that trained: the longest."""
        ledgers = [each.path for each in os.scandir(self.folder) if each.name.startswith("ledger.")]
        return max(ledgers, key=os.path.getsize)

    def report_as(self, *options):
        return subprocess.run([PROGRAM, "report", *options, self.path], env=environment(COLUMNS="200"), text=True,
                              capture_output=True, timeout=LIMIT, check=False).stdout

    def check_idle_time(self, report, tables, ledger):
        """Only where nothing else takes the cores."""

    def wrong(self, folder, case):
        """What is wrong with the report of a case: a line each."""
        # Of each process: the workers of a DataLoader have devices of their own.
        ledgers = os.path.join(self.folder, "ledger.%p")
        variables = environment(TMPDIR=self.folder, PYTHONPATH=os.environ.get("PYTHONPATH", ""), **case.get("env", {}))
        alone = case.get("alone", False)
        if "before" in case:
            self.run_program(case["before"], variables, folder, alone)
        code, said = self.run_program(case["args"], {**variables, "HIGHWATER_SIM_LEDGER": ledgers}, folder, alone)
        self.assertEqual(code, case.get("exit", 0), said)  # whatever else is known to be wrong
        if code == 0:
            ledger = read_ledger(self.ledger_of_the_training())
            tables = exported(self.path)
            yield from wrong_waits(tables, ledger)
        yield from (f"stderr lacks {each}: {said}" for each in case.get("stderr", []) if not re.search(each, said))
        if case.keys() <= {"args", "env", "before", "needs", "alone", "exit", "stderr", "by_time", "kernels",
                           "known_wrong"}:
            return
        text = self.report_as("--json")
        if not text:
            yield f"there is no report: {said}"
            return
        report = json.loads(text)
        if code == 0:
            self.check_idle_time(report, tables, ledger)
            if case.get("kernels", True):
                yield from wrong_device_work(report, tables, ledger)
        if report["steps"] != case.get("steps", report["steps"]):
            yield f"{report['steps']} steps"
        batch = case.get("samples_a_step", 0)
        if batch and abs(samples_a_step(report) - batch) > 0.15 * batch:
            yield f"{samples_a_step(report):.0f} samples a step"
        findings = ["\n".join(texts(each)) for each in report["findings"]]
        # Where other programs have the cores, the host may indeed be the slower one.
        of_work = findings if case.get("by_time") else [
            text for text, each in zip(findings, report["findings"]) if each["kind"] != "host_bound"]
        if case.get("none"):
            yield from (f"a finding: {each}" for each in of_work)
        text = self.report_as() if case.keys() & {"any_in_report", "never_in_report"} else ""
        for key, there, wanted, message in (
                ("first", of_work[:1], True, "the first finding lacks"), ("any", findings, True, "no finding says"),
                ("never", of_work, False, "a finding says"),
                ("waits", texts(report["sync_points"]), True, "no wait at"),
                ("any_in_report", [text], True, "the report lacks"),
                ("never_in_report", [text], False, "the report says")):
            for each in case.get(key, []):
                if any(re.search(each, one) for one in there) != wanted:
                    yield f"{message} {each}: {there}"


@unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
class Cases(Judged):
    """Those whose report is right on any machine. Other tests may run beside them."""


@unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
class CasesByTime(Judged):
    """The others, of which most must be right, as must most of the idle times and verdicts."""
    judged, wrong_by_time = 0, []
    reports, verdicts, wrong_idle = 0, 0, []

    def test_z_most_are_right(self):
        """After the others, by its name."""
        self.assertLessEqual(10 * len(self.wrong_by_time), max(self.judged, 10), self.wrong_by_time)
        self.assertLessEqual(5 * len(self.wrong_idle), max(self.reports, 10), "\n".join(self.wrong_idle))
        if self.reports > 20:
            # Of the others the bounds allow either. Half have one on two quiet cores, fewer on busy ones, where the
            # bounds are wider; where they are too wide to say anything, next to none has one.
            self.assertGreater(5 * self.verdicts, self.reports, "too few programs have a verdict")

    def check_idle_time(self, report, tables, ledger):
        """Where the simulated device waits for a core, it is idle while the script waits for it: a fifth may be wrong."""
        if report["judged_steps"] < 10:
            return
        CasesByTime.reports += 1
        CasesByTime.verdicts += report["verdict"]["bottleneck"] != "unknown"
        wrong = list(wrong_idle_time(report, tables, ledger))
        if wrong:
            self.wrong_idle.append(f"{self.id()}: {wrong}")


def add_cases():
    with open(os.path.join(CASES, "cases.json"), encoding="utf-8") as file:
        groups = json.load(file)
    for group, cases in groups.items():
        for name, case in cases.items():
            def test(self, folder=os.path.join(CASES, group), case=case, name=name):
                wrong = list(self.wrong(folder, case))
                if wrong and "known_wrong" in case:
                    self.skipTest(case["known_wrong"])
                if case.get("by_time"):
                    CasesByTime.judged += 1
                    if wrong:
                        self.wrong_by_time.append(name)
                        self.skipTest("wrong this time: " + "; ".join(wrong))
                self.assertFalse(wrong, "\n" + "\n".join(wrong))
            test = installed(case["needs"])(test) if "needs" in case else test
            setattr(CasesByTime if case.get("by_time") else Cases, f"test_{group}_{name}", test)


add_cases()

if __name__ == "__main__":
    unittest.main()
