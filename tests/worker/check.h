#pragma once

#include <cstdio>

/// Checks of the plain test programs: each prints what does not hold; main() returns failures().
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

}  // namespace highwater::worker::test
