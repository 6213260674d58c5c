"""What the source of a script tells, of classes as people write them."""
import inspect
import os
import sys
import tempfile
import unittest
from unittest import mock

import torch

from support import SOURCES  # noqa: F401  makes highwater importable
from highwater_mps import _probe
from highwater_mps._code import kept_output, sampler_code

HERE = os.path.basename(__file__)


def keepers(*classes):
    """kept_output() of these alone: a class of a test stays a subclass of Function."""
    class Root:
        @staticmethod
        def __subclasses__():
            return list(classes)

    return kept_output(type("Torch", (), {"autograd": type("Autograd", (), {"Function": Root})}))


class Saves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        y = x * scale
        ctx.save_for_backward(y)
        ctx.scale = scale
        ctx.shape = y.shape
        return y


class KeepsInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x.exp()


class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        """Keeps one of two."""
        y, z = x.exp(), x.log()
        ctx.y = y  # this
        return z, y


class KeepsInSetUp(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.inputs = inputs
        ctx.result = output  # this


class KeepsWithoutGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y, rows = x.max(dim=0)
        ctx.mark_non_differentiable(rows)
        ctx.rows = rows
        return y, rows


class KeepsOnTheWay(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        y = y + 1
        return y


class LetsGo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, gradient):
        y = ctx.y
        del ctx.y
        return gradient * y


class HasAnInnerFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = x.abs().max()
        ctx.scale = scale

        def scaled():
            return scale
        return x / scaled()


class Made(torch.autograd.Function):
    forward = staticmethod(eval("lambda ctx, x: x"))  # without a file


class Sampler(torch.utils.data.Sampler):
    def __iter__(self):
        yield from range(3)


def line_of(cls, text):
    lines, first = inspect.getsourcelines(cls)
    return f"{HERE}:{first + next(i for i, line in enumerate(lines) if text in line)}"


class Code(unittest.TestCase):
    def test_an_output_as_a_member_of_ctx_is_found(self):
        for cls in (Keeps, KeepsInSetUp):
            self.assertEqual(keepers(Saves, cls), (line_of(cls, "# this"), cls.__name__))

    def test_what_may_be_kept_is_not(self):
        self.assertIsNone(keepers(Saves, KeepsInput, KeepsWithoutGradient, KeepsOnTheWay, LetsGo, HasAnInnerFunction,
                                  Made))

    def test_libraries_and_files_that_changed_are_not_looked_at(self):
        text = ("import torch\nclass Keeps(torch.autograd.Function):\n"
                "    @staticmethod\n    def forward(ctx, x):\n        y = x.exp()\n        ctx.y = y\n        return y\n")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "keeps.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.utime(path, (1, 1))
            names = {}
            exec(compile(text, path, "exec"), names)
            sys.modules["keeps"] = names["Keeps"]
            names["Keeps"].__module__ = "keeps"
            self.assertEqual(keepers(names["Keeps"]), ("keeps.py:6", "Keeps"))
            with mock.patch("highwater_mps._code.library_folders", lambda: [os.path.join(folder, "")]):
                self.assertIsNone(keepers(names["Keeps"]))
            os.utime(path)  # as after an edit
            self.assertIsNone(keepers(names["Keeps"]))
            os.remove(path)
            self.assertIsNone(keepers(names["Keeps"]))

    def test_a_sampler_of_the_script_has_its_lines(self):
        first, last = sampler_code(Sampler())
        self.assertEqual(first, line_of(Sampler, "class Sampler"))
        self.assertEqual(f"{HERE}:{last}", line_of(Sampler, "yield from"))

    def test_others_have_none(self):
        for sampler in (torch.utils.data.SequentialSampler([1]), None, [3, 1]):
            self.assertIsNone(sampler_code(sampler))

    def test_folders_of_libraries_are_looked_for_once(self):
        # The line of a call is asked for in each of the first steps, by code that is to disturb none of them.
        _probe.library_folders()
        with mock.patch("highwater_mps._probe._look_for_library_folders", return_value=("/lib/",)) as look:
            for _ in range(3):
                self.assertEqual(_probe.line_of_user().split(":")[0], HERE)
            look.assert_not_called()
            with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "path", [*sys.path, folder]):
                self.assertEqual(_probe.library_folders(), ("/lib/",))
                _probe.library_folders()
                look.assert_called_once()
        self.assertIn(os.path.join(os.path.dirname(torch.__file__), ""), _probe.library_folders())


if __name__ == "__main__":
    sys.exit(unittest.main())
