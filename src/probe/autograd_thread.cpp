#include "probe/autograd_thread.h"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <string>

#include "probe/symbolizer.h"

namespace highwater::probe {

namespace {

constexpr int kLookedAt = 8;

}  // namespace

AutogradThread autogradThread() {
  std::array<void*, 256> stack;
  const int count = ::backtrace(stack.data(), static_cast<int>(stack.size()));
  // The engine's function is what its thread was started with: only the system's frames are
  // further out. To look one up takes up to a millisecond in a library as large as PyTorch's.
  for (int i = count - 1; i >= std::max(0, count - kLookedAt); --i) {
    for (const SourcePlace& place : placesByLinker(stack[static_cast<std::size_t>(i)])) {
      if (place.function == "torch::autograd::Engine::thread_init") return AutogradThread::kDevice;
      if (place.function == "torch::autograd::Engine::reentrant_thread_init") {
        return AutogradThread::kNested;
      }
    }
  }
  return AutogradThread::kNone;
}

}  // namespace highwater::probe
