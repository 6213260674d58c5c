"""Scripts that do what scripts may do: with Highwater as without it.

Each row is a script that runs twice, the second time under `highwater run --record`. Its output, the files in its
folder and its exit code are the same; stderr has more only in lines that begin with "Highwater".

Needs HIGHWATER_BIN, the folder of the program `highwater`.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from typing import NamedTuple

import support
from support import PYTHON
from test_recordings import LIMIT, PROGRAM, environment, read

PREPARE = """
import os, signal, subprocess, sys, threading, time, torch
torch.set_num_threads(1)
torch.manual_seed(0)
"""
BUILD = """
def build():
    model = torch.nn.Linear(4, 2)
    return model, torch.optim.SGD(model.parameters(), 0.1)
model, optimizer = build()
def train(steps, model=model, optimizer=optimizer):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.ones(3, 4)).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item().hex()
"""


class Row(NamedTuple):
    text: str
    before: str = ""  # stands in front of `import torch`
    build: str = BUILD
    code: int = 0
    steps: int = 1  # at least so many are recorded
    says: str = ""  # a pattern of what Highwater says
    wait: str = ""  # a file that the script's processes make last
    files: dict = {}  # others in the script's folder, which is on its path
    api: bool = False  # the package `highwater` can be imported without Highwater, too
    alone: bool = False  # in a process of its own, which has to import PyTorch
    needs: bool = True


EMPTY_DESCRIPTORS = "train(5)\nos.closerange(3, 1024)\n"
CLOSED = "closed its connection to Highwater"
COUNTED_STEPS = "for _ in range(40): train(1); time.sleep(0.005)\n"
DAEMON = """
def be_daemon():
    if os.fork(): os._exit(0)
    os.setsid()
    if os.fork(): os._exit(0)
    os.umask(0); os.closerange(0, 1024)
    for number in range(3): os.open(os.devnull, os.O_RDWR)
def leave_result():  # whole at once: the test waits for the name
    with open("part", "w") as file: file.write("trained")
    os.rename("part", "done")
"""
FINDER = """
import importlib.abc, importlib.machinery, importlib.util, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        {body}
sys.meta_path.insert({place}, Finder())
"""
# A finder behind Highwater's, whose loader is the usual one but for one thing.
LOADER = """
import sys
class Loader:
    {fields}
    def __init__(self, inner): self.inner = inner
    def create_module(self, spec): return self.inner.create_module(spec)
    def exec_module(self, module):
        {body}
        self.inner.exec_module(module)
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "torch": return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1:]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = Loader(spec.loader)
                return spec
place = [type(each).__name__ for each in sys.meta_path].index("_Finder") + 1 if "_Finder" in map(
    lambda each: type(each).__name__, sys.meta_path) else 0
sys.meta_path.insert(place, Finder())
"""
ODD_TEXTS = """
class Failing:
    def __str__(self): raise ValueError("no text")
    __repr__ = __str__
ODD = ["a\\x00b", "\\ud800", "x\\ny", "<img src=x>", "%n%s", os.fsdecode(b"caf\\xe9"), None, 5, b"b", ("t",), Failing(),
       "x" + "\\u00e9" * 40000]
import highwater_mps as highwater
"""
API = dict(api=True, before="import os\n" + ODD_TEXTS)

DESCRIPTORS = {
    "closed_descriptors_files": Row(EMPTY_DESCRIPTORS + """
files = [open(f"data{i}.bin", "wb", buffering=0) for i in range(20)]
""" + COUNTED_STEPS + "for file in files: file.write(b'MINE')\ntrain(5)\nprint('ok')",
                                    steps=0, says=CLOSED),
    "closed_descriptors_sockets": Row("import socket\n" + EMPTY_DESCRIPTORS + """
pairs = [socket.socketpair() for _ in range(12)]
""" + COUNTED_STEPS + """
for pair in pairs:
    for end in pair: end.sendall(b"mine")
    for end in pair: print(end.recv(1000))
