"""The hooks into PyTorch.

After `import torch` only three hooks are set: where an optimizer is built, where one steps, and where a backward
runs. The first optimizer sets the others. A step or a backward attaches the process to the window.
"""
from __future__ import annotations

import ast
import atexit
import inspect
import os
import sys
import threading
import weakref

from . import _code, _dynamo, _feeding, _gradients, _growing_graphs, _instrument, _kept_tensors, _knobs, _live, \
    _modules, _padding, _piled_hooks, _probe, _repeated_backwards, _sources, _steps, _training
from ._attach import MOST_SIGN_BYTES, clean_environment, tell
from ._instrument import rewrite, surround
from ._probe import Probe, script_path, uncaught_error
from ._training import Training, make_is_faking


# So many derivatives that no optimizer uses and no gradient accumulates are a training of another kind.
_MOST_DERIVATIVES = 16


class _Alive:
    """The optimizers that are alive. They may be unhashable, which a WeakSet cannot hold."""

    def __init__(self):
        self._references: dict[int, weakref.ref] = {}
        self.changes = 0  # how often one has come or gone

    def add(self, optimizer) -> None:
        key = id(optimizer)
        if key not in self._references:
            self.changes += 1
            self._references[key] = weakref.ref(optimizer, lambda _: self._remove(key))

    def _remove(self, key) -> None:
        self.changes += 1
        self._references.pop(key, None)

    def __len__(self) -> int:
        return len(self._references)

    def __iter__(self):
        alive = [reference() for reference in tuple(self._references.values())]
        return iter([optimizer for optimizer in alive if optimizer is not None])


