"""The training that is watched: takes what the hooks see, tells the probe, and obeys the window."""
from __future__ import annotations

import _thread
import json
import sys
import threading
import time
import weakref

from ._attach import encoded, tell
from ._code import kept_output, sampler_code
from ._dynamo import Uncompiled, callback_getter
from ._gradients import DroppedGradients, UnusedGradients, class_of
from ._kept_tensors import KeptTensors
from ._knobs import Knobs
from ._modules import ModuleNames, dtype_of, guess_batch
from ._padding import Padding, RaggedRows
from ._piled_hooks import PiledHooks
from ._probe import TRY_CHANGED, Probe, line_of_user
from ._repeated_backwards import RepeatedBackwards
from ._sources import Sources
from ._steps import StepListener, StepRule

_FORWARD, _EVALUATION, _FETCH = b"forward", b"evaluation", b"batch_assembly"
_BACKWARD, _OPTIMIZER = b"backward", b"optimizer_step"
# The workers of a DataLoader are ended and started, and then load the first batches: one kind of span of
# native/script_probe, whatever of it the training waits for.
_LOADER_START, _FIRST_BATCH = b"starting DataLoader workers", b"first batch of DataLoader workers"
_LOADER_END = b"end of DataLoader workers"
_OWN_WORK = b"Highwater's own work"  # see kOwnWorkSpan
# The second batch is mostly another worker's first one.
_FIRST_BATCHES = 2
_PAUSE_POLL_SECONDS = 0.02
# How deep subsets of data sets are looked into.
_MOST_SUBSETS = 4
# The steps of optimizers, counted from 1, after which the script's autograd Functions are looked at.
_LOOK_AT_FUNCTIONS_AFTER = (3, 30)
# So many groups of parameters are more than a script needs for its settings.
_MANY_GROUPS = 16
# So many steps after it was last trained, a model without an optimizer may be another one's teacher. The step that
# follows the last one of its training has begun with the evaluation's first batch.
_TRAINED_FOR = 2
# How long a script that calls os._exit() waits at most for the last moments to be sent.
_EXIT_MS = 300


class _Calls(threading.local):
    """The modules that are open on a thread."""
    depth = 0
    call = ()  # what outermost() returned
    owners = 0


def _say_interrupted(kind, value, traceback) -> None:
    """For `sys.excepthook`, while the interrupt is to come that the user asked for: where nothing catches it, a traceback
    would look like a fault of the script. How the process ends does not change."""
    if issubclass(kind, KeyboardInterrupt):
        tell("interrupted the program, as Ctrl+C does")
    else:
        sys.__excepthook__(kind, value, traceback)


