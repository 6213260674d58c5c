#pragma once

#include <cstdint>

namespace highwater::probe {

/// The device whose waits, copies and CPU fallbacks are recorded. kCuda only serves to check the
/// probe.
enum class DeviceKind : std::uint8_t { kMps, kCuda };

}  // namespace highwater::probe
