#include "probe/autograd_thread.h"

#include <execinfo.h>

#include <array>
#include <string>

#include "probe/symbolizer.h"

namespace highwater::probe {

AutogradThread autogradThread() {
  std::array<void*, 256> stack;
  const int count = ::backtrace(stack.data(), static_cast<int>(stack.size()));
  for (int i = count - 1; i >= 0; --i) {
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
