#include "probe/observer/autograd_thread.h"

#include <execinfo.h>

#include <algorithm>
#include <array>
#include <string>

#include "probe/call_sites/symbolizer.h"

namespace highwater::probe {

namespace {

constexpr int kLookedAt = 8;

}  // namespace

AutogradThread autogradThread() {
  std::array<void*, 256> stack;
  const int count = ::backtrace(stack.data(), static_cast<int>(stack.size()));
  // The engine starts its threads with this function, so only the system's frames are further out.
  // Each lookup takes up to a millisecond in a library as large as PyTorch's.
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