""", steps=0, says=CLOSED),
    "closed_descriptors_fork": Row(EMPTY_DESCRIPTORS + """
files = [open(f"child{i}.txt", "wb", buffering=0) for i in range(20)]
child = os.fork()
if child == 0:
    for file in files: file.write(b"from the child")
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""", steps=0, says=CLOSED),
    "closed_standard_streams": Row("train(3)\nfor n in range(3): os.close(n)\ntrain(5)\nopen('done', 'w').close()\n"
                                   "os._exit(0)"),
    "no_standard_streams": Row("train(3); sys.stdin = sys.stdout = sys.stderr = None\ntrain(3)\n"
                               "open('done', 'w').close()"),
    "redirected": Row("train(3)\nfile = os.open('all.txt', os.O_WRONLY | os.O_CREAT)\nos.dup2(file, 1); os.dup2(file, 2)\n"
                      "print(train(5), flush=True); print('error', file=sys.stderr)"),
    "replaced_streams": Row("import io\nkept = sys.stderr = io.StringIO()\ntrain(5)\nprint(repr(kept.getvalue()))"),
    "stream_that_fails": Row("class Bad:\n    def write(self, text): 1 / 0\n    def flush(self): pass\n"
                             "sys.stderr = Bad()\nprint(train(3))"),
    "flood": Row("for _ in range(5): train(1); sys.stdout.write('x' * 400_000 + '\\n')"),
    "reads_stdin": Row("print(repr(sys.stdin.read()), train(3))"),
}

PROCESSES = {
    "daemon": Row("train(3)\nbe_daemon()\ntrain(5)\nleave_result()\nos._exit(0)", build=BUILD + DAEMON,
                  wait="done"),
    "daemon_before_training": Row("""
be_daemon()
socket = os.environ.get("HIGHWATER_SCRIPT_SOCKET", "")
while socket and os.path.exists(socket): time.sleep(0.01)
train(5)
leave_result()
os._exit(0)
""", build=BUILD + DAEMON, wait="done", steps=0, says="goes on; what that one does is not recorded", alone=True),
    "forked_child_goes_on": Row("train(3)\nif os.fork(): os._exit(0)\nos.setsid()\ntrain(5)\nopen('done', 'w').close()\n"
                                "os._exit(0)", wait="done"),
    "children_that_train": Row("""
train(5); children = []
for i in range(8):
    child = os.fork()
    if child == 0:
        train(2); os._exit(i)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children], train(3))
""", steps=8),
    "fork_beside_a_thread": Row("""
stop = threading.Event()
thread = threading.Thread(target=lambda: [train(1, *build()) for _ in iter(stop.is_set, True)])
train(3); thread.start(); codes = []
for _ in range(10):
    child = os.fork()
    if child == 0: os._exit(7)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set(); thread.join(); print(codes)
"""),
    "fork_and_exec": Row("train(3)\nsys.stdout.flush()\nif os.fork() == 0: os.execvp('echo', ['echo', 'child'])\n"
                         "os.wait(); print(train(3))", steps=6),
    "spawn": Row("train(3)\nsys.stdout.flush()\nos.waitpid(os.posix_spawnp('echo', ['echo', 'spawned'], os.environ), 0)\n"
                 "os.spawnlp(os.P_WAIT, 'echo', 'echo', 'again'); os.system('echo shell'); print(train(3))", steps=6),
    "subprocess": Row("train(3)\nfor more in ({}, {'close_fds': False}, {'preexec_fn': os.setsid}, {'env': {}}):\n"
                      "    print(subprocess.run(['/bin/echo', 'x'], capture_output=True, **more).stdout)\ntrain(3)", steps=6),
    "multiprocessing": Row("""
import multiprocessing, work
train(3)
del __file__  # what is spawned does not import this script
for method in "fork", "spawn", "forkserver":
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=work.work, args=[queue]); child.start()
    print(method, queue.get()); child.join()
    print(child.exitcode)
