"""The command `highwater` of a wheel: starts the program that lies in this package."""
import glob
import os
import shutil
import signal
import subprocess
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program", "bin", "highwater")
MACH_O = b"\xcf\xfa\xed\xfe"
# What codesign starts. The one in /usr/bin is a stub, which fails where the chosen Xcode has been deleted.
CODESIGN_ALLOCATE = "/usr/libexec/DeveloperTools/codesign_allocate"
# A dialog of macOS that nobody sees would be waited for.
TRIAL_LIMIT_S = 60


def main() -> int:
    """Becomes the program. Returns an exit code where that fails."""
    if not os.path.isfile(PROGRAM):
        return _fail(f"there is no {PROGRAM}: this is the Python package alone. Install Highwater's wheel")
    problem = make_startable(PROGRAM) if sys.platform == "darwin" else ""
    if problem:
        return _fail(problem)
    # The samples may use this Python's PyTorch, and advice names this command.
    os.environ.update(HIGHWATER_PYTHON=sys.executable, HIGHWATER_COMMAND=os.path.abspath(sys.argv[0]))
    # Python ignores them, and a program inherits that.
    for each in signal.SIGPIPE, signal.SIGXFSZ:
        signal.signal(each, signal.SIG_DFL)
    try:
        os.execv(PROGRAM, [PROGRAM, *sys.argv[1:]])
    except OSError as error:
        return _fail(f"{PROGRAM} cannot be started: {error.strerror}. Install Highwater again")


def make_startable(program, codesign="/usr/bin/codesign") -> str:
    """Tries the program once where it is new, and signs it anew if macOS kills it. Returns what is wrong, else "".

    macOS looks for malware in a program that it does not know, which takes seconds, and has killed programs of other
    wheels whose signatures were valid (astral-sh/uv#16003, #16726); a new file with a new signature was let through.
    """
    stamp = _stamp(program)
    if os.path.exists(stamp):
        return ""
    _tell("starting; the first start after an installation can take ten seconds")
    if _is_killed(program):
        _tell("macOS has killed the program; signing it again ...")
        problem = _sign_all(os.path.dirname(os.path.dirname(program)), program, codesign)
        if problem:
            return problem
        if _is_killed(program):
            return ("macOS kills the program, also when it is signed again. The reason is in Console, under Crash "
                    "Reports, \"highwater\"; please send it to us")
        stamp = _stamp(program)
    try:
        os.makedirs(os.path.dirname(stamp), exist_ok=True)
        open(stamp, "w").close()
    except OSError:
        pass  # it is tried again at the next start
    return ""


def _stamp(program):
    """The file that says that this very file has been started."""
    from ._library import cache_folder
    found = os.stat(program)
    return os.path.join(cache_folder(), f"started-{found.st_dev}-{found.st_ino}-{found.st_mtime_ns}")


def _is_killed(program):
    """Whether macOS kills the program, or a Python for the probe, which a training would load."""
    trials = [[program, "--version"]]
    for probe in glob.glob(os.path.join(os.path.dirname(program), "../lib/script/prebuilt/*/libhighwater_script.so"))[:1]:
        trials.append([sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", probe])
    for trial in trials:
        try:
            done = subprocess.run(trial, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=TRIAL_LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == -signal.SIGKILL:
            return True
    return False


def _sign_all(folder, program, codesign) -> str:
    """Signs what macOS loads in `folder`, each in a new file, since it remembers its verdict on the old one."""
    environment = dict(os.environ)
    if os.path.exists(CODESIGN_ALLOCATE):
        environment["CODESIGN_ALLOCATE"] = CODESIGN_ALLOCATE
    for place, _, names in os.walk(folder):
        for path in (os.path.join(place, name) for name in names):
            with open(path, "rb") as file:
                if file.read(4) != MACH_O and path != program:
                    continue
            made = f"{path}.{os.getpid()}"
            try:
                shutil.copy2(path, made)
                signed = subprocess.run([codesign, "--force", "--sign", "-", made], stdin=subprocess.DEVNULL,
                                        env=environment, capture_output=True, text=True, check=False)
                if signed.returncode:
                    return f"{codesign} cannot sign {path}: {signed.stderr.strip()}"
                os.replace(made, path)
            except OSError as error:
                return (f"macOS kills the program, and it cannot be signed again: {error.filename or path}: "
                        f"{error.strerror}. Install Highwater where you may write")
            finally:
                if os.path.exists(made):
                    os.remove(made)
    return ""


def _tell(text):
    print(f"highwater: {text}", file=sys.stderr, flush=True)


def _fail(text):
    _tell(text)
    return 1