class Hooks:
    """All hooks of one process.

    From the first optimizer on the process is observed, so that nothing of its first step is lost. It becomes the
    one that the window watches when it trains: a launcher may build an optimizer too.

    `make_probe()` returns a probe that observes, or None and the reason.
    """

    def __init__(self, torch, window, make_probe):
        self._torch = torch
        self._window = window
        self._make_probe = make_probe
        self._optimizers: _Alive = _Alive()
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._observe_tried = self._attach_tried = False
        self._training = None
        self._problem = ""  # why the training is not watched
        self._derivatives = 0
        self._memory_fraction = 0.0  # that the script has set; 0: none

    def watch_for_training(self) -> None:
        """Sets the hooks that find out whether this process trains."""
        from torch.optim.optimizer import (Optimizer, register_optimizer_step_post_hook,
                                           register_optimizer_step_pre_hook)
        compiling = self._torch.compiler.is_compiling
        self._report(surround(Optimizer.__init__, self._guard(self._optimizer_built)))
        if hasattr(self._torch, "mps"):
            self._report(surround(self._torch.mps.set_per_process_memory_fraction, self._guard(self._set_memory_fraction),
                                  arguments=("fraction",)))
        self._report(surround(self._torch.autograd._engine_run_backward, self._guard(self._enter_backward),
                              self._leave_backward, ("t_outputs", "args", "kwargs"), compiling))
        # Both are set before any optimizer steps: PyTorch cannot add a hook while it calls them.
        register_optimizer_step_pre_hook(self._guard(self._before_step))
        register_optimizer_step_post_hook(self._guard(self._after_step))
        os.register_at_fork(after_in_child=self._forked)
        atexit.register(self._guard(self._note_error))

    def _set_memory_fraction(self, fraction) -> None:
        """The script limits the memory that it may allocate; PyTorch checks the value next."""
        if isinstance(fraction, float) and 0 <= fraction <= 2:
            self._memory_fraction = fraction
            if self._training is not None:
                self._training.describe(memory_fraction=fraction)

    def _note_error(self) -> None:
        """A program may fail before it trains: what it moves to the device may have a dtype that MPS lacks."""
        if self._attach_tried:
            return
        text = uncaught_error(MOST_SIGN_BYTES)
        if text:
            self._window.note("error", text)

    def observe(self) -> None:
        """Observes from now on, if that was not tried before. A process that never trains says nothing of it."""
        with self._lock:
            if self._observe_tried:
                return
            self._observe_tried = True
            self._window.note("optimizer")
            if self._window.is_taken():
                return
            try:
                probe, self._problem = self._make_probe()
                if probe is not None:
                    self._begin(probe)
            except Exception as error:
                self._problem = repr(error)

    def attach(self, quiet: bool = False) -> str:
        """Makes this process the one that is watched, if that was not tried before.

        Returns why it is not, else ""; also says it on stderr, unless `quiet`.
        """
        with self._lock:
            if not self._attach_tried:
                self.observe()
                if self._training is not None:  # before another thread gets past this
                    self._training.trains_here()
                self._attach_tried = True
                self._problem = self._attach_once(quiet)
        return self._problem

    def told_step(self) -> None:
        """The script says that a step ended where nothing is watched yet: what follows is the first step."""
        if not self._attach_tried and not self.attach():
            self._training.tell_steps()

    def _attach_once(self, quiet: bool) -> str:
        window, training = self._window, self._training
        clean_environment()
        problem = self._problem
        is_taken = window.is_taken() or not problem and not window.claim()
        if is_taken:
            problem = window.refusal()
        elif not problem:
            problem = self._connect()
        if problem and training is not None:
            training.stop_watching()
            self._training = _live.training = None
        if problem and not is_taken:
            window.note("unwatched", problem)
        if not problem or quiet:
            return problem
        if is_taken:
            window.tell_once(f"{problem}; this one trains on without")
        else:
            tell(f"this training is not watched: {problem}")
        return problem

    def _connect(self) -> str:
        try:
            problem = self._window.connect(self._training.probe)
        except Exception as error:
            problem = repr(error)
        if problem:
            self._window.give_back()
        return problem

    def _begin(self, probe: Probe) -> None:
        for module in (_code, _dynamo, _feeding, _gradients, _growing_graphs, _instrument, _kept_tensors, _knobs, _live,
                       _modules, _padding, _piled_hooks, _probe, _repeated_backwards, _sources, _steps, _training,
                       sys.modules[__name__]):
            _dynamo.exempt(self._torch, module)
        training = Training(self._torch, probe, self._optimizers, self.attach, self._note_broken)
        if sys.version_info < (3, 13):  # see native/host_sampler.h
            training.note_sign("samples_lag", "", "6 ms")
        if probe.first_host_sample_share < 1:
            training.note_sign("first_host_samples", "", share=probe.first_host_sample_share)
        self._leave_training_backward = self._guard(training.leave_backward)
        self._set_training_hooks(training)
        missed = probe.watch_waiting_calls(self._torch)
        self._report(missed and f"calls of {missed}")
        self._training = _live.training = training
        training.knobs.declare_early_ones()
        self._watch_cells(training)
        atexit.register(self._end, training)
        _surround_ends()
        training.describe(script=script_path(), torch=self._torch.__version__, python=sys.version.split()[0],
                          memory_fraction=self._memory_fraction)

    def _watch_cells(self, training) -> None:
        """In a notebook a step ends with its cell at the latest, not when the user runs the next one."""
        interactive = sys.modules.get("IPython")
        shell = interactive.get_ipython() if interactive is not None else None
        if shell is not None:
            shell.events.register("post_run_cell", self._guard(training.end_cell))

    def _set_training_hooks(self, training: Training) -> None:
        from torch.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter
        torch = self._torch
        module, compiling = torch.nn.Module, torch.compiler.is_compiling
        # The cheaper one of the checks that Dynamo folds; the training asks about other compilers.
        tracing = torch.compiler.is_dynamo_compiling
        for problem in (
                surround(module.__call__, *training.module_calls(), ("self", "args", "kwargs"), tracing),
                self._surround(module.train, training.enter_train, training.leave_owner, ("self", "mode"),
                               unless=compiling),
                self._surround(module._apply, training.enter_owner, training.leave_owner, unless=compiling),
                surround(inspect.unwrap(torch.optim.Optimizer.zero_grad), self._guard(training.enter_zero_grad),
                         unless=compiling),
                self._surround(_BaseDataLoaderIter.__next__, training.enter_fetch, training.leave_next, result="data"),
                self._surround(_MultiProcessingDataLoaderIter.__init__, training.enter_loader_start,
                               training.leave_fetch, ("self", "loader")),
                self._surround(_MultiProcessingDataLoaderIter._shutdown_workers, training.enter_loader_end,
                               training.leave_loader_end),
                surround(torch.amp.autocast_mode.autocast.__init__, self._guard(training.enter_autocast),
                         arguments=("device_type", "enabled"), unless=compiling),
                surround(torch.nn.utils.rnn.pad_sequence, self._guard(training.enter_pad_sequence),
                         arguments=("sequences",), unless=compiling),
                surround(torch.nn.utils.rnn.pack_padded_sequence, self._guard(training.enter_pack_sequence),
                         arguments=(), unless=compiling),
                self._surround(torch.amp.GradScaler.step, training.enter_scaler, training.leave_scaler,
                               ("optimizer",)),
                surround(threading.Thread._bootstrap_inner, self._thread_begins),
                rewrite(torch.utils.data.BatchSampler.__iter__, _make_drop_last_live)):
            self._report(problem)
        # Since 2.14 MPS has more than one stream; before, nothing calls these.
        for owner in (getattr(torch, "mps", None), getattr(torch, "accelerator", None)):
            if hasattr(owner, "set_stream"):
                self._report(surround(owner.set_stream, self._guard(training.set_stream), arguments=("stream",)))

    def _surround(self, function, enter, leave, *arguments, **more) -> str:
        return surround(function, self._guard(enter), self._guard(leave), *arguments, **more)

    def _guard(self, function):
        """`function`, without its exceptions: an error of ours must not end the user's training."""
        compiling = self._torch.compiler.is_dynamo_compiling
        callback = _dynamo.callback_getter(self._torch)

        def guarded(*args):
            if compiling():  # a compiled optimizer's step has no hooks, rather than a graph break
                return None
            try:
                if callback() is None:
                    return function(*args)
                with _dynamo.Uncompiled(self._torch):
                    return function(*args)
            except Exception as error:
                function.__self__.give_up(error)
        return guarded

    @staticmethod
    def _report(problem: str) -> None:
        if problem:
            tell(f"part of this training is not watched: {problem}")

    def _note_broken(self, what: str) -> None:
        """The recording ends before the training does, whose program `what` is: for the window to say."""
        self._window.note("broken", what)

    def give_up(self, error: Exception) -> None:
        """After an error in a hook: see `Training.give_up`."""
        if self._training is not None:
            self._training.give_up(error)

    def _optimizer_built(self, optimizer) -> None:
        self._optimizers.add(optimizer)
        if not self._observe_tried:
            self.observe()
        if self._training is not None:
            self._training.optimizer_built(optimizer)

    def _before_step(self, optimizer, *_) -> None:
        """Copied and unpickled optimizers were not seen before."""
        if not self._attach_tried:
            self._optimizers.add(optimizer)
            self.attach()
        if self._training is not None:
            self._training.before_step(optimizer)

    def _after_step(self, optimizer, *_) -> None:
        if self._training is not None:
            self._training.after_step(optimizer)

    def _enter_backward(self, outputs, arguments, options):
        if not self._attach_tried and not make_is_faking(self._torch)() and self._is_training(options):
            self.attach()
        accumulates = options.get("accumulate_grad", True)
        return self._training is not None and self._training.enter_backward(outputs, arguments, accumulates)

    def _is_training(self, options) -> bool:
        """Whether a backward is one of a training, rather than any derivative."""
        if options.get("accumulate_grad", True) or self._optimizers:
            return True
        self._derivatives += 1
        return self._derivatives >= _MOST_DERIVATIVES

    def _leave_backward(self, entered) -> None:
        if entered:
            self._leave_training_backward(entered)

    def _thread_begins(self, _) -> None:
        training = self._training
        if training is not None:
            training.probe.watch_thread()

    def _end(self, training) -> None:
        error = uncaught_error(MOST_SIGN_BYTES)
        if error and not self._attach_tried and not error.startswith(KeyboardInterrupt.__name__):
            try:
                self.attach(quiet=True)  # it failed before its first backward: what it did until then is recorded
            except Exception:  # the script's own failure is what is told
                pass
        _live.training = None
        self._guard(training.finish)()

    def leave_by_exec(self, program) -> bool:
        """The watched program is about to become another one, which is not: tells the window. Returns whether it did.

        Not where there is no such program, as os.execvp() asks for one folder of PATH after the other.
        """
        training = _live.training
        if training is None or not self._attach_tried or not _is_executable(program):
            return False
        self._window.note("exec", f"step {training.step}")
        if training.finish_at_once():
            _live.training = None
        return True

    def exec_failed(self, error: Exception) -> None:
        """The program goes on after `leave_by_exec`."""
        self._window.take_back("exec")
        if _live.training is not None:  # another thread trains, and is watched as before
            return
        self._note_broken("is not watched any more since it failed to become another program (exec)")
        tell(f"this program could not become another one ({error}), and is not recorded from here on")

    def _forked(self) -> None:
        """In a child: it may be the one that trains, where its parent was not."""
        _live.training = None
        if self._training is not None:
            self._training.abandon()
        self._reset()


