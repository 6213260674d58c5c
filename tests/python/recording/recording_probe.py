"""A probe that writes each call as a JSON line into the file HIGHWATER_TEST_LOG, and takes commands from
HIGHWATER_TEST_COMMANDS: a JSON object from the number of an ended step to a list of commands."""
import json
import os
import sys
import threading

import torch

# Highwater's own package; `highwater` may be another one, of the script's.
_dynamo, _probe = (sys.modules[f"highwater-attached.{name}"] for name in ("_dynamo", "_probe"))


def make_probe():
    """As Highwater's own, but without a window."""
    _dynamo.exempt(torch, sys.modules[__name__])
    return RecordingProbe(os.environ["HIGHWATER_TEST_LOG"]), ""


class RecordingProbe(_probe.Probe):
    def __init__(self, path):
        # Each line is written at once: a process may end by os._exit.
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._commands = json.loads(os.environ.get("HIGHWATER_TEST_COMMANDS", "{}"))
        self._due = []
        self._kept = []

    def _log(self, call, *values):
        texts = [value.decode() if isinstance(value, bytes) else value for value in values]
        main = threading.current_thread() is threading.main_thread()
        line = json.dumps([call, *texts, {"pid": os.getpid(), "main": main}])
        if self._kept is None:
            os.write(self._file, line.encode() + b"\n")
        else:
            self._kept.append(line)

    def connect(self, socket_path, token):
        kept, self._kept = self._kept, None
        for line in kept:
            os.write(self._file, line.encode() + b"\n")
        self._log("connect")
        return ""

    def end_step(self, number, *values):
        self._log("end_step", number, *values)
        self._due += self._commands.get(str(number), [])

    def poll_commands(self):
        due, self._due = self._due, []
        return [(name, value) for name, value in due]


def _logged(name):
    def method(self, *values):
        self._log(name, *values)
    return method


for _name in ("stop", "enter_module", "leave_module", "begin_phase", "end_phase", "begin_step", "note_step_begin",
              "note_step_end", "describe", "mark", "watch_thread", "add_knob", "knob_turned", "set_paused", "cut_step",
              "set_level"):
    setattr(RecordingProbe, _name, _logged(_name))
