#pragma once

#include <cstdint>

namespace highwater::probe {

/// What autograd's engine started a thread for.
enum class AutogradThread : std::uint8_t {
  kNone,    ///< it did not: the program's own thread, also where backward runs on it
  kDevice,  ///< the nodes of backward of one device
  kNested,  ///< backward that a node of backward called, nested too deeply for one thread
};

/// That of the calling thread, by the engine's function that its stack begins in; PyTorch names
/// such threads too, but not on macOS. Takes some milliseconds.
[[nodiscard]] AutogradThread autogradThread();

}  // namespace highwater::probe
