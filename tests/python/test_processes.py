"""How scripts start, end and fork: as without Highwater, and the one process that trains attaches."""
import os
import tempfile
import textwrap
import unittest

import support
from support import PYTHON, code, forked, run, run_both, script

TRAIN = support.TRAIN + "train(2)\n"


class Start(unittest.TestCase):
    """Launchers are in test_recordings."""

    def test_flags_that_ignore_the_environment(self):
        start = code("print('started')")
        self.assertEqual(run(start, True).signs, {"python": "-"})
        for flag in ("-I", "-E"):
            watched = run([PYTHON, flag, *start[1:]], True)
            self.assertEqual((watched.out, watched.signs), ("started\n", {}), watched.err)

    def test_leaves_no_trace(self):
        """Asking for torch does not import it; the environment is as without after attaching, also of what the
        script starts, which is not watched."""
        ask = "import importlib.util, sys; print(importlib.util.find_spec('torch').name, 'torch' in sys.modules)\n"
        show = "print(sys.path, os.environ.get('PYTHONPATH'), [n for n in os.environ if n.startswith('HIGHWATER_S')])\n"
        finders = "import sys; print([getattr(each, '__name__', type(each).__name__) for each in sys.meta_path])"
        start = f"import subprocess; subprocess.run([sys.executable, '-c', {finders!r}], check=True)"
        without, watched = run_both(self, code(ask + TRAIN + show + "sys.stdout.flush()\n" + start))
        self.assertEqual(without.code, 0, without.err)
        self.assertEqual(len(watched.log.steps()), 2)

    def test_a_script_without_training_does_not_attach(self):
        _, watched = run_both(self, code("import torch; print(torch.nn.Linear(2, 1)(torch.ones(2)).shape)"), how=forked)
        self.assertEqual((watched.log.calls, watched.signs), ([], {"python": "-", "importing": "-", "torch": "-"}))

    def test_an_import_that_fails_is_told_with_its_error(self):
        """Also where the script goes on without PyTorch."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "torch"))
            with open(os.path.join(folder, "torch", "__init__.py"), "w") as file:
                file.write("raise ImportError('no such library')\n")
            text = "try:\n    import torch\nexcept ImportError as error:\n    print(error)\n"
            watched = run([PYTHON, "-c", f"import sys; sys.path.insert(0, {folder!r})\n" + text], True)
        self.assertEqual(watched.out, "no such library\n", watched.err)
        self.assertEqual(watched.signs["unimportable"], "ImportError('no such library')")

    def test_unusable_native_part(self):
        """Highwater's own probe: there is nothing to build, so the script trains on without."""
        watched = support.environment("/nowhere/socket", "token",
                                      support.base_environment(PYTHONPATH="", HIGHWATER_NATIVE="/nowhere"))
        done = forked(script("plain_loop"), watched)
        self.assertEqual((done.returncode, done.stdout), (0, run(script("plain_loop"), False, how=forked).out))
        self.assertIn("this training is not watched: HIGHWATER_NATIVE names no folder: /nowhere", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)


BUILD = "import os, subprocess, sys, torch\noptimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 0.1)\n"
TRAIN_AND_SAY = TRAIN + "print(os.environ.get('PYTHONPATH'), flush=True)"
START_TRAINING = f"subprocess.run([sys.executable, '-c', {TRAIN_AND_SAY!r}], check=True)\n"


def in_fork(text):
    """Lines that run others in a fork, as a child that trains does."""
    return f"""
child = os.fork()
if not child:
    {textwrap.indent(text.strip(), '    ').strip()}
    os._exit(0)
"""


FORK_TRAINING = in_fork(TRAIN) + "os.waitpid(child, 0)\n"