train(3)
""", steps=6, files={"work.py": "import os\ndef work(queue):\n    queue.put([os.environ.get(name) or None for name in "
                                "('HIGHWATER_SCRIPT_SOCKET', 'PYTHONPATH')])\n"}),
    "pool": Row("import multiprocessing\ntrain(3)\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
                "    print(pool.map(abs, range(-5, 0)))\ntrain(3)", steps=6),
}

EXEC = {
    "exec_another": Row("train(5); print('before', flush=True)\nos.execvp('echo', ['echo', 'after'])", steps=5),
    "exec_itself": Row("if len(sys.argv) > 1:\n    print('again', train(3)); sys.exit(3)\nprint(train(5), flush=True)\n"
                       "os.execv(sys.executable, [sys.executable, *sys.argv, 'again'])", code=3, steps=5, alone=True),
    "exec_before_training": Row("if len(sys.argv) > 1:\n    print('again', train(3)); sys.exit()\n"
                                "os.execve(sys.executable, [sys.executable, *sys.argv, 'again'], os.environ)", steps=3,
                                alone=True),
    "exec_of_nothing": Row("train(3)\ntry: os.execvp('no-such-program', ['x'])\nexcept OSError as error: print(error)\n"
                           "print(train(3))", steps=6),
    "exec_that_fails": Row("train(3)\ntry: os.execv('text', ['text'])\nexcept OSError as error: print(error)\n"
                           "try: os.execv(argv=['x'], path='none')\nexcept (OSError, TypeError) as error: print(error)\n"
                           "print(train(3))",
                           before="import os\nopen('text', 'w').close(); os.chmod('text', 0o700)\n",
                           says="is not recorded from here on"),
}

ENDS = {
    "exit_code": Row("train(3); sys.exit(3)", code=3),
    "exit_words": Row("train(3); sys.exit('words')", code=1),
    "exit_at_once": Row("train(3); os._exit(4)", code=4),
    "exit_in_a_thread": Row("train(3)\nthread = threading.Thread(target=os._exit, args=[5]); thread.start(); thread.join()",
                            code=5, steps=0),
    "sys_exit_in_a_thread": Row("train(3)\nthread = threading.Thread(target=sys.exit); thread.start(); thread.join()\n"
                                "print(train(3))", steps=6),
    "exception": Row("train(3); raise ValueError('x' * 5000 + '\\0\\ud800')", code=1),
    "exception_in_a_thread": Row("train(3)\nthread = threading.Thread(target=lambda: 1 / 0, name='own')\nthread.start()\n"
                                 "thread.join(); print(train(3))", steps=6),
    "excepthook_that_fails": Row("sys.excepthook = lambda *_: 1 / 0\ntrain(3); raise ValueError", code=1),
    "atexit": Row("import atexit\natexit.register(lambda: print('at exit', train(3)))\ntrain(3)", steps=3),
    "atexit_that_fails": Row("import atexit\natexit.register(lambda: 1 / 0)\nprint(train(3))"),
    "abort": Row("train(3); os.abort()", code=-6, steps=0),
    "segmentation_fault": Row("import ctypes\ntrain(3); ctypes.string_at(0)", code=-11, steps=0),
    "killed": Row("train(3); os.kill(os.getpid(), signal.SIGKILL)", code=-9, steps=0),
    "terminated": Row("train(3); os.kill(os.getpid(), signal.SIGTERM)", code=-15, steps=0),
    "terminated_with_a_handler": Row("signal.signal(signal.SIGTERM, lambda *_: sys.exit(6))\ntrain(3)\n"
                                     "os.kill(os.getpid(), signal.SIGTERM); time.sleep(1)", code=6),
    "interrupted": Row("train(3)\ntry: signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt: print('caught')\n"
                       "print(train(3))", steps=6),
}

LIMITS = {
    "no_descriptors": Row("""
train(1)
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); files = []
try:
    while True: files.append(open(os.devnull))
except OSError as error: print(error)
print(train(5))
"""),
    "no_descriptors_from_the_start": Row("""
