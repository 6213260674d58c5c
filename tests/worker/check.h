#pragma once

#include <cstdio>

/// Checks of the worker's parts that include libtorch: each prints what does not hold; failures()
/// counts it.
namespace highwater::worker::test {

inline int& failures() {
  static int count = 0;
  return count;
}

inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  ++failures();
}

void checkAtomicAdamw();
void checkDryCheck();
void checkTraining();

}  // namespace highwater::worker::test