class WhoIsWatched(unittest.TestCase):
    def check_steps(self, text, steps, messages=0, how=forked):
        without, watched = run_both(self, code(text), how=how)
        self.assertEqual(without.code, 0, without.err)
        self.assertEqual(len(watched.log.processes()), 1)
        self.assertEqual(len(watched.log.steps()), steps)
        self.assertEqual(watched.err.count("Highwater watch"), messages, watched.err)
        return watched

    def test_a_launcher_that_builds_an_optimizer(self):
        self.check_steps(BUILD + START_TRAINING, 2)

    def test_a_launcher_that_takes_a_derivative(self):
        derive = "x = torch.ones(2, requires_grad=True)\ndel optimizer\ntorch.autograd.grad((x * x).sum(), x)\n"
        self.check_steps(BUILD + derive + FORK_TRAINING, 2)

    def test_a_forked_child_that_trains(self):
        self.check_steps(BUILD + in_fork(TRAIN + "train(1)") + "os.waitpid(child, 0)\n", 3)

    def test_the_others_train_without_and_say_so_once(self):
        watched = self.check_steps(BUILD + FORK_TRAINING * 3 + TRAIN, 2, messages=1)
        self.assertRegex(watched.err, r"^Highwater: Highwater watched process \d+, which has ended; this one trains on "
                                      r"without\n$")

    def test_beside_the_watched_one(self):
        """A pool of trials: the second begins while the first trains."""
        with tempfile.TemporaryDirectory() as folder:
            began, done = os.path.join(folder, "began"), os.path.join(folder, "done")
            wait = f"open({began!r}, 'w').close()\nwhile not os.path.exists({done!r}): train(1)\n"
            pool = f"""
import os, torch
{in_fork(TRAIN + wait)}
while not os.path.exists({began!r}): assert os.waitpid(child, os.WNOHANG) == (0, 0)
{FORK_TRAINING.replace("child", "second")}
open({done!r}, "w").close()
os.waitpid(child, 0)
"""
            watched = run(code(pool), True, how=forked)
        self.assertEqual(len(watched.log.processes()), 1)
        self.assertGreaterEqual(len(watched.log.steps()), 2)
        process, = watched.log.processes()
        self.assertEqual(watched.err, f"Highwater: Highwater watches process {process} already; this one trains on "
                                      "without\n")

    def test_a_host_that_ended_before_the_training_began(self):
        watched = support.environment("/nowhere/socket", "token",
                                      support.base_environment(HIGHWATER_TEST_LOG=os.devnull))
        done = forked(code(TRAIN + "print('end')"), watched)
        self.assertEqual((done.returncode, done.stdout), (0, "end\n"))
        self.assertEqual(done.stderr, "Highwater: Highwater has ended; this one trains on without\n")

    def test_an_optimizer_that_was_unpickled(self):
        self.check_steps(TRAIN.replace("\ntrain(2)\n", "\nimport pickle\n") + """
copied = pickle.loads(pickle.dumps((model, optimizer)))
model, optimizer = copied
train(2)
""", 2)

    def test_derivatives_without_an_optimizer(self):
        watched = self.check_steps("""
import torch
weight = torch.ones(2, requires_grad=True)
for _ in range(20):
    gradient, = torch.autograd.grad((weight * weight).sum(), weight)
    with torch.no_grad(): weight -= 0.1 * gradient
""", 5)
        self.assertEqual(watched.log.described()["steps_by"], "backward")


class CommandLine(unittest.TestCase):
    def problem(self, *arguments, flags=(), watched=True):
        variables = {"PYTHONPATH": support.SOURCES}
        if watched:
            variables["HIGHWATER_SCRIPT_SOCKET"] = "/nowhere/socket"
        done = run([PYTHON, *flags, "-m", "highwater_mps", *arguments], False, variables=variables)
        self.assertEqual((done.code, done.out), (2, ""))
        return done.err

    def test_errors(self):
        self.assertIn("no script given", self.problem())
        self.assertIn("no such script: absent.py", self.problem("absent.py"))
        self.assertIn("-m needs the name of a module", self.problem("-m"))
        self.assertIn("--fast is no script", self.problem("--fast"))
        self.assertIn("-S makes Python ignore", self.problem("plain_loop.py", flags=["-S"]))
        self.assertIn("no window waits", self.problem("plain_loop.py", watched=False))


class Exec(unittest.TestCase):
    def check(self, exec_, **others):
        _, watched = run_both(self, code(TRAIN + exec_), how=forked)
        self.assertEqual(len(watched.log.of("stop")), 1)
        self.assertEqual({sign: text for sign, text in watched.signs.items() if sign == "exec"}, others)
        return watched

    def test_leaves_a_sign(self):
        watched = self.check("os.execvp('echo', ['echo', 'after'])", exec="step 2")
        self.assertEqual((watched.out, watched.err), ("after\n", ""))

    def test_that_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program")
            open(path, "w").close()
            os.chmod(path, 0o700)
            watched = self.check(f"try: os.execv({path!r}, ['x'])\nexcept OSError: train(2)\nprint('end')")
        self.assertEqual(len(watched.log.steps()), 2)
        self.assertIn("is not recorded from here on", watched.err)


class EarlyError(unittest.TestCase):
    """An exception before the training begins, of which the window is told."""

    def check(self, lines):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "early.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import torch\n" + lines)
            without, watched = run_both(self, [PYTHON, path], how=forked)
        self.assertEqual((watched.code, watched.err), (1, without.err))
        return watched.signs["error"]

    def test_texts(self):
        rows = {
            "class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad":
                "Bad: <exception str() failed> (early.py:4)",
            # No C strings.
            r"raise KeyError('a\0b', '\ud800')": r"KeyError: ('a\x00b', '\ud800') (early.py:2)",
            r"raise ValueError('a\0b\ud800c')": "ValueError: a b?c (early.py:2)",
            # Another exception while one is handled is not caused by it.
            "try:\n    raise KeyError('labels')\nexcept KeyError:\n    raise ValueError('late')\n":
                "ValueError: late (early.py:5)",
            "try:\n    try:\n        raise KeyError('labels')\n"
            "    except KeyError as error:\n        raise TypeError('no float64') from error\n"
            "except TypeError as error:\n    raise RuntimeError('epoch failed') from error\n":
                "RuntimeError: epoch failed (early.py:8), caused by TypeError: no float64, caused by KeyError: 'labels'",
            "error = ValueError('ring')\nerror.__cause__ = KeyError('labels')\n"
            "error.__cause__.__cause__ = error\nraise error\n":
                "ValueError: ring (early.py:5), caused by KeyError: 'labels'"}
        for lines, told in rows.items():
            with self.subTest(told):
                self.assertEqual(self.check(lines), told)

    def test_long_texts(self):
        rows = {"raise ValueError('\u00e4' * 5000)": "ValueError: \u00e4+\u2026 \\(early.py:2\\)",
                "raise ValueError('a' * 5000) from TypeError('b' * 5000)":
                    "ValueError: a+\u2026 \\(early.py:2\\), caused by TypeError: b+\u2026"}
        for lines, told in rows.items():
            with self.subTest(lines):
                error = self.check(lines)
                self.assertRegex(error, f"^{told}$")
                self.assertLessEqual(len(error.encode()), 1000)


