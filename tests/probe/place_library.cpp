#include "place_library.h"

// Not inlined into each other, and never the last call: each has a frame of its own.

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
