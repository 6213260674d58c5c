#include "place_library.h"

// Neither inlined nor tail calls, so that each has its own frame.

namespace {

[[gnu::noinline]] std::uint32_t goDown(int depth, std::uint32_t (*there)(void*), void* context) {
  const std::uint32_t result = depth > 1 ? goDown(depth - 1, there, context) : there(context);
  asm volatile("" ::: "memory");
  return result;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] std::uint32_t PLACE_LIBRARY_VISIT(
    int depth, std::uint32_t (*there)(void*), void* context) {
  const std::uint32_t result = depth > 0 ? goDown(depth, there, context) : there(context);
  asm volatile("" ::: "memory");
  return result;
}
