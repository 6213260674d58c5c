"""make_fallback_ops.py: its reading of native_functions.yaml, compared with a macOS build."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[3] / "src" / "simmps" / "device"
sys.path.insert(0, str(SOURCE))
import make_fallback_ops as table  # noqa: E402


def ops_of(text):
    return table.fallback_ops(table.read_ops(text.splitlines()))


class Rule(unittest.TestCase):
    def test_table_of_2_13_is_that_of_its_macos_build(self):
        yaml = os.environ.get("HIGHWATER_NATIVE_FUNCTIONS_2_13")
        if not yaml:
            self.skipTest("no native_functions.yaml of PyTorch 2.13")
        built = (SOURCE / "fallback_ops_2_13.inc").read_text(encoding="utf-8")
        by_rule = subprocess.run(
            [sys.executable, SOURCE / "make_fallback_ops.py", yaml],
            check=True, capture_output=True, text=True).stdout
        self.assertEqual(by_rule.splitlines(), built.splitlines())

    def test_each_way_to_have_a_kernel(self):
        found = ops_of("""
- func: lacks(Tensor self) -> Tensor
  variants: function, method
  dispatch:
    CPU, CUDA: lacks  # comment
    SparseMPS: lacks_sparse
  autogen: lacks.out
- func: has(Tensor self) -> Tensor
  dispatch:
    CPU: has
    CUDA, MPS: has_gpu
- func: composite(Tensor self) -> Tensor
- func: by_default(Tensor self) -> Tensor
  dispatch:
    CPU: fast
    CompositeExplicitAutograd: slow
- func: structured(Tensor self) -> Tensor
  structured_delegate: structured.out
  dispatch:
    CPU: special
- func: structured.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: structured_out
""")
        self.assertEqual(set(found) - table.ONLY_IN_CPP, {"lacks", "structured.out"})

    def test_what_it_does_not_understand_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "line 3: not an entry of dispatch"):
            ops_of("- func: f(Tensor self) -> Tensor\n  dispatch:\n    - CPU\n")
        with tempfile.TemporaryDirectory() as folder:
            empty = pathlib.Path(folder) / "native_functions.yaml"
            empty.write_text("# nothing\n")
            with self.assertRaisesRegex(ValueError, "so it was not understood"):
                table.main(str(empty))


if __name__ == "__main__":
    unittest.main()