try: train(3)
except OSError as error: print(error)
finally: files.clear()
print(train(3))
""", build="""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1])); files = []
try:
    while True: files.append(open(os.devnull))
except OSError: pass
""" + BUILD, steps=0),
    "full_disk": Row("""
import resource
train(1)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
loss = train(5)
try: open("checkpoint", "wb", buffering=0).write(b"x" * 10)
except OSError as error: loss = loss, str(error)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
print(loss)
"""),
    "full_disk_from_the_start": Row("resource.setrlimit(resource.RLIMIT_FSIZE, limits)\nprint(loss)", build="""
import resource
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
""" + BUILD + "loss = train(5)\n"),
    "no_memory_for_threads": Row("""
import resource
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 3_000_000
resource.setrlimit(resource.RLIMIT_AS, (size, size))
print(train(5))
""", needs=sys.platform == "linux", steps=0),
    "no_memory_for_threads_later": Row("""
train(2)
import resource
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 3_000_000
resource.setrlimit(resource.RLIMIT_AS, (size, size))
print(train(5))
""", needs=sys.platform == "linux"),
}

IMPORTS = {
    "finder_without_find_spec": Row("print(train(3))", steps=3, needs=sys.version_info < (3, 12), before="""
import sys
class Old:
    def find_module(self, name, path=None): return None
sys.meta_path.insert(0, Old())
"""),
    "finder_without_find_spec_behind": Row("print(train(3))", steps=3, needs=sys.version_info < (3, 12), before="""
import sys
class Old:
    def find_module(self, name, path=None): return None
sys.meta_path.insert(2, Old())
"""),
    "finder_that_asks_all_others": Row("print(train(3))", steps=3, before=FINDER.format(place=0, body="""
        if name == "torch":
            for finder in sys.meta_path:
                spec = None if finder is self else finder.find_spec(name, path, target)
                if spec is not None: return spec
""")),
    "finder_that_is_asked_once": Row("print(asked, train(3))", steps=3, before="asked = []\n" + FINDER.format(
        place=0, body="if name == 'torch': asked.append(name)")),
    "finder_that_forbids": Row("", build="", before=FINDER.format(place=0, body="""
        if name == "torch": raise ImportError("not today")
""") + "try: import torch\nexcept ImportError as error: sys.exit(str(error))\n", code=1, steps=0,
                               says="did not import torch"),
    "finders_filtered_on_import": Row("print(train(3))", steps=0, says="imported past Highwater", before=FINDER.format(
        place=0, body="""
        if name == "torch": sys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != "_Finder"]
""")),
    "finders_filtered_while_torch_is_imported": Row("print(train(3))", steps=3, alone=True, before=FINDER.format(
        place=0, body="""
        if name == "torch.optim": sys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != "_Finder"]
""")),
    "finders_cleared": Row("print(train(3))", build=BUILD + "train(1)\nsys.meta_path.clear()\n"),
    "loader_with_slots": Row("print(train(3))", steps=3, before=LOADER.format(fields="__slots__ = 'inner'", body="pass")),
    "import_that_fails_once": Row("print(train(3))", steps=3, before="""
fails = [1]
""" + LOADER.format(fields="", body="if fails: fails.clear(); raise ImportError('at first')") + """
import traceback
try: import torch
except ImportError: print(traceback.format_exc())
"""),
    "lazy_import": Row("print(train(3))", steps=3, alone=True, before="""
import importlib.util, sys
spec = importlib.util.find_spec("torch")
loader = importlib.util.LazyLoader(spec.loader)
spec.loader = loader
module = importlib.util.module_from_spec(spec)
sys.modules["torch"] = module
loader.exec_module(module)
print(type(module.__spec__.loader).__name__)
"""),
    "import_by_hand": Row("print(train(3), type(torch.__spec__.loader).__name__)", steps=3, before="""
