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
  known_wrong         why Highwater does not do so yet, or not each time: then the case is skipped where it is wrong
A case that is wrong is recorded once more: another program may have had the machine's cores.
"""
import json
import os
import re
import subprocess
import sys
import unittest

import support
from support import PYTHON
from test_recordings import LIMIT, PROGRAM, Recording, environment, installed

CASES = os.path.join(os.path.dirname(support.HERE), "cases")


def texts(value):
    """All texts in a value of JSON."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in texts(each)]


def samples_a_step(report):
    return (report["samples_per_s"] or 0) * (report["step_ms"].get("mean") or report["step_ms"]["p50"]) / 1000


@unittest.skipUnless(sys.platform == "linux", "the simulated device is for Linux")
class Cases(Recording):
    def run_program(self, arguments, variables, folder, alone):
        """Records `python <arguments>`. Returns its exit code and all that was written to stderr."""
        command = [PYTHON, *(each.replace("{tmp}", self.folder) for each in arguments)]
        started = {"env": variables, "cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

        def start(program, stdin=subprocess.PIPE):
            return subprocess.Popen(self.command(program, ["--device", "sim", "--force"]), stdin=stdin, **started)
        if not alone:
            done, said = support.forked_below(start, command, folder, LIMIT)
            return done.returncode, done.stderr + said
        with start(command, subprocess.DEVNULL) as process:
            _, said = process.communicate(timeout=LIMIT)
        return process.returncode, said

    def report_as(self, *options):
        return subprocess.run([PROGRAM, "report", *options, self.path], env=environment(COLUMNS="200"), text=True,
                              capture_output=True, timeout=LIMIT, check=False).stdout

    def wrong(self, folder, case):
        """What is wrong with the report of a case: a line each."""
        variables = environment(TMPDIR=self.folder, PYTHONPATH=os.environ.get("PYTHONPATH", ""), **case.get("env", {}))
        alone = case.get("alone", False)
        if "before" in case:
            self.run_program(case["before"], variables, folder, alone)
        code, said = self.run_program(case["args"], variables, folder, alone)
        if code != case.get("exit", 0):
            yield f"exit code {code}: {said}"
        yield from (f"stderr lacks {each}: {said}" for each in case.get("stderr", []) if not re.search(each, said))
        if case.keys() <= {"args", "env", "before", "needs", "alone", "exit", "stderr", "known_wrong"}:
            return
        text = self.report_as("--json")
        if not text:
            yield f"there is no report: {said}"
            return
        report = json.loads(text)
        if report["steps"] != case.get("steps", report["steps"]):
            yield f"{report['steps']} steps"
        batch = case.get("samples_a_step", 0)
        if batch and abs(samples_a_step(report) - batch) > 0.15 * batch:
            yield f"{samples_a_step(report):.0f} samples a step"
        findings = ["\n".join(texts(each)) for each in report["findings"]]
        if case.get("none"):
            yield from (f"a finding: {each}" for each in findings)
        text = self.report_as() if case.keys() & {"any_in_report", "never_in_report"} else ""
        for key, there, wanted, message in (
                ("first", findings[:1], True, "the first finding lacks"), ("any", findings, True, "no finding says"),
                ("never", findings, False, "a finding says"),
                ("waits", texts(report["sync_points"]), True, "no wait at"),
                ("any_in_report", [text], True, "the report lacks"),
                ("never_in_report", [text], False, "the report says")):
            for each in case.get(key, []):
                if any(re.search(each, one) for one in there) != wanted:
                    yield f"{message} {each}: {there}"


def add_cases():
    with open(os.path.join(CASES, "cases.json"), encoding="utf-8") as file:
        groups = json.load(file)
    for group, cases in groups.items():
        for name, case in cases.items():
            def test(self, folder=os.path.join(CASES, group), case=case):
                wrong = list(self.wrong(folder, case))
                if wrong and "known_wrong" in case:
                    self.skipTest(case["known_wrong"])
                wrong = wrong and list(self.wrong(folder, case))
                self.assertFalse(wrong, "\n" + "\n".join(wrong))
            test = installed(case["needs"])(test) if "needs" in case else test
            setattr(Cases, f"test_{group}_{name}", test)


add_cases()

if __name__ == "__main__":
    unittest.main()
