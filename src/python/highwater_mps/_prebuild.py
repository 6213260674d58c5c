"""`python -m highwater_mps._prebuild FOLDER`: builds the probe for this interpreter's PyTorch into FOLDER/prebuilt.

FOLDER holds the probe's sources. For whoever makes a wheel; where a wheel has none, _library.py builds it.
"""
import os
import sys

from . import _library


def main() -> str:
    """Returns what went wrong, else ""."""
    if len(sys.argv) != 2:
        return "usage: python -m highwater_mps._prebuild FOLDER"
    native = os.path.abspath(sys.argv[1])
    torch, problem = _library.find_torch()
    if torch is None:
        return problem
    release = torch.version.split("+")[0]
    folder = os.path.join(native, "prebuilt", f"{release}-{torch.git_version[:10]}")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, _library.PREBUILT)
    problem = _library.build(torch, native, path)
    if problem:
        return problem
    for leftover in (f"{path}.log", f"{path}.sha256"):
        os.remove(leftover)
    os.chmod(path, 0o755)
    with open(os.path.join(folder, _library.BUILT_FOR), "w", encoding="utf-8") as file:
        file.write(f"{release} {torch.git_version}\n")
    return "" if _library.prebuilt(torch, native) else f"{torch.folder} does not know its commit, so no probe can be told to fit"


if __name__ == "__main__":
    sys.exit(main() or 0)
