"""Small programs for macOS, each with a fault that would keep it from running on a Mac: packaging/macos/check_wheel.py
names that fault. Needs the zig of packaging/macos/cross-link, and lld.   usage: check_wheel_test.py SOURCE_DIR"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
TOOLS = pathlib.Path(os.environ.get("HIGHWATER_MAC_WORK") or SOURCE / "build/mac-link") / "tools"
CROSS_LINKED = TOOLS.parent / "build/bin/highwater-worker"
MACOS = SOURCE / "packaging/macos"
LLD = "/usr/bin/ld64.lld-19"
sys.path[:0] = [str(MACOS), str(MACOS / "cross")]
import check_wheel  # noqa: E402
from macho import MachO, stub  # noqa: E402
from stub_libraries import tbd  # noqa: E402

PROGRAM = check_wheel.PROGRAM + "bin/highwater"
QT = check_wheel.PROGRAM + "Qt/lib/libpart.dylib"
LIBCXX = {"___cxa_throw", "___cxa_allocate_exception", "___cxa_free_exception", "___cxa_begin_catch",
          "___cxa_end_catch", "___gxx_personality_v0", "__ZTISt9exception", "__ZTISt13runtime_error",
          "__ZNSt13runtime_errorC1EPKc", "__ZNSt13runtime_errorD1Ev"}
THROWS = """
#include <stdexcept>
extern "C" int part();
int main(int count, char**) {
  try {
    if (count > 9) throw std::runtime_error("many");
  } catch (const std::exception&) { return 1; }
  return part();
}"""
# It is in libc++ since LLVM 18, macOS 15.
NEWER = """
extern "C" void* __cxa_init_primary_exception(void*, void*, void (*)(void*));
extern "C" int part();
int main() { return __cxa_init_primary_exception(nullptr, nullptr, nullptr) ? 1 : part(); }"""


class NoTorch:
    @staticmethod
    def library(version, name):
        del version, name


class FakeWheel:
    def __init__(self, **binaries):
        self.files = binaries
        self.binaries = {name: MachO(data) for name, data in binaries.items()}
        self.modes = {name: 0o755 for name in binaries}


class CheckWheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        zig = next(TOOLS.glob("lib/python3.*/site-packages/ziglang/zig"))
        cls.compiler = [zig, "c++", "-target", "aarch64-macos.14.0"]
        system = zig.parent / "lib/libc/darwin/libSystem.tbd"
        (cls.folder / "libSystem.tbd").write_bytes(system.read_bytes())
        tbd(cls.folder / "libc++.tbd", "/usr/lib/libc++.1.dylib", LIBCXX | {"___cxa_init_primary_exception"})
        cls.stubs = dict([stub(system.read_text()), ("/usr/lib/libc++.1.dylib", LIBCXX)])
        cls.part = cls.linked("part", "extern \"C\" int part() { return 0; }", "-dynamiclib",
                              "-install_name", "@rpath/libpart.dylib")
        cls.good = cls.linked("good", THROWS, *cls.with_part())

    @classmethod
    def with_part(cls, rpath="@loader_path/../Qt/lib"):
        return str(cls.folder / "part"), f"-Wl,-rpath,{rpath}"

    @classmethod
    def run_tool(cls, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cls.folder,
                              env={"ZIG_GLOBAL_CACHE_DIR": str(TOOLS.parent / "zig-cache"), "PATH": "/usr/bin:/bin",
                                   "ZIG_LOCAL_CACHE_DIR": str(TOOLS.parent / "zig-cache")})
        if done.returncode:
            raise AssertionError(f"{command}: {done.stderr}")

    @classmethod
    def compiled(cls, name, text):
        (cls.folder / f"{name}.cpp").write_text(text)
        cls.run_tool(*cls.compiler, "-O1", "-fno-sanitize=undefined", "-c", f"{name}.cpp", "-o", f"{name}.o")
        return f"{name}.o"

    @classmethod
    def linked(cls, name, text, *options, macos="14.0"):
        cls.run_tool(sys.executable, MACOS / "cross/link.py", LLD, macos, cls.compiled(name, text), "-o", name, "-L.",
                     *options)
        return (cls.folder / name).read_bytes()

    def faults(self, program, **others):
        wheel = FakeWheel(**{PROGRAM: program, QT: self.part, **others})
        found = [*check_wheel.check_header(PROGRAM, wheel.binaries[PROGRAM]),
                 *check_wheel.check_symbols(PROGRAM, wheel, None, self.stubs)]
        self.assertLessEqual({file for file, _ in found}, {PROGRAM})
        return [fault for _, fault in found]

    def expect(self, program, *words):
        found = self.faults(program)
        self.assertEqual(len(found), len(words), found)
        for fault, word in zip(found, words):
            self.assertIn(word, fault)

    def test_a_right_program_has_no_fault(self):
        self.assertEqual(self.faults(self.good), [])

    def test_a_second_cxx_library(self):
        """zig's own linker puts one into what it makes."""
        (self.folder / "libpart.dylib").write_bytes(self.part)
        self.run_tool(*self.compiler, self.compiled("static", THROWS), "libpart.dylib", "-o", "static",
                      "-Wl,-rpath,@loader_path/../Qt/lib")
        self.expect((self.folder / "static").read_bytes(), "a second C++ run time")

    def test_a_folder_of_the_builder_as_rpath(self):
        self.expect(self.linked("rpath", THROWS, *self.with_part("/work/qt/lib")),
                    "its rpath /work/qt/lib is not relative",
                    "it finds @rpath/libpart.dylib by none of its rpaths")

    def test_a_symbol_newer_than_macos_14(self):
        self.expect(self.linked("newer", NEWER, *self.with_part()), "has no ___cxa_init_primary_exception")

    def test_a_symbol_that_qt_does_not_have(self):
        self.expect(self.linked("alien", THROWS.replace("part()", "apart()"), *self.with_other_part()), "has no _apart")

    def with_other_part(self):
        self.linked("apart", "extern \"C\" int apart() { return 0; }", "-dynamiclib",
                    "-install_name", "@rpath/libpart.dylib")
        return str(self.folder / "apart"), "-Wl,-rpath,@loader_path/../Qt/lib"

    def test_a_library_named_twice(self):
        """As zig's linker writes it. dyld refuses that."""
        twice = self.good.replace(b"/usr/lib/libSystem.B.dylib\0", b"/usr/lib/libc++.1.dylib".ljust(27, b"\0"))
        found = "\n".join(self.faults(twice))
        self.assertIn("it names /usr/lib/libc++.1.dylib 2 times", found)

    def test_a_framework_that_apple_takes_away(self):
        self.linked("agl", "extern \"C\" int apart() { return 0; }", "-dynamiclib",
                    "-install_name", "/System/Library/Frameworks/AGL.framework/Versions/A/AGL")
        program = self.linked("old", THROWS.replace("part()", "apart()"), str(self.folder / "agl"))
        self.assertIn("it needs AGL, which left Apple's SDK with macOS 26", self.faults(program))

    def test_a_changed_page(self):
        changed = bytearray(self.good)
        changed[self.good.index(b"many")] ^= 1
        self.expect(bytes(changed), "hash of 1 of")

    def test_no_signature(self):
        self.assertIn("no signature", "".join(self.faults(
            self.linked("unsigned", THROWS, *self.with_part(), "-Wl,-no_adhoc_codesign"))))

    def test_a_newer_macos(self):
        self.expect(self.linked("macos15", THROWS, *self.with_part(), macos="15.0"), "it asks for macOS 15.0")

    def test_a_missing_library(self):
        wheel = FakeWheel(**{PROGRAM: self.good})
        found = list(check_wheel.check_symbols(PROGRAM, wheel, None, self.stubs))
        self.assertIn("by none of its rpaths", found[0][1])

    def test_what_a_file_names(self):
        wheel = FakeWheel(**{PROGRAM: self.good})
        wheel.files["highwater_mps/x.py"] = b"FOLDER = '/work/main/x'"
        found = dict(check_wheel.check_contents(wheel, ["/work/"]))
        self.assertIn("a folder of the machine that built it: FOLDER = '/work/main/x'", found["highwater_mps/x.py"])
        named = self.linked("named", THROWS.replace("many", "/home/me/many"), *self.with_part())
        found.update(check_wheel.check_contents(FakeWheel(**{PROGRAM: named}), []))
        self.assertIn("a folder of the machine that built it: /home/me/many", found[PROGRAM])
        self.assertIn("missing", found[check_wheel.PROGRAM + "bin/qt.conf"])

    def test_what_a_probe_exports(self):
        name = check_wheel.PROGRAM + "lib/script/prebuilt/2.13.0-0123456789/libhighwater_script.so"
        made = self.linked("probe", "extern \"C\" int hw_start() { return 0; } int other() { return 1; }",
                           "-dynamiclib", "-install_name", "@rpath/libhighwater_script.so")
        wheel = FakeWheel(**{name: made})
        wheel.files[f"{name.rpartition('/')[0]}/built_for.txt"] = b"2.13.0 fedcba9876543210fedcba9876543210fedcba98\n"
        found = [fault for _, fault in check_wheel.check_probe(name, wheel, None)]
        self.assertIn("it exports __Z5otherv", found[0])
        self.assertIn("and its folder 2.13.0-0123456789", found[1])

    @unittest.skipUnless(CROSS_LINKED.exists(), f"there is no {CROSS_LINKED}")
    def test_the_worker_as_zig_links_it(self):
        name = f"{check_wheel.PROGRAM}bin/highwater-worker-2.13.0"
        wheel = FakeWheel(**{name: CROSS_LINKED.read_bytes()})
        found = "\n".join(fault for _, fault in [*check_wheel.check_header(name, wheel.binaries[name]),
                                                 *check_wheel.check_symbols(name, wheel, NoTorch(), self.stubs)])
        for fault in ("it names @rpath/libc10.dylib", "a second C++ run time", "is not relative to @loader_path"):
            self.assertIn(fault, found)


if __name__ == "__main__":
    if not TOOLS.is_dir():
        sys.exit("there is no zig in build/mac-link/tools: run packaging/macos/cross-link first")
    unittest.main(argv=sys.argv[:1])