class Training(StepListener):
    """One training. The hooks call its methods from any thread; steps are those of the thread that trains."""

    def __init__(self, torch, probe: Probe, optimizers, attach=lambda: "", note_broken=lambda what: None):
        """`optimizers` holds the optimizers that are alive, weakly. `attach()` has the window watch this process;
        `note_broken` tells it that the recording ends before the training does."""
        self.torch = torch
        self.probe = probe
        self.knobs = Knobs(self)
        self.learning_rate_factor = 1.0
        self._has_said_streams = self._has_told_of_threads = False
        self._unstopped = None  # a probe that another thread gave up
        self._postponed: list = []  # commands that wait for the end of the step
        self._optimizers = optimizers
        self._attach = attach
        self._note_broken = note_broken
        self._optimizer_names: dict[str, None] = {}  # of the classes, in the order in which they were built
        self._last_optimizer = lambda: None  # the one that stepped last, weakly
        self._rule = StepRule(self, lambda: len(optimizers))
        self._names = ModuleNames()
        self._calls = _Calls()
        self._plain_tensors = torch._C.DisableTorchFunction
        self._is_compiling = torch.compiler.is_compiling
        self._is_faking = make_is_faking(torch)
        self._dynamo_callback = callback_getter(torch)
        self._trains = threading.local()  # of the thread that trains: a later one may get the number of an ended one
        self._has_thread = False
        self._backwards = 0
        self._step_code = torch.optim.Optimizer.profile_hook_step(lambda optimizer: None).__code__
        self._steps_in_progress: list = []  # optimizers whose step() is open, outermost first
        self._steps = 0  # of optimizers
        self._steps_told = 0
        self._rates: list = []  # (param group, its learning rate) while the factor is applied
        self._loader = None
        self._largest = 0
        self._evaluates = False
        self._evaluation_is_open = False
        self._evaluation_line = ""  # that called its model with gradients
        self._fetches = 0  # that are open
        self._remembered = None, False
        self._loader_settings: dict = {}
        self._takes_rows = False  # one by one, of the tensors of a TensorDataset
        self._gets_batches = False  # whole, from a data set of the script's
        self._settings_of = lambda: None  # the iterator that they are those of, weakly
        self._signs: dict[str, str] = {}  # of the script's code, by their keys, as native/exports reads them
        self._unused_gradients = UnusedGradients(optimizers)
        self._dropped_gradients = DroppedGradients(
            optimizers, lambda line, model, share: self.note_sign("dropped_gradients", line, model, share))
        self._padding = Padding(torch, lambda line, sizes, share: self.note_sign("padding", line, sizes, share))
        self._ragged_rows = RaggedRows(torch, lambda line, sizes, share: self.note_sign("ragged_rows", line, sizes, share))
        self._piled_hooks = PiledHooks(
            lambda line, a_step: self.note_sign("hooks_pile_up", line, f"{a_step:.0f}"))
        self._repeated_backwards = RepeatedBackwards(torch, self.note_sign)
        self._kept_tensors = KeptTensors(torch, lambda line, what: self.note_sign("kept_tensors", line, what),
                                         lambda line, what: self.note_sign("growing_graph", line, what))
        self._open_shape = 0, 0  # batch and length of the step whose work has begun; 0: not known
        self._closure_works = False  # a model was called, or a backward, by the optimizer that steps
        # Of iterators over loaders, how many of the next batches are their workers' first ones.
        self._starting: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._sources = Sources()
        self._has_stopped = False
        self._has_ended = False
        self._steps_by = ""
        self._steps_are = "training"

    # Modules

    def module_calls(self):
        """What `Module.__call__` calls first, with the module and its arguments, and last."""
        return (self.probe.module_calls(self._enter_outermost, self._name_missing)
                or (self.enter_module, self.leave_module))

    def enter_module(self, module, args, kwargs) -> None:
        """As hw_python_calls' function of that name, in Python."""
        calls = self._calls
        if calls.depth:
            calls.depth += 1
            name = calls.call[0].get(id(module)) or self._name_missing(calls.call, module)
            self.probe.enter_module(name)
            return
        call = self._enter_outermost(module, args, kwargs)
        if call is not None:
            calls.depth, calls.call = 1, call
            if call[2]:
                self.probe.begin_phase(call[2])
            self.probe.enter_module(call[1])

    def leave_module(self, _) -> None:
        calls = self._calls
        if not calls.depth:
            return
        calls.depth -= 1
        self.probe.leave_module()
        if not calls.depth and calls.call[2]:
            self.probe.end_phase()

    def _enter_outermost(self, module, args, kwargs):
        """A module is called outside of any other; None where the call is not watched."""
        if self._is_compiling():
            return None
        try:
            if self._dynamo_callback() is not None:
                with Uncompiled(self.torch):
                    return self._outermost(module, args, kwargs)
            return self._outermost(module, args, kwargs)
        except Exception as error:
            self.give_up(error)
            return None

    def _outermost(self, module, args, kwargs):
        with self._plain_tensors():
            root = self._names.root(module)
            return root.call(self._phase_of(root, module, args, kwargs))

    def _name_missing(self, call, module) -> bytes:
        try:
            with Uncompiled(self.torch):
                return self._names.add_missing(call[3], module)
        except Exception:  # of the model's own named_modules()
            return encoded(type(module).__name__)

    def enter_owner(self, module) -> None:
        """A method that affects all modules below `module` is called; it calls itself for each of them."""
        self._calls.owners += 1
        if self._calls.owners == 1:
            self._names.add_owner(module)

    def leave_owner(self, _) -> None:
        self._calls.owners -= 1

    def enter_train(self, module, mode) -> None:
        """`module.train(mode)` is called, or `module.eval()`."""
        if mode:
            self._end_evaluation()
        self.enter_owner(module)

    def enter_zero_grad(self, optimizer) -> None:
        """Gradients are set to zero, for the next training step."""
        self._end_evaluation()
        if self._is_training_thread():
            self._rule.gradients_cleared()
            self._dropped_gradients.cleared(optimizer)

    def _phase_of(self, root, module, args, kwargs) -> bytes:
        """The phase that a call from outside of any module is; none where it recomputes or only traces."""
        if self._backwards or self._is_faking():
            return b""
        evaluates = self._evaluates
        if root.parameters:  # a loss has no mode of its own
            trains = module.training or self._unused_gradients.are_of(module)
            evaluates = not (trains and self.torch.is_grad_enabled())
        if not self._is_training_thread():
            if not evaluates:
                self._others_train()
            return _EVALUATION if evaluates else _FORWARD
        self._evaluates = evaluates
        if root.parameters and not evaluates and self._dropped_gradients.looks:
            self._dropped_gradients.called(module, line_of_user)
        if root.parameters and not evaluates and self._unused_gradients.awaits_call_of(module):
            self.note_sign("unused_gradients", line_of_user(), class_of(module), self._unused_gradients.share)
        self._heal()
        if self._loader is not None:
            self.knobs.loader_used(self._loader, self._evaluates)
        if self._evaluates and not self._rule.infers:
            return self._phase_without_gradients(root, module)
        self._end_evaluation()
        self._remember_loader()
        self._note_forward(root, module, args, kwargs)
        return _FORWARD

    def _others_train(self) -> None:
        self._unused_gradients.others_train()
        self._dropped_gradients.others_train()
        self._repeated_backwards.stop()

    def _phase_without_gradients(self, root, module) -> bytes:
        """The phase of a call that trains nothing: of a step, as a teacher's or a frozen encoder's call is, or an
        evaluation. Between steps that one is open until the training goes on, as it reads its results after the call;
        b"" then."""
        trained = self._is_trained(root, module)
        if trained:
            self._sources.evaluated()
        evaluates = self._rule.evaluated(trained=trained) and not self._rule.feeds
        if self._fetches or self._steps_in_progress or trained and not evaluates:
            return _EVALUATION
        if not evaluates:
            looks = self._sources.repeats and "frozen_model" not in self._signs
            if looks and root.is_frozen(module) and not self._names.shares_label(root):
                self.note_sign("frozen_model", line_of_user(), root.label.decode())
            return _FORWARD
        self._ragged_rows.evaluates()
        if not self._evaluation_is_open:
            self._evaluation_is_open = True
            if (trained and "evaluation_gradients" not in self._signs and self.torch.is_grad_enabled()
                    and any(parameter.requires_grad for parameter in module.parameters())):
                self._evaluation_line = line_of_user()
            self.probe.begin_phase(_EVALUATION)
        return b""

    def _is_trained(self, root, module) -> bool:
        """Whether an optimizer has any of the model's parameters, or had until the last step: it may be gone with the
        function that trained."""
        changes = self._optimizers.changes
        if not root.trained or root.optimizers[0] != changes:
            optimizers = changes, sum(len(each.param_groups) for each in self._optimizers)
            if root.optimizers != optimizers:
                root.optimizers = optimizers
                used = {id(parameter) for each in self._optimizers for group in each.param_groups
                        for parameter in group["params"]}
                root.trained = any(id(parameter) in used for parameter in module.parameters())
        if root.trained:
            root.last_trained = self.step
        return root.last_trained >= 0 and self.step - root.last_trained <= _TRAINED_FOR

    def _end_evaluation(self) -> None:
        if self._evaluation_is_open and self._is_training_thread():
            self._evaluation_is_open = False
            self.probe.end_phase()
            if self._evaluation_line:
                self.note_sign("evaluation_gradients", self._evaluation_line)

    @property
    def _loader_batch(self) -> int:
        """The samples of a batch of the loader that was used last; 0: not known."""
        size = getattr(self._loader, "batch_size", 0)
        return size if isinstance(size, int) else 0

    def _remember_loader(self) -> None:
        if not self._evaluates:
            self._sources.trained()
        loader, evaluates = self._remembered
        if loader is not self._loader or evaluates is not self._evaluates:
            self._remembered = self._loader, self._evaluates
            is_trainings = self._loader is None or self._loader in self._sources
            if self._evaluates or is_trainings:
                self.describe(**self._loader_settings)
            if not self._evaluates and is_trainings:
                self._note_loading()

    def _note_loading(self) -> None:
        """What the training's loader is like, as long as it is this one."""
        signs = {"tensor_rows": ("",) if self._takes_rows else None,
                 "whole_batches": ("",) if self._gets_batches else None,
                 "sampler_code": sampler_code(self._loader) or sampler_code(getattr(self._loader, "sampler", None))}
        for what, sign in signs.items():
            had_one = self._signs.pop(what, None)
            if sign is not None:
                self.note_sign(what, *sign)
            elif had_one:
                self.describe(signs=[*self._signs.values()])

    def _note_forward(self, root, module, args, kwargs) -> None:
        batch, length, weight = 0, 0, -1
        if root.parameters:
            batch, length = guess_batch(self.torch, root, module, args, kwargs, self._loader_batch)
            weight = root.parameters
        if self._evaluates:
            self._rule.evaluated(id(root), batch, length, weight)
            self._tell_what_steps_are(self.step)
        else:
            if root.parameters:
                self._padding.computed(length)
                self._ragged_rows.computed(length)
                self._is_trained(root, module)  # as long as its optimizer is there
            self._rule.forward(batch, length, weight, id(root))
            self._closure_works = bool(self._steps_in_progress)
            if 2 * root.parameters >= self._largest:
                self._open_shape = batch, length
        if root.parameters > self._largest:
            self._largest = root.parameters
            self.describe(model=root.model, parameters=root.parameters, batch_guess=batch,
                          length_guess=length, dtype=dtype_of(self.torch, module))

    def enter_pad_sequence(self, sequences) -> None:
        """Rows of different lengths are made a batch, by the script or by what collates for its loader."""
        if (self._ragged_rows.looks and self._is_training_thread() and not self._evaluation_is_open
                and not self._is_faking()):
            with self._plain_tensors():
                self._ragged_rows.padded(sequences, line_of_user)

    def enter_pack_sequence(self) -> None:
        """Padded rows are packed."""
        self._ragged_rows.packed()

    def enter_autocast(self, device_type, enabled) -> None:
        """`torch.autocast(device_type)`: PyTorch warns once where there is no such device, and computes on without."""
        if device_type != "cuda" or not enabled or "autocast_off" in self._signs or self.torch.cuda.is_available():
            return
        self.note_sign("autocast_off", line_of_user(), device_type)

    # Data

    def enter_fetch(self, iterator):
        first_batches = self._starting.get(iterator, 0)
        if first_batches > 1:
            self._starting[iterator] = first_batches - 1
        elif first_batches:
            del self._starting[iterator]
        mine = self._begin_fetch(iterator, _FIRST_BATCH if first_batches else _FETCH)
        if mine and self._settings_of() is not iterator:
            self._settings_of = weakref.ref(iterator)
            self._sources.begins(iterator)
            workers = getattr(iterator, "_num_workers", -1)
            # NumPy's integers are none that JSON knows.
            self._loader_settings = {"loader_workers": int(workers) if hasattr(workers, "__index__") else -1,
                                     "persistent_workers": bool(getattr(iterator, "_persistent_workers", False)),
                                     "device_data": self._holds_device_tensors(getattr(iterator, "_dataset", None))}
            self._takes_rows = self._takes_rows_of_tensors(iterator)
            self._gets_batches = hasattr(type(self._whole(getattr(iterator, "_dataset", None))), "__getitems__")
        return iterator if mine else None

    def _holds_device_tensors(self, dataset) -> bool:
        """Whether a data set keeps its rows on MPS, in a tensor that is a member or, as a TensorDataset, in several.

        Calls nothing of the user's. A small tensor may be a mean, and one of another class may compute anything.
        """
        dataset = self._whole(dataset)
        members = getattr(dataset, "__dict__", None)
        if not isinstance(members, dict):
            return False
        tensors = members.get("tensors")
        held = [*members.values(), *(tensors if isinstance(tensors, (tuple, list)) else ())]
        with self._plain_tensors():
            return any(each.device.type == "mps" and each.ndim > 0 and len(each) > 2 * self._loader_batch
                       for each in held if type(each) is self.torch.Tensor)

    def _whole(self, dataset):
        """What a data set is a subset of."""
        for _ in range(_MOST_SUBSETS):
            if type(dataset) is not self.torch.utils.data.Subset:
                break
            dataset = dataset.dataset
        return dataset

    def _takes_rows_of_tensors(self, iterator) -> bool:
        """Whether an iterator over a loader fetches the rows of a TensorDataset one by one, to stack them again."""
        dataset = self._whole(getattr(iterator, "_dataset", None))
        collates = getattr(iterator, "_collate_fn", None) is self.torch.utils.data.default_collate
        return (collates and type(dataset) is self.torch.utils.data.TensorDataset and not hasattr(dataset, "__getitems__")
                and bool(getattr(iterator, "_auto_collation", False)))

    def enter_loader_start(self, iterator, loader):
        """A DataLoader starts worker processes for an iteration over it."""
        self._starting[iterator] = _FIRST_BATCHES
        return self._begin_fetch(loader, _LOADER_START)

    def enter_loader_end(self, iterator) -> bool:
        """The worker processes of a DataLoader are ended, and waited for, unless they have ended before."""
        if iterator._shutdown:
            return False
        self.probe.begin_phase(_LOADER_END)
        return True

    def leave_loader_end(self, entered: bool) -> None:
        if entered:
            self.probe.end_phase()

    def _begin_fetch(self, source, phase):
        """Returns whether the thread that trains fetches from `source`, a loader or an iterator."""
        self._heal()
        mine = self._is_training_thread()
        if mine:
            self._loader = getattr(source, "_index_sampler", None)
            trains = self._sources.train_with(source)
            if trains:
                self._end_evaluation()
            self._rule.fetched(0 if phase is _LOADER_START else self._loader_batch, trains, id(self._loader))
            self._fetches += 1
        self.probe.begin_phase(phase)
        return mine

    def leave_fetch(self, mine) -> None:
        self.probe.end_phase()
        if mine:
            self._fetches -= 1

    def leave_next(self, iterator, batch) -> None:
        """`iterator`: what enter_fetch() returned."""
        self.leave_fetch(iterator is not None)
        if iterator is None:
            return
        if batch is None:
            self._sources.ended(iterator)
            return
        if self._padding.looks and self._sources.train_with(iterator):
            with self._plain_tensors():
                self._padding.fetched(iterator, batch)
        self._sources.fetched(iterator)

    # Backward

    def enter_backward(self, outputs, arguments=(), accumulates: bool = True) -> bool:
        """Returns whether this is a backward; compiling calls the engine too. `arguments` follow `outputs` in the call
        of _engine_run_backward() in torch/autograd/graph.py: the outputs' gradients, retain_graph, create_graph and the
        inputs. `accumulates`: into the parameters' gradients, which autograd.grad() does not."""
        if self._is_faking():
            return False
        self._heal()
        self._note_thread()
        if self._is_training_thread():
            self._evaluation_line = ""  # a model is trained in eval mode
            self._end_evaluation()
            self._backwards += 1
            self._rule.backward_begins(accumulates)
            self._closure_works = bool(self._steps_in_progress)
            if ("anomaly_detection" not in self._signs and self.torch.is_anomaly_enabled()
                    and self.torch.is_anomaly_check_nan_enabled()):
                self.note_sign("anomaly_detection", line_of_user())
            keeps = ""
            if accumulates and len(arguments) > 2:
                keeps = "create_graph" if arguments[2] else "retain_graph" if arguments[1] else ""
            if keeps and keeps not in self._signs:
                self.note_sign(keeps, line_of_user())
            if self._backwards == 1:
                self._repeated_backwards.called(outputs, arguments, accumulates, line_of_user)
            if self._backwards == 1 and len(outputs) == 1 and isinstance(outputs[0], self.torch.Tensor):
                self.probe.note_loss(outputs[0]._cdata)
        else:
            self._others_train()
        self.probe.begin_phase(_BACKWARD)
        return True

    def leave_backward(self, entered: bool) -> None:
        if not entered:
            return
        self.probe.end_phase()
        if self._is_training_thread():
            self._backwards -= 1
            if not self._backwards:
                self._repeated_backwards.ended()
            self._rule.backward_ends()

    # Optimizers

    def optimizer_built(self, optimizer) -> None:
        self._optimizer_names.setdefault(type(optimizer).__name__)
        self.describe(optimizer=", ".join(self._optimizer_names))

    def before_step(self, optimizer, *_) -> None:
        """A global pre-hook. A subclass that calls super().step() nests."""
        if self._last_optimizer() is not optimizer:
            self._optimizers.add(optimizer)
            self._last_optimizer = weakref.ref(optimizer)
        self._note_thread()
        if not self._is_training_thread() and not (self._backwards and _is_engines_thread()):
            self._tell_of_other_threads()
            return
        self._heal(1)
        self._end_evaluation()
        self._steps_in_progress.append(optimizer)
        if len(self._steps_in_progress) == 1:
            self._begin_optimizer(optimizer)

    def _tell_of_other_threads(self) -> None:
        if not self._has_told_of_threads:
            self._has_told_of_threads = True
            text = "steps of another thread than the first that trained are not recorded"
            tell(text)
            self.probe.mark(text)

    def after_step(self, optimizer, *_) -> None:
        """A global post-hook."""
        if not self._steps_in_progress or self._steps_in_progress[-1] is not optimizer:
            return
        self._steps_in_progress.pop()
        if not self._steps_in_progress:
            self._steps += 1
            self._restore_rates()
            self.probe.end_phase()
            with self._plain_tensors():
                self._unused_gradients.after_step(self._steps, self._names)
                if not self._backwards:
                    self._dropped_gradients.after_step(optimizer)
                self._piled_hooks.after_step(self._steps, self._names)
            self._repeated_backwards.stepped(id(optimizer))
            if self._steps == 1:
                self._note_optimizer(optimizer)
            if self._steps in _LOOK_AT_FUNCTIONS_AFTER and (kept := kept_output(self.torch)):
                self.note_sign("output_on_ctx", *kept)
            self._rule.optimizer_ends(id(optimizer))

    def _note_optimizer(self, optimizer) -> None:
        """How the first optimizer updates its parameters."""
        groups = optimizer.param_groups
        tensors = sum(len(group["params"]) for group in groups)
        if not any("foreach" in group for group in groups) and not type(optimizer).__module__.startswith("torch."):
            self.note_sign("optimizer_own", "", type(optimizer).__name__)
            return
        if any(group.get("foreach") or group.get("fused") for group in groups):
            self.note_sign("optimizer_at_once", "")
        if len(groups) >= _MANY_GROUPS and tensors < 2 * len(groups):
            self.note_sign("optimizer_groups", "", f"{len(groups)} parameter groups for {tensors} tensors")

    def enter_scaler(self, optimizer):
        """GradScaler.step begins. Where it finds infinite gradients, no hook of the optimizer is called."""
        return optimizer, self._steps, sys.exc_info()[1]

    def leave_scaler(self, entered) -> None:
        optimizer, steps, error = entered
        if sys.exc_info()[1] is error and steps == self._steps and self._is_training_thread():
            self._steps += 1
            self._dropped_gradients.skipped(optimizer)
            self._rule.optimizer_begins(id(optimizer))
            self._rule.optimizer_ends(id(optimizer))

    def _begin_optimizer(self, optimizer) -> None:
        self._closure_works = False
        self._rule.optimizer_begins(id(optimizer))
        self.knobs.offer_learning_rate()
        if self.learning_rate_factor != 1.0:
            for group in optimizer.param_groups:
                if "lr" in group:
                    self._rates.append((group, group["lr"]))
                    group["lr"] = group["lr"] * self.learning_rate_factor
        self.probe.begin_phase(_OPTIMIZER)

    def _restore_rates(self) -> None:
        if not self._rates:
            return
        for group, rate in self._rates:
            group["lr"] = rate
        self._rates.clear()

    def _heal(self, entering: int = 0) -> None:
        """Forgets optimizer steps that ended by an exception: their frames are gone, and no post-hook ran."""
        if not self._steps_in_progress or self._backwards or not self._is_training_thread():
            return
        frame = sys._getframe(1)
        open_steps = -entering
        while frame is not None:
            open_steps += frame.f_code is self._step_code
            frame = frame.f_back
        if open_steps <= 0:
            self._steps_in_progress.clear()
            self._restore_rates()
            self.probe.end_phase()

    # Steps

    def begin_step(self, number, late):
        self.probe.begin_step(number, late)

    def end_step(self, number, batch, length, micro_steps, late):
        self._tell_what_steps_are(number)
        if not late:  # else the next one's work has begun
            self._open_shape = 0, 0
        self.probe.end_step(number, batch, length, micro_steps, late)
        self._tell_steps_by("optimizer" if self._steps != self._steps_told else "backward")
        self._steps_told = self._steps
        if self._kept_tensors.is_due(number):
            self._look_for_kept_tensors(number, late)
        self.obey()

    def _look_for_kept_tensors(self, number, late) -> None:
        """Between steps in a span of its own: it takes long, and is no work of the script's. After a late end the next
        step has begun."""
        if not late:
            self.probe.cut_step()
            self.probe.begin_phase(_OWN_WORK)
        try:
            with self._plain_tensors():
                self._kept_tensors.look(number)
        finally:  # Ctrl+C may come meanwhile
            if not late:
                self.probe.end_phase()

    def note_step_begin(self):
        self.probe.note_step_begin()

    def note_step_end(self):
        self.probe.note_step_end()
        self.obey()

    def end_cell(self, *_) -> None:
        """A notebook's cell has ended."""
        self.probe.cut_step()

    @property
    def step(self) -> int:
        """The number of the open step, else of the last one; 0 before the first."""
        return self._rule.step

    def close_step(self) -> None:
        """The script says that its step ended."""
        self._attach()
        self._note_thread()
        self._end_evaluation()
        self._rule.close()
        self._tell_steps_by("script")

    def tell_steps(self) -> None:
        """The script will say where its steps end, and the first one begins here."""
        self._rule.tell()

    def begin_phase(self, name) -> None:
        """A phase that the script names begins."""
        self._end_evaluation()
        self.probe.begin_phase(encoded(text_of(name)))

    def end_phase(self) -> None:
        """The phase that the script named last ends."""
        self._end_evaluation()
        self.probe.end_phase()

    def mark(self, text) -> None:
        """The script puts a marker."""
        self.probe.mark(text_of(text))

    def _tell_what_steps_are(self, number: int) -> None:
        what, before = self._rule.steps_are, self._steps_are
        if what != before:
            self._steps_are = what
            self.describe(steps_are=what, **({"first_step": number} if before == "iterations" else {}))

    def _tell_steps_by(self, what: str) -> None:
        if what != self._steps_by and self._steps_by != "script":
            self._steps_by = what
            self.describe(steps_by=what)

    # The window

    def set_stream(self, stream) -> None:
        """Says once that the script uses several streams of MPS: waits and idle times take the device for one queue."""
        if self._has_said_streams or not getattr(stream, "stream_id", 0):
            return
        if getattr(getattr(stream, "device", None), "type", "") != "mps":  # torch.accelerator's may be another device's
            return
        self._has_said_streams = True
        self.probe.mark("this script queues work on several streams of the device: estimates of its idle time, and of what "
                        "a fix would gain, take it for one queue")

    def note_sign(self, what: str, line: str, text: str = "", share: float = 0.0) -> None:
        """Tells of the script's code what a finding may name: see core/messages.h. Of a key the first stays."""
        if what not in self._signs:
            self._signs[what] = "\t".join(" ".join(part.split()) for part in (what, line, text, f"{share:.4f}"))
            self.describe(signs=[*self._signs.values()])

    def describe(self, **facts) -> None:
        self.probe.describe(json.dumps(facts))

    def obey(self) -> None:
        """Does what the window asked for. Returns when the training is not paused."""
        if self._has_ended or not self._is_training_thread():
            return
        if sys.excepthook is _say_interrupted:  # the script has caught the interrupt, and trains on
            sys.excepthook = sys.__excepthook__
        if not self._take_commands(False):
            return
        self.probe.set_paused(True)
        try:
            while self._take_commands(True):
                time.sleep(_PAUSE_POLL_SECONDS)
        finally:  # Ctrl+C ends a pause too
            self.probe.set_paused(False)

    def take_knobs(self) -> None:
        """Gives the script's knobs their new values, in the middle of a step too. All else waits for its end."""
        if self._has_ended or not self._is_training_thread():
            return
        for name, value in self.probe.poll_commands():
            if name == "set_knob":
                self.knobs.turn(*value)
            else:
                self._postponed.append((name, value))

    def _take_commands(self, paused: bool) -> bool:
        commands, self._postponed = self._postponed + self.probe.poll_commands(), []
        stops = False
        for name, value in commands:
            if name in ("pause", "resume", "stop"):
                paused = name == "pause"
            if name == "stop":
                stops = True
            elif name == "empty_cache":
                self.probe.empty_cache()
            elif name == "level":
                self.probe.set_level(value)
            elif name == "try":
                sites, part, knob = value
                self.probe.try_block(sites, part)
                if knob:
                    self.knobs.begin_block(*knob, changed=part == TRY_CHANGED)
            elif name == "set_knob":
                self.knobs.turn(*value)
            elif name == "tell":
                tell(value)
        if stops and not self._has_stopped:  # last, as it raises
            self._has_stopped = True
            if sys.excepthook is sys.__excepthook__:  # else somebody wants to know how the program ends
                sys.excepthook = _say_interrupted
            _thread.interrupt_main()  # what Ctrl+C does, which trainers know how to end at
        return paused

    def finish(self, limit_ms: int = 1000) -> None:
        """The script ends. A window that does not read is given up at the limit."""
        self._has_ended = True
        probe, evaluates = self._unstopped or self.probe, self._evaluation_is_open
        try:
            self._end_evaluation()
            batch, length = self._open_shape
            in_optimizer = bool(self._steps_in_progress) and not self._closure_works
            if batch or in_optimizer:
                self.describe(open_batch=batch, open_length=length, open_in_optimizer=in_optimizer)
            self._rule.finish()
        finally:
            self.probe = Probe()
            probe.stop(limit_ms, evaluates)  # else the process crashes while its threads read a device that is destroyed

    def finish_at_once(self) -> bool:
        """The script ends by os._exit() or exec, which call nothing: sends the last moments, within a fraction of a
        second. Returns whether it did: not on a thread that does not train."""
        if not self._is_training_thread():
            return False
        try:
            self.finish(_EXIT_MS)
        except Exception:
            pass  # the script ends as it wants
        return True

    def trains_here(self) -> None:
        """The native part will connect on this thread, and take it for the one that trains."""
        self._note_thread()

    def stop_watching(self) -> None:
        """The training goes on without being watched."""
        self.knobs.end_try()
        probe = self.probe
        self.abandon()
        probe.stop()

    def abandon(self) -> None:
        """After a fork, in the child: nothing of what follows is the watched training."""
        self.knobs.end_try()
        self.probe = Probe()

    def give_up(self, error: Exception) -> None:
        """After an error in the hooks: the script trains on, and the window sees nothing more of it."""
        if type(self.probe) is Probe:
            return
        tell(f"stopped watching, the training goes on: {error!r}")
        self._note_broken(f"is not watched any more because of an error in Highwater ({error!r})")
        if self._is_training_thread():
            self.stop_watching()
        else:  # the thread that trains may be inside the probe: finish() stops it
            self.knobs.end_try()
            self._unstopped, self.probe = self.probe, Probe()

    def _note_thread(self) -> None:
        """The first thread that trains is the one whose steps are recorded."""
        if not self._has_thread:
            self._has_thread = self._trains.here = True

    def _is_training_thread(self) -> bool:
        return not self._has_thread or hasattr(self._trains, "here")


def text_of(value) -> str:
    """What the script gave as a text. Without Highwater nothing asks it for one, so it must not fail here."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _is_engines_thread() -> bool:
    """Whether this is a thread of autograd's engine, where an optimizer may step in a backward; the script started none
    of these."""
    thread = threading._active.get(_thread.get_ident())
    return thread is None or isinstance(thread, threading._DummyThread)


def make_is_faking(torch):
    """A function that tells whether a model is only compiled or traced. Sizes are no plain numbers then."""
    tracing_state, mode, fake = (torch._C._get_tracing_state, torch._C._get_dispatch_mode,
                                 torch._C._TorchDispatchModeKey.FAKE)

    def is_faking() -> bool:
        return tracing_state() is not None or mode(fake) is not None
    return is_faking