import importlib.util, sys
spec = importlib.util.find_spec("torch")
module = sys.modules["torch"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
"""),
    "import_in_two_threads": Row("print(train(3))", steps=3, before="""
import importlib, threading
threads = [threading.Thread(target=importlib.import_module, args=["torch"]) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""),
    "import_by_runpy": Row("print(values['loss'])", build="import runpy\nvalues = runpy.run_path('part.py')\n", steps=3,
                           files={"part.py": PREPARE + BUILD + "loss = train(3)"}),
    "reload": Row("import importlib\ntrain(3); importlib.reload(sys.modules['torch.optim.sgd']); print(train(3))", steps=6),
    "reload_of_torch": Row("import importlib\ntrain(3); print(importlib.reload(torch) is torch, train(3))", steps=6),
    "import_again": Row("train(3); del sys.modules['torch']\nimport torch as other\nprint(train(3))", steps=6),
    "own_package_of_the_name": Row("import highwater, highwater.part\nprint(highwater.mark, highwater.part.x, train(3))",
                                   steps=3, files={"highwater/__init__.py": "mark = 'mine'", "highwater/part.py": "x = 1"}),
    "own_package_of_the_name_first": Row("print(highwater.mark, train(3))", steps=3, before="import highwater\n",
                                         files={"highwater/__init__.py": "mark = 'mine'"}),
    "own_folder_of_the_name": Row("import highwater, highwater.part\nprint(len(highwater.__path__), train(3))", steps=3,
                                  files={"highwater/part.py": ""}),
    "warnings_as_errors": Row("print(train(3))", steps=3, before="import warnings; warnings.simplefilter('error')\n"),
}

TEXTS = {
    "marks": Row("for x in ODD: highwater.mark(x)\ntrain(3)\nfor x in ODD: highwater.mark(x)\nprint(train(3))", steps=6,
                 **API),
    "phases": Row("""
for _ in range(2):
    for x in ODD:
        with highwater.phase(x): train(1)
print(train(3))
""", steps=20, **API),
    "empty_phase": Row("train(3)\nwith highwater.phase(''): pass\nprint(train(10))", steps=12, **API),
    "phases_abused": Row("""
train(3)
for key in ("forward", "backward", "optimizer_step", "evaluation", "batch_assembly", "none", "outside"):
    with highwater.phase(key): pass
for i in range(300): highwater.phase("n%d" % i).__enter__()
train(3)
def abuse():
    with highwater.phase("thread"): highwater.mark("x")
    highwater.phase("z").__exit__ and highwater.step()
thread = threading.Thread(target=abuse); thread.start(); thread.join()
print(train(3))
""", steps=3, **API),
    "knobs": Row("""
values = []
for _ in range(2):
    for x in [*ODD, [1], {}]:
        for bounds in ({}, {"choices": [x, 1]}, {"min": "a", "max": []}):
            values.append(highwater.knob(x, 1, **bounds))
    for x in float("nan"), 10 ** 400, "text": values.append(highwater.knob(f"k{values[0]}", x))
    train(3)
print(values)
""", steps=6, **API),
    "many_texts": Row("train(3)\nfor i in range(500): highwater.mark('m' * 3000)\n"
                      "for i in range(500): highwater.knob(f'k{i}', i)\nprint(train(3))", steps=6, **API),
    "start": Row("highwater.start()\nprint(train(3))", steps=3, api=True, before="""
import os
import highwater_mps as highwater
if "HIGHWATER_SCRIPT_SOCKET" not in os.environ: highwater.start = lambda: None
"""),
    "huge_name": Row("Huge = type('N' * 5000, (torch.nn.Linear,), {})\nmodel = Huge(4, 2)\n"
                     "print(train(5, model, torch.optim.SGD(model.parameters(), 0.1)))", steps=4),
    "odd_names": Row("""
model = torch.nn.Sequential(); model.add_module("a\\nb<b>\\0\\ud800", torch.nn.Linear(4, 2))
print(train(5, model, torch.optim.SGD(model.parameters(), 0.1)))
""", steps=4),
}

