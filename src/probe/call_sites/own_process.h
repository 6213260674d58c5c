#pragma once

#include <cstdint>
#include <string>

/// Facts about the process that the probe runs in; the implementation differs between systems.
namespace highwater::probe {

/// Returns how many libraries this process has unloaded so far (macOS: since the first call). Once
/// the number has grown, an address seen before may belong to another library.
[[nodiscard]] std::uint64_t unloadedLibraries();

/// A library loaded in this process, or the program itself.
struct LoadedLibrary {
  const void* base = nullptr;  ///< null: no library was found
  std::string file;
};
/// Returns the library that holds `address`; a null base where none does. Reads no symbols: that
/// takes most of a millisecond in a large library.
[[nodiscard]] LoadedLibrary libraryAt(const void* address);

/// Lowers the calling thread's priority below the training threads'; it still gets some time on a
/// machine whose cores are all busy.
void lowerThreadPriority();

}  // namespace highwater::probe