class ErrorBeforeTheFirstBackward(unittest.TestCase):
    """It is recorded what a script did that has built an optimizer."""

    def check(self, lines):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "first.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import torch\nmodel = torch.nn.Linear(2, 1)\n"
                           "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n" + lines)
            without, watched = run_both(self, [PYTHON, path], how=forked)
        self.assertEqual((watched.code, watched.err), (1, without.err))
        self.assertEqual(len(watched.log.of("connect")), 1)
        self.assertNotIn("error", watched.signs)
        return [evaluates for _, evaluates in watched.log.of("stop")]

    def test_in_a_step(self):
        self.assertEqual(self.check("model(torch.ones(1, 2))\nraise NotImplementedError\n"), [False])

    def test_in_an_evaluation(self):
        self.assertEqual(self.check("model.eval()(torch.ones(1, 2))\nraise NotImplementedError\n"), [True])


TRACEBACKS = {
    "in a module": "class Bad(torch.nn.Module):\n    def forward(self, x):\n        return x.no_such_name\n"
                   "torch.nn.Sequential(model, Bad())(torch.ones(4, 2))",
    "in backward": "torch.ones(2).sum().backward()",
    "in a hook of backward": "x = torch.ones(2, requires_grad=True)\nx.register_hook(lambda g: 1 / 0)\n"
                             "x.sum().backward()",
    "in an optimizer": "class Own(torch.optim.SGD):\n    def step(self):\n        super().step()\n        1 / 0\n"
                       "Own(model.parameters(), 0.1).step()",
    "building an optimizer": "torch.optim.Adam([])",
    "in a closure": "def closure(): raise ValueError('closure')\n"
                    "torch.optim.LBFGS(model.parameters()).step(closure)",
    "in a dataset": "from torch.utils.data import DataLoader\nclass Bad:\n    def __len__(self): return 4\n"
                    "    def __getitem__(self, i): return [1][i]\nlist(DataLoader(Bad(), batch_size=2))",
    "in a sampler": "from torch.utils.data import DataLoader\ndef bad():\n    yield 0\n    1 / 0\n"
                    "list(DataLoader(range(9), sampler=bad(), batch_size=2))",
    "in a sampler that drops": "from torch.utils.data import DataLoader\ndef bad():\n    yield 0\n    1 / 0\n"
                               "list(DataLoader(range(9), sampler=bad(), batch_size=2, drop_last=True))",
    "in a scaler": "torch.amp.GradScaler('cpu').step(optimizer)",
    "in a thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='own')\nt.start(); t.join()",
    "while training": "model.train(5)",
}


class Tracebacks(unittest.TestCase):
    def test_are_the_same(self):
        text = TRAIN + "import traceback\n" + "".join(
            f"print({name!r})\ntry:\n    exec(compile({part!r}, 'part', 'exec'), globals())\n"
            "except Exception: print(traceback.format_exc())\n" for name, part in TRACEBACKS.items())
        without, watched = run_both(self, code(text), how=forked)
        self.assertEqual(without.code, 0)
        self.assertEqual(watched.err, without.err)
        self.assertEqual(without.out.count("Traceback"), len(TRACEBACKS) - 1)  # a thread's goes to stderr
        self.assertIn("ZeroDivisionError", without.err)

    def test_watching_goes_on_after_an_exception(self):
        broken = """
class Own(torch.optim.SGD):
    def step(self):
        super().step()
        if torch.rand(()) >= 0: raise ValueError
own = Own(model.parameters(), 0.1)
for fails in (lambda: own.step(), lambda: model(1), lambda: torch.optim.LBFGS(model.parameters()).step(lambda: 1 / 0)):
    try: fails()
    except Exception: pass
train(2)
"""
        _, watched = run_both(self, code(TRAIN + broken), how=forked)
        self.assertEqual(watched.log.nesting_problem(), "")
        self.assertGreaterEqual(len(watched.log.steps()), 4)


class Threads(unittest.TestCase):
    def test_are_watched(self):
        thread = "import threading; t = threading.Thread(target=model, args=[torch.ones(2)]); t.start(); t.join()"
        _, watched = run_both(self, code(TRAIN + thread), how=forked)
        self.assertEqual(len(watched.log.of("watch_thread")), 1)


if __name__ == "__main__":
    unittest.main()
