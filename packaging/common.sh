# shellcheck shell=bash
# Sourced by packaging/setup, packaging/run and tests/run. Must work with macOS's bash 3.2.
# Messages go to stderr: stdout belongs to the program or to ctest.

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# packaging/with-torch sets HIGHWATER_TORCH: what belongs to that version is in a folder of its own.
build=$checkout/build${HIGHWATER_TORCH:+/torch-$HIGHWATER_TORCH}
torch_minimum=2.6
torch_reference=2.13.0
libtorch_record=$build/libtorch # holds the folder of the TorchConfig.cmake that the builds use
libtorch_version_record=$libtorch_record.version # holds its version: pip upgrades in place

say() { printf '%s: %s\n' "${me:-highwater}" "$*" >&2; }

# fail SENTENCE [LINE...]: prints them and exits with 1
fail() {
  say "$1"
  shift
  [ $# = 0 ] || printf '  %s\n' "$@" >&2
  exit 1
}

# at_least VERSION MINIMUM: compares the first two numbers
at_least() {
  local have_major=${1%%.*} need_major=${2%%.*} have need
  have=${1#*.} need=${2#*.}
  have=${have%%[!0-9]*} need=${need%%[!0-9]*}
  have_major=${have_major%%[!0-9]*}
  [ "${have_major:-0}" -gt "$need_major" ] ||
    { [ "${have_major:-0}" -eq "$need_major" ] && [ "${have:-0}" -ge "$need" ]; }
}

# of_version MINIMUM NAME...: prints the first of these programs that is of that major version or a newer one
of_version() {
  local minimum=$1 name version
  shift
  for name in "$@"; do
    version=$("$name" --version 2>/dev/null | sed -n 's/.*version \([0-9][0-9]*\).*/\1/p') || true
    if at_least "${version:-0}.0" "$minimum.0"; then
      echo "$name"
      return 0
    fi
  done
  return 1
}

# Prints how many files to compile at the same time: one that includes libtorch's headers takes 1.5 GB.
build_jobs() {
  local cores memory_mib by_memory
  if [ "$(uname -s)" = Darwin ]; then
    cores=$(sysctl -n hw.ncpu)
    memory_mib=$(($(sysctl -n hw.memsize) / 1048576))
  else
    cores=$(nproc)
    memory_mib=$(($(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo) / 1024))
  fi
  by_memory=$((memory_mib / 1500))
  [ "$by_memory" -ge 1 ] || by_memory=1
  echo "$((cores < by_memory ? cores : by_memory))"
}

# cached FOLDER NAME: prints one value of a CMake cache
cached() { [ ! -e "$1/CMakeCache.txt" ] || sed -n "s/^$2:[A-Z]*=//p" "$1/CMakeCache.txt"; }

# configure PRESET: only if something changed that ninja would not notice by itself
configure() {
  local preset=$1 folder=$build/$1 torch_dir torch_build werror
  torch_dir=$(cat "$libtorch_record") || fail "no libtorch is recorded; run packaging/setup"
  torch_build=$(cat "$libtorch_version_record" 2>/dev/null) || true
  case ${HIGHWATER_WERROR:-} in
    '') werror=$(cached "$folder" HIGHWATER_WERROR) ;;
    0 | OFF | off) werror=OFF ;;
    *) werror=ON ;;
  esac
  werror=${werror:-OFF}
  if [ -e "$folder/build.ninja" ] && [ "$(cached "$folder" Torch_DIR)" = "$torch_dir" ] &&
    [ "$(cached "$folder" HIGHWATER_TORCH_BUILD)" = "$torch_build" ] &&
    [ "$(cached "$folder" HIGHWATER_WERROR)" = "$werror" ] &&
    [ ! "$checkout/CMakePresets.json" -nt "$folder/CMakeCache.txt" ]; then
    return 0
  fi
  local fresh=
  # libtorch's CMake package caches the libraries of the first libtorch that it saw.
  if [ -e "$folder/CMakeCache.txt" ] && { [ "$(cached "$folder" Torch_DIR)" != "$torch_dir" ] ||
    [ "$(cached "$folder" HIGHWATER_TORCH_BUILD)" != "$torch_build" ]; }; then
    fresh=--fresh
  fi
  say "configuring ${folder#"$checkout/"}"
  mkdir -p "$folder"
  # CMake looks beside the PATH's folders first: an active conda environment would give its own zstd, Qt and SQLite.
  local without=
  if [ -n "${CONDA_PREFIX:-}" ] && [ -z "${HIGHWATER_SKIP_PACKAGES:-}" ]; then
    case ":${CMAKE_PREFIX_PATH:-}:" in
      *[:\;]"$CONDA_PREFIX"[:\;]*) ;; # asked for
      *) without=$CONDA_PREFIX ;;
    esac
  fi
  (cd "$checkout" && cmake --preset "$preset" $fresh "-DTorch_DIR=$torch_dir" \
    "-DHIGHWATER_TORCH_BUILD=$torch_build" "-DHIGHWATER_WERROR=$werror" "-DCMAKE_IGNORE_PREFIX_PATH=$without" \
    -B "$folder") \
    >"$folder/configure.log" 2>&1 || {
    tail -25 "$folder/configure.log" >&2
    fail "configuring ${folder#"$checkout/"} failed; the whole log is ${folder#"$checkout/"}/configure.log"
  }
}

# compile PRESET [TARGET...]: builds those of the targets that exist; without targets, everything
compile() {
  local preset=$1 folder=$build/$1 target targets='' jobs steps begin=$SECONDS
  shift
  for target in "$@"; do
    if ninja -C "$folder" -t query "$target" >/dev/null 2>&1; then targets="$targets $target"; fi
  done
  jobs=${HIGHWATER_JOBS:-$(build_jobs)}
  say "building ${folder#"$checkout/"}"
  if [ ! -e "$folder/.ninja_log" ]; then
    # shellcheck disable=SC2086
    steps=$(ninja -C "$folder" -t commands ${targets:-all} 2>/dev/null | wc -l) || true
    say "the first build has about $((steps)) steps, $jobs at the same time, and takes minutes;" \
      "later builds compile only what has changed"
  fi
  # Finished steps, all steps, seconds so far.
  # shellcheck disable=SC2086
  NINJA_STATUS='[%f/%t, %e s] ' cmake --build "$folder" --parallel "$jobs" \
    ${targets:+--target $targets} >&2 || fail "the build failed; see above"
  say "built ${folder#"$checkout/"} in $((SECONDS - begin)) s"
}

# choose_base [BASE]: sets base, the commit that a change is compared with, empty for everything, and base_reason. Status 1
# where this is no git checkout.
choose_base() {
  local head before
  head=$(git rev-parse HEAD 2>/dev/null) || return 1
  base=${1:-} base_reason="as asked for"
  [ -n "$base" ] || base=${HIGHWATER_CI_BASE:-}
  if [ -n "$base" ]; then
    git rev-parse -q --verify "$base^{commit}" >/dev/null || fail "there is no commit $base"
    return 0
  fi
  base_reason="where HEAD left origin/main"
  base=$(git merge-base HEAD origin/main 2>/dev/null) || true
  [ -z "$base" ] || [ "$base" = "$head" ] || return 0
  base_reason="the last commit that is a day older than HEAD"
  before=$(($(git show -s --format=%ct HEAD) - 86400))
  base=$(git rev-list -1 --first-parent "--min-age=$before" HEAD)
  [ -z "$base" ] || return 0
  base_reason="all files: no commit is a day older than HEAD"
}
