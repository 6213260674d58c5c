#!/usr/bin/env bash
# packaging/release with stand-ins for what makes and checks the wheels: what it refuses, and that it takes each wheel
# from where it was put. usage: release_test.sh SOURCE_DIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/asserts.sh" "$1"
unset HIGHWATER_TORCH
cp "$source_dir"/{CMakeLists.txt,CHANGELOG.md} .
mkdir -p build src/python tests/packaging
cp "$source_dir/src/python/pyproject.toml" src/python/
version=$(sed -n 's/^version = "\(.*\)"/\1/p' src/python/pyproject.toml)
for system in linux macos; do
  cat >packaging/$system/wheel <<S
#!/usr/bin/env bash
[ ! -e build/no-$system ] || exit 4
mkdir -p "build/a folder"
echo $system >"build/a folder/$system.whl"
echo "\$PWD/build/a folder/$system.whl"
S
done
cat >tests/packaging/wheel_test.sh <<'S'
#!/usr/bin/env bash
[ "$1" = "$PWD/build/a folder/linux.whl" ] && [ ! -e build/bad ]
S
chmod +x tests/packaging/wheel_test.sh
printf '/%s\n' build said tools >.gitignore
git init -q -b main .
git config user.email test@example.org
git config user.name Test
commit() { git add -A . && git commit -qm "a change"; }
commit

attempt packaging/release
expect_status 0
made=build/dist/$version
[ "$(cat "$made/linux.whl" "$made/macos.whl")" = $'linux\nmacos' ] || broken "the wheels are not there"
(cd "$made" && sha256sum --quiet -c SHA256SUMS) || broken "SHA256SUMS is wrong"
[ -s "$made/notes.md" ] || broken "there are no notes"

touch build/bad
attempt packaging/release
expect_status 1
expect_said "the wheel for Linux is not as it should be"
rm build/bad
for system in linux macos; do
  touch build/no-$system
  attempt packaging/release
  expect_status 4
  rm build/no-$system
done

sed -i 's/^version = .*/version = "0.0.7"/' src/python/pyproject.toml
attempt packaging/release
expect_status 1
expect_said "the checkout has changes"
commit
attempt packaging/release
expect_status 1
expect_said "src/python/pyproject.toml names another version than CMakeLists.txt, $version"
