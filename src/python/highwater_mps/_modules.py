"""Names of modules, and guesses from what a model is called with."""
from __future__ import annotations

import threading
import weakref

from ._attach import encoded


# After so many calls without a change of its parameters a model counts as frozen.
UNCHANGED_CALLS = 10


class Root:
    """A module that was called from outside of any module: a model, or a loss."""

    def __init__(self, module, model: str, label: bytes, names: dict[int, bytes]):
        self.ref = weakref.ref(module)
        self.model = model  # the class of the whole model
        self.label = label
        self.names = names
        self.parameters = parameter_count(module)
        self.calls: dict[bytes, tuple] = {}  # see call()
        self.batch_second: bool | None = None  # of its inputs, by their loader; None: not known
        self.optimizers = -1, 0  # their changes and groups of parameters, when it was looked whether one trains it
        self.trained = False  # by one of them
        self.last_trained = -1  # the step in which it was
        self.unchanged = -1, 0  # a parameter's version, and at how many calls in a row it was that
        self.channels: int | None = None  # see first_channels(); None: not known yet

    def call(self, phase: bytes) -> tuple:
        """What `Probe.module_calls` wants to know of a call in a phase: b"" for none."""
        call = self.calls.get(phase)
        if call is None:
            call = self.calls[phase] = (self.names, self.label, phase, self)
        return call

    def is_frozen(self, module) -> bool:
        """Whether a model that no optimizer trains has stayed the same for some calls. A teacher that follows a model
        that is trained changes, but one that is updated by way of `.data` is not told from a frozen one."""
        first = next(module.parameters(), None)
        # Tensors made in torch.inference_mode() have no version.
        if first is None or first.is_inference():
            return False
        version, calls = self.unchanged
        self.unchanged = first._version, calls + 1 if version == first._version else 0
        return self.unchanged[1] >= UNCHANGED_CALLS


class ModuleNames:
    """Finds each module's path below its root.

    A trainer may call only a part of the model, as Lightning does. Then the paths are those below the
    module that `train()`, `to()` or the like was called on.
    """

    def __init__(self):
        self._roots: dict[int, Root] = {}
        self._owners: list[weakref.ref] = []
        self._lock = threading.Lock()

    def add_owner(self, module) -> None:
        """The script called a method of `module` that affects all modules below it."""
        with self._lock:
            if any(owner() is module for owner in self._owners):
                return
            self._owners = [owner for owner in self._owners if owner() is not None]
            self._owners.append(weakref.ref(module))
            self._roots.clear()

    def root(self, module) -> Root:
        """The root that `module` is."""
        found = self._roots.get(id(module))
        if found is None or found.ref() is not module:
            with self._lock:
                found = self._roots[id(module)] = self._make_root(module)
        return found

    def shares_label(self, root: Root) -> bool:
        """Whether another root is called the same, as a teacher of the class of its student."""
        return any(each is not root and each.label == root.label for each in tuple(self._roots.values()))

    def called(self) -> list:
        """The modules that were called from outside of any other, since the last call that affects all of one."""
        return [module for module in (root.ref() for root in tuple(self._roots.values())) if module is not None]

    def add_missing(self, root: Root, module) -> bytes:
        """The name of a module that `root` did not have when it was first called."""
        top = root.ref()
        if top is not None:
            for child, path in _paths(unwrapped(top)).items():
                root.names.setdefault(child, path)
        return root.names.setdefault(id(module), encoded(type(module).__name__))

    def _make_root(self, module) -> Root:
        for owner in self._candidates():
            if owner is not module:
                names = _paths(unwrapped(owner))
                if id(module) in names:
                    return Root(module, type(unwrapped(owner)).__name__, names[id(module)], names)
        model = type(unwrapped(module)).__name__
        return Root(module, model, encoded(model), _paths(unwrapped(module)))

    def _candidates(self):
        known = [*reversed(self._owners), *(root.ref for root in self._roots.values())]
        return [owner for owner in (ref() for ref in known) if owner is not None]


def unwrapped(module):
    """The model inside of what torch.compile or a parallel wrapper made of it."""
    while type(module).__name__ in _WRAPPERS:
        inner = getattr(module, _WRAPPERS[type(module).__name__], None)
        if inner is None:
            break
        module = inner
    return module


_WRAPPERS = {"OptimizedModule": "_orig_mod", "DataParallel": "module", "DistributedDataParallel": "module",
             "FullyShardedDataParallel": "module"}


def _paths(top) -> dict[int, bytes]:
    return {id(module): encoded(path or type(module).__name__) for path, module in top.named_modules()}


def guess_batch(torch, root: Root, module, args, kwargs, loader_batch: int = 0) -> tuple[int, int]:
    """The batch size and the sequence length of a model's inputs; 0 where there is none.

    Integers of two dimensions are taken for tokens, floats of three for features of a sequence, with the channels
    before the length where the model begins with a Conv1d. The batch comes first, unless the module says otherwise,
    or only the second size is that of the loader's batch. `root` remembers which one it was: an epoch's last batch is
    smaller.
    """
    tensor = _main_input(torch, args, kwargs)
    if tensor is None:
        return 0, 0
    shape = tensor.shape
    is_sequence = len(shape) == (3 if tensor.is_floating_point() else 2)
    length = shape[1] if is_sequence else 0
    if len(shape) == 3 and is_sequence and length == first_channels(torch, root, module):
        return shape[0], shape[2]
    if not is_sequence:
        return shape[0], 0
    if loader_batch == shape[0]:
        if loader_batch != shape[1] or root.batch_second is None:
            root.batch_second = False
    elif loader_batch == shape[1] and (root.batch_second is None or shape[0] > loader_batch):
        root.batch_second = True
    if getattr(module, "batch_first", True) is False or root.batch_second:
        return shape[1], shape[0]
    return shape[0], length


def first_channels(torch, root: Root, module) -> int:
    """The channels that a model's first layer takes where that is a Conv1d, whose input is batch, channels and length
    (https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html); else 0."""
    if root.channels is None:
        layers = (each for each in module.modules() if next(each.parameters(recurse=False), None) is not None)
        first = next(layers, None)
        root.channels = first.in_channels if isinstance(first, torch.nn.Conv1d) else 0
    return root.channels


def _main_input(torch, args, kwargs):
    if kwargs:
        for name in ("input_ids", "inputs_embeds", "pixel_values", "input_values", "input_features"):
            if _is_batch(torch, kwargs.get(name)):
                return kwargs[name]
    for value in (*args, *kwargs.values()):
        found = _first_tensor(torch, value, 2)
        if found is not None:
            return found
    return None


def _first_tensor(torch, value, depth):
    if _is_batch(torch, value):
        return value
    if depth:
        values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        for each in values:
            found = _first_tensor(torch, each, depth - 1)
            if found is not None:
                return found
    return None


def _is_batch(torch, value) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() > 0


def parameter_count(module) -> int:
    """The number of scalars in the module's parameters; lazy ones count once they have a shape."""
    return sum(parameter.numel() for parameter in module.parameters()
               if type(parameter).__name__ != "UninitializedParameter")


def dtype_of(torch, module) -> str:
    """The dtype that the module computes in: "float32", or "float32, autocast bfloat16"."""
    own = next((each.dtype for each in module.parameters() if each.dtype.is_floating_point), None)
    name = str(own).removeprefix("torch.") if own is not None else ""
    kind = next((each.device.type for each in module.parameters()), "cpu")
    if torch.amp.autocast_mode.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        name += f", autocast {str(torch.get_autocast_dtype(kind)).removeprefix('torch.')}"
    return name
