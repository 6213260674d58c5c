#!/usr/bin/env bash
# The files that only run on Macs or in CI, as far as a linter at hand understands them. usage: lint_test.sh SOURCE_DIR
# Says which linters are missing.
set -euo pipefail
cd "$1"
status=0
complain() {
  echo "$*"
  status=1
}
scripts=(packaging/setup packaging/release packaging/linux/wheel tests/packaging/wheel_test.sh packaging/run
  packaging/format packaging/tidy packaging/with-torch packaging/macos/cross-link packaging/macos/wheel
  tests/run .ci/run)

for script in "${scripts[@]}" packaging/common.sh packaging/libtorch.sh packaging/macos/cross/common.sh; do
  bash -n "$script" || complain "$script: bash refuses it"
done
if command -v shellcheck >/dev/null; then
  shellcheck -x -S warning "${scripts[@]}" || complain "shellcheck: see above"
else
  echo "no shellcheck here"
fi
python3 - packaging/macos/Info.plist.in <<'P' || complain "Info.plist.in is wrong: see above"
import plistlib, sys
with open(sys.argv[1], "rb") as file:
    plist = plistlib.load(file)
document, = plist["CFBundleDocumentTypes"]
exported, = plist["UTExportedTypeDeclarations"]
assert document["LSItemContentTypes"] == [exported["UTTypeIdentifier"]]
assert exported["UTTypeTagSpecification"]["public.filename-extension"] == ["highwater"]
assert not [key for key in plist if "Icon" in key], "an icon lies in a bundle, and there is none"
P
if python3 -c 'import yaml' 2>/dev/null; then
  python3 - <<'P' || complain "a workflow: see above"
import yaml
workflow = yaml.safe_load(open(".github/workflows/macos.yml"))
job, = workflow["jobs"].values()
assert job["strategy"]["matrix"]["os"] == ["macos-15", "macos-26"]  # macos-14 has no runners any more
steps = [step for step in job["steps"] if "run" in step]
runs = [step["run"] for step in steps]
assert "packaging/run --version" in runs and any(run.startswith("tests/run ") for run in runs), runs
# What needs MPS may fail, since the runners' cannot allocate; all else may not.
for step in steps:
    needs_mps = "mps" in step["run"] or "-R '^own_device$'" in step["run"] or "--selftest" in step["run"]
    assert bool(step.get("continue-on-error")) == needs_mps, step
    for line in step["run"].splitlines():
        assert " record " not in line or "--device" in line, line
assert any("record --device cpu" in run and "report first" in run and "export first" in run for run in runs), runs
assert any("--selftest --json selftest.json" in run for run in runs), runs
upload = next(step for step in job["steps"] if step.get("uses", "").startswith("actions/upload-artifact"))
assert "selftest.json" in upload["with"]["path"]

workflow = yaml.safe_load(open(".github/workflows/release.yml"))
wheels, mac = (workflow["jobs"][name] for name in ("wheels", "mac"))
assert workflow[True]["push"]["tags"] == ["v*"]
assert "packaging/release" in [step.get("run") for step in wheels["steps"]]
assert "macos-14" not in mac["strategy"]["matrix"]["os"] and mac["needs"] == "wheels"
assert "codesign --verify" in "\n".join(step.get("run", "") for step in mac["steps"])

workflow = yaml.safe_load(open(".github/workflows/linux.yml"))
first, weekly = (workflow["jobs"][name] for name in ("first-run", "one-file-a-unit"))
assert [row["image"] for row in first["strategy"]["matrix"]["include"]] == ["debian:12", "ubuntu:24.04"]
assert [step["run"] for step in first["steps"] if "run" in step] == ["packaging/run", "tests/run"]
assert first["timeout-minutes"] and weekly["timeout-minutes"]
assert "schedule" in workflow[True]  # YAML 1.1 reads the key "on" as true
weekly_runs = "\n".join(step.get("run", "") for step in weekly["steps"])
for command in ("packaging/setup --lint", "HIGHWATER_UNITY=OFF", "highwater_benches", "packaging/tidy --includes"):
    assert command in weekly_runs, weekly_runs
P
else
  echo "no PyYAML here"
fi
# What runs inside other people's programs is under MIT, and made of nothing else.
for folder in core wire process probe python simmps; do
  grep -q '^MIT License' "src/$folder/LICENSE" || complain "src/$folder/LICENSE is not MIT's"
  ! grep -rnE '#include "' "src/$folder" --include='*.h' --include='*.cpp' |
    grep -vE '#include "(core|wire|process|probe|python|simmps)/' || complain "src/$folder includes other folders: see above"
done
grep -q '^license = .*"MIT"' src/python/pyproject.toml || complain "pyproject.toml: the package is under MIT"
! grep -nE '@[A-Z]+@' README.md CONTRIBUTING.md docs/*.md || complain "a placeholder: see above"
exit $status