SURROUNDINGS = {
    "environment_cleared_first": Row("print(train(3), dict(os.environ))", steps=3, before="import os\nos.environ.clear()\n"),
    "environment_cleared_later": Row("os.environ.clear(); print(train(3))", steps=3),
    "deleted_folder": Row("train(1); os.mkdir('gone'); os.chdir('gone'); os.rmdir(os.getcwd()); print(train(3))", steps=4),
    "deleted_folder_first": Row("print(train(3))", steps=3, before="import os\n"
                                "os.mkdir('gone'); os.chdir('gone'); os.rmdir(os.getcwd())\n"),
    "no_arguments": Row("print(train(3))", steps=3, before="import sys\nsys.argv = []\n"),
    "arguments_deleted": Row("print(train(3))", steps=3, before="import sys\ndel sys.argv\n"),
    "odd_path": Row("print(train(3))", steps=3, before="import pathlib, sys\nsys.path += [pathlib.Path('x'), None, b'y']\n"),
    "no_permissions": Row("os.umask(0o777); print(train(3)); open('file', 'w').close()", steps=3),
    "another_user": Row("os.setgid(65534); os.setuid(65534); print(train(3), os.getuid())", steps=0,
                        says="as another user.*changed its user", needs=os.geteuid() == 0),
    "another_user_later": Row("train(3); os.setgid(65534); os.setuid(65534); print(train(3))", steps=6,
                              needs=os.geteuid() == 0),
    "signals": Row("""
train(3)
signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(0.1)
print(train(3), signal.pthread_sigmask(signal.SIG_BLOCK, []),
      [signal.getsignal(each) for each in signal.valid_signals() if each != signal.SIGALRM])
""", steps=6),
    "signals_blocked": Row("signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nprint(train(3))", steps=3),
    "threads": Row("""
train(1); pairs = [build() for _ in range(4)]; losses = {}
def work(i): losses[i] = train(20, *pairs[i])
threads = [threading.Thread(target=work, args=[i]) for i in range(4)]
for thread in threads: thread.start()
train(10)
for thread in threads: thread.join()
print(sorted(losses.items()), threading.active_count())
""", steps=5),
    "thread_after_an_evaluation": Row("""
model.eval()
with torch.no_grad(): model(torch.ones(3, 4))
def run(): model.train(); print(train(20))
thread = threading.Thread(target=run); thread.start(); thread.join()
""", steps=18),
    "thread_in_a_phase": Row("""
with highwater.phase("all"):
    thread = threading.Thread(target=lambda: print(train(20))); thread.start(); thread.join()
print(train(1))
""", steps=18, **API),
    "threads_that_all_begin_to_train": Row("""
begin = threading.Barrier(4)
def run(results):
    model, optimizer = build()
    begin.wait()
    results.append(len(train(20, model, optimizer)) > 0)
results = []
threads = [threading.Thread(target=run, args=[results]) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(results)
""", steps=15),
    "threads_one_after_the_other": Row("""
def run(): print(train(4))
for _ in range(3):
    thread = threading.Thread(target=run); thread.start(); thread.join()
    train(2)
""", steps=4, says="steps of another thread than the first"),
    "closure_beside_an_idle_optimizer": Row("""
def closure():
    optimizer.zero_grad()
    loss = model(torch.ones(3, 4)).square().mean()
    loss.backward()
    return loss
other = torch.optim.AdamW(model.parameters(), 0.1)
print([optimizer.step(closure).item().hex() for _ in range(10)])
""", steps=10),
    "daemon_thread": Row("threading.Thread(target=time.sleep, args=[600], daemon=True).start()\nprint(train(3))", steps=3),
    "event_loop": Row("import asyncio\nasync def work(): return train(3)\nprint(asyncio.run(work()))", steps=3),
    "traced": Row("""
names = []
def trace(frame, event, argument):
    if frame.f_code.co_filename == __file__: names.append((frame.f_code.co_name, event))
sys.settrace(trace); sys.setprofile(trace); train(2); sys.settrace(None); sys.setprofile(None)
print(names)
"""),
    "replaced_builtins": Row("print_ = print\nbuiltins.print = builtins.open = lambda *_, **__: print_('called')\n"
                             "print_(train(3))", steps=3, before="import builtins\n"),
    "little_recursion": Row("""
def deep(n): return deep(n - 1) if n else train(1)
train(1); sys.setrecursionlimit(200); print(deep(100))
""", steps=2),
    "copied_optimizer": Row("import copy\nmodel, optimizer = copy.deepcopy((model, optimizer))\n"
                            "print(train(3, model, optimizer))", steps=3),
}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str
    files: dict


