"""The hooks into PyTorch.

After `import torch` there are only signs that a process trains: an optimizer is built or steps, or a backward
runs. At the first sign the training is attached and all other hooks are set.
"""
from __future__ import annotations

import ast
import atexit
import os
import sys
import threading
import weakref

from . import _dynamo, _instrument, _knobs, _live, _modules, _probe, _steps, _training
from ._instrument import rewrite, surround
from ._probe import Probe
from ._training import Training, make_is_faking


class Hooks:
    """All hooks of one process. `make_probe()` returns a connected probe, or None to train on without."""

    def __init__(self, torch, make_probe):
        self._torch = torch
        self._make_probe = make_probe
        self._lock = threading.RLock()
        self._optimizers: weakref.WeakSet = weakref.WeakSet()
        self._tried = False
        self._training = None

    def watch_for_training(self) -> None:
        """Sets the hooks that find out whether this process trains."""
        from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook
        compiling = self._torch.compiler.is_compiling
        self._report(surround(Optimizer.__init__, self._optimizer_built))
        self._report(surround(self._torch.autograd._engine_run_backward, self._enter_backward,
                              self._leave_backward, ("t_outputs",), compiling))
        self._step_sign = register_optimizer_step_pre_hook(self._optimizer_steps)

    def attach(self) -> str:
        """Attaches now, if that was not tried before. Returns why it failed, else ""."""
        with self._lock:
            if not self._tried:
                self._tried = True
                try:
                    probe = self._make_probe()
                    if probe is not None:
                        self._begin(probe)
                except Exception as error:
                    print(f"Highwater: this training is not watched: {error!r}", file=sys.stderr)
        return "" if self._training else "Highwater could not attach; its message is on stderr"

    def _begin(self, probe: Probe) -> None:
        for module in (_dynamo, _instrument, _knobs, _live, _modules, _probe, _steps, _training,
                       sys.modules[__name__]):
            _dynamo.exempt(self._torch, module)
        training = Training(self._torch, probe, self._optimizers)
        self._enter_training_backward = self._guard(training.enter_backward)
        self._leave_training_backward = self._guard(training.leave_backward)
        self._set_training_hooks(training)
        self._training = _live.training = training
        atexit.register(self._end)
        os.register_at_fork(after_in_child=self._forked)
        training.describe(script=os.path.abspath(sys.argv[0]) if sys.argv[0] else "",
                          torch=self._torch.__version__, python=sys.version.split()[0])

    def _set_training_hooks(self, training: Training) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
        from torch.utils.data.dataloader import _BaseDataLoaderIter
        torch = self._torch
        module, compiling = torch.nn.Module, torch.compiler.is_compiling
        # The cheaper one of the checks that Dynamo folds; the training asks about other compilers.
        tracing = torch.compiler.is_dynamo_compiling
        for problem in (
                surround(module.__call__, *training.module_calls(), ("self", "args", "kwargs"), tracing),
                self._surround(module.train, training.enter_owner, training.leave_owner, unless=compiling),
                self._surround(module._apply, training.enter_owner, training.leave_owner, unless=compiling),
                self._surround(_BaseDataLoaderIter.__next__, training.enter_fetch, training.leave_fetch),
                self._surround(torch.amp.GradScaler.step, training.enter_scaler, training.leave_scaler,
                               ("optimizer",)),
                surround(threading.Thread._bootstrap_inner, self._thread_begins),
                rewrite(torch.utils.data.BatchSampler.__iter__, _make_drop_last_live)):
            self._report(problem)
        self._step_sign.remove()
        register_optimizer_step_pre_hook(self._guard(training.before_step))
        register_optimizer_step_post_hook(self._guard(training.after_step))

    def _surround(self, function, enter, leave, *arguments, unless=None) -> str:
        return surround(function, self._guard(enter), self._guard(leave), *arguments, unless=unless)

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
            print(f"Highwater: part of this training is not watched: {problem}", file=sys.stderr)

    def _optimizer_built(self, optimizer) -> None:
        self._optimizers.add(optimizer)
        if self._training is None:
            self.attach()
        if self._training is not None:
            self._training.describe(optimizer=type(optimizer).__name__)

    def _optimizer_steps(self, optimizer, args, kwargs) -> None:
        """Copied and unpickled optimizers were not seen before."""
        self._optimizers.add(optimizer)
        self.attach()

    def _enter_backward(self, outputs):
        if self._training is None and not self._tried and not make_is_faking(self._torch)():
            self.attach()
        return self._training is not None and self._enter_training_backward(outputs)

    def _leave_backward(self, entered) -> None:
        if entered:
            self._leave_training_backward(entered)

    def _thread_begins(self, _) -> None:
        self._training.probe.watch_thread()

    def _end(self) -> None:
        _live.training = None
        self._guard(self._training.finish)()

    def _forked(self) -> None:
        _live.training = None
        self._training.abandon()


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
