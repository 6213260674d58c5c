"""`python -m highwater_mps train.py args`: runs a script as `python train.py args` would, watched by a window."""
import os
import subprocess
import sys

from ._attach import SOCKET, TOKEN, environment

_USAGE = "usage: python3 -m highwater_mps [-m MODULE | SCRIPT] [ARGUMENT...]"


def problem_with(arguments) -> str:
    """Why the script cannot be run watched, else ""."""
    if not arguments:
        return f"no script given\n{_USAGE}"
    if arguments[0] == "-m":
        return "" if len(arguments) > 1 else f"-m needs the name of a module\n{_USAGE}"
    if arguments[0].startswith("-"):
        return f"{arguments[0]} is no script; options of Python go before -m highwater_mps\n{_USAGE}"
    if not os.path.exists(arguments[0]):
        return f"no such script: {arguments[0]}"
    ignoring = _flags_that_ignore()
    if ignoring:
        return (f"{' and '.join(ignoring)} make{'s' if len(ignoring) == 1 else ''} Python ignore what attaches "
                "Highwater; run the script without")
    if not os.environ.get(SOCKET):
        return f"no window waits for the script: {SOCKET} is not set. Run `highwater run --record FILE -- python3 {arguments[0]}`"
    return ""


def _flags_that_ignore() -> list[str]:
    flags = (("-I", sys.flags.isolated), ("-E", sys.flags.ignore_environment and not sys.flags.isolated),
             ("-S", sys.flags.no_site))
    return [name for name, is_set in flags if is_set]


def _interpreter_flags() -> list[str]:
    """What stood before `-m highwater_mps` on the command line."""
    given = sys.orig_argv[1:]
    for i, (flag, module) in enumerate(zip(given, given[1:])):
        if (flag, module) == ("-m", "highwater_mps"):
            return given[:i]
    return subprocess._args_from_interpreter_flags()  # of the form -mhighwater_mps, or behind other letters


def main() -> int:
    arguments = sys.argv[1:]
    problem = problem_with(arguments)
    if problem:
        print(f"highwater: {problem}", file=sys.stderr)
        return 2
    command = [sys.executable, *_interpreter_flags(), *arguments]
    os.execve(sys.executable, command, environment(os.environ[SOCKET], os.environ.get(TOKEN, "")))


if __name__ == "__main__":
    sys.exit(main())