@unittest.skipUnless(os.path.exists(PROGRAM), "HIGHWATER_BIN does not name the folder of highwater")
class Guest(unittest.TestCase):
    maxDiff = 3000

    @classmethod
    def setUpClass(cls):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "own")
        self.path = os.path.join(folder.name, "run.highwater")

    def prepare(self, row):
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, text in {"script.py": row.before + PREPARE + row.build + row.text, **row.files}.items():
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")

    def outcome(self, row, done):
        if row.wait:
            deadline = time.monotonic() + LIMIT
            while not os.path.exists(os.path.join(self.folder, row.wait)):
                self.assertLess(time.monotonic(), deadline, done.stderr)
                time.sleep(0.01)
        files = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    files[os.path.relpath(path, self.folder)] = file.read()
        return Outcome(done.returncode, done.stdout, done.stderr, files)

    def without(self, row, variables):
        self.prepare(row)
        how = support.in_own_process if row.alone else support.forked
        return self.outcome(row, how([PYTHON, "script.py"], variables, cwd=self.folder))

    def record(self, command, variables, **options):
        return subprocess.Popen([PROGRAM, "run", "--record", self.path, "--", *command], env=variables, text=True,
                                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def watched(self, row, variables):
        """What the script did, and what `highwater run` said."""
        self.prepare(row)
        if row.alone or support.forked is support.in_own_process:
            process = self.record([PYTHON, "script.py"], variables, stdin=subprocess.DEVNULL)
            out, err = process.communicate(timeout=LIMIT)
            return self.outcome(row, support.Done(process.returncode, out, err)), ""
        done, said = support.forked_below(lambda stand_in: self.record(stand_in, variables, stdin=subprocess.PIPE),
                                          [PYTHON, "script.py"], self.folder)
        return self.outcome(row, done), said

    def check(self, row):
        variables = environment(PYTHONPATH=support.SOURCES if row.api else "", PYTHONWARNINGS="ignore")
        without = self.without(row, variables)
        watched, said = self.watched(row, variables)
        heard = watched.err + said
        self.assertEqual(without.code, row.code, without.err)
        self.assertEqual(watched.code, without.code, heard)
        self.assertEqual(watched.out, without.out, heard)
        self.assertEqual(watched.files, without.files, heard)
        rest = "".join(line for line in watched.err.splitlines(True) if not line.startswith("Highwater"))
        self.assertTrue(like(rest).startswith(like(without.err)), f"{rest}\n{without.err}")
        if not row.alone:  # the summary of `highwater run` is apart
            self.assertEqual(like(rest), like(without.err))
        self.assertRegex(heard, re.compile(row.says, re.DOTALL))
        self.assertGreaterEqual(read(self.path)[0], row.steps, heard)


def like(text):
    """`text` without addresses, times and process ids."""
    return re.sub(r"0x[0-9a-f]+|\d+", "N", text)


def add_rows():
    for kind, rows in (("descriptors", DESCRIPTORS), ("processes", PROCESSES), ("exec", EXEC), ("end", ENDS),
                       ("limits", LIMITS), ("imports", IMPORTS), ("texts", TEXTS), ("surroundings", SURROUNDINGS)):
        for name, row in rows.items():
            def test(self, row=row):
                self.check(row)
            setattr(Guest, f"test_{kind}_{name}", unittest.skipUnless(row.needs, "not here")(test))


add_rows()

if __name__ == "__main__":
    unittest.main()