def _surround_ends() -> None:
    """Has os._exit() and exec send the last moments first. Children, such as a loader's workers, end as ever.

    All exec functions of `os` go through these two.
    """
    if os._exit.__module__ == __name__:
        return

    def around_exit(end):
        def _exit(status):
            training, _live.training = _live.training, None
            if training is not None:
                training.finish_at_once()
            end(status)
        return _exit

    def around_exec(become):
        def exec_(*arguments, **named):
            left = _live.hooks.leave_by_exec(arguments[0] if arguments else named.get("path"))
            try:
                return become(*arguments, **named)
            except Exception as error:
                if left:
                    _live.hooks.exec_failed(error)
                raise
        return exec_

    for name, around in (("_exit", around_exit), ("execv", around_exec), ("execve", around_exec)):
        original = getattr(os, name)
        function = around(original)
        function.__name__ = function.__qualname__ = name
        function.__doc__, function.__module__ = original.__doc__, __name__
        setattr(os, name, function)


def _is_executable(program) -> bool:
    try:
        return os.path.isfile(program) and (isinstance(program, int) or os.access(program, os.X_OK))
    except (TypeError, ValueError, OSError):
        return False


_LIVE_DROP_LAST = """
if self.drop_last:
    highwater_indices = iter(self.sampler)
    while True:
        highwater_size = self.batch_size
        highwater_batch = [*itertools.islice(highwater_indices, highwater_size)]
        if len(highwater_batch) < highwater_size:
            return
        yield highwater_batch
"""


def _make_drop_last_live(definition) -> None:
    """Makes a BatchSampler that drops the last batch read its size before each batch, as others do.

    The added lines count as the loop that they replace, for the traceback of an exception in the sampler.
    """
    added = ast.parse(_LIVE_DROP_LAST).body
    loop = next((node for node in ast.walk(definition) if isinstance(node, ast.For)), definition)
    end = getattr(loop, "iter", loop).end_col_offset + 1  # the whole line, as which a loop's own steps count
    for statement in added:
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = loop.lineno
                node.col_offset, node.end_col_offset = loop.col_offset, end
    definition.body = added + definition.body
