#pragma once

#include <cstdint>
#include <string>

/// What the probe asks of the process that it is in, and that differs between the systems.
namespace highwater::probe {

/// How many libraries were unloaded so far: where it grew, an address may be another library's. On
/// macOS counted from the first call on.
[[nodiscard]] std::uint64_t unloadedLibraries();

/// A library, or the program itself.
struct LoadedLibrary {
  const void* base = nullptr;  ///< where it begins; null: there is none
  std::string file;
};
/// The one that holds an address. Symbols are not looked at: for a large library that takes most of
/// a millisecond.
[[nodiscard]] LoadedLibrary libraryAt(const void* address);

/// The calling thread gives way to those that train; where they leave nothing, it still gets its
/// share.
void lowerThreadPriority();

}  // namespace highwater::probe
