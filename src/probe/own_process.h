#pragma once

#include <cstdint>

/// What the probe asks of the process that it is in, and that differs between the systems.
namespace highwater::probe {

/// How many libraries were unloaded so far: where it grew, an address may be another library's. On
/// macOS counted from the first call on.
[[nodiscard]] std::uint64_t unloadedLibraries();

/// The calling thread gives way to those that train; where they leave nothing, it still gets its
/// share.
void lowerThreadPriority();

}  // namespace highwater::probe
