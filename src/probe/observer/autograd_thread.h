#pragma once

#include <cstdint>

namespace highwater::probe {

/// What autograd's engine started the calling thread for.
enum class AutogradThread : std::uint8_t {
  kNone,    ///< not the engine's: a thread of the program, also where backward runs on it
  kDevice,  ///< runs the backward nodes of one device
  kNested,  ///< runs a backward that was called inside backward, nested too deeply for one thread
};

/// Returns what autograd's engine started the calling thread for. Recognizes the engine's function
/// at the base of the stack, because PyTorch does not name these threads on macOS. Takes some
/// milliseconds.
[[nodiscard]] AutogradThread autogradThread();

}  // namespace highwater::probe
