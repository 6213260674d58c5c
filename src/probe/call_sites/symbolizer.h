#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace highwater::probe {

/// A place in a program's source: function, file and line. Unknown members are empty or 0.
struct SourcePlace {
  std::string function;  ///< demangled, without arguments and template arguments
  std::string file;
  std::uint32_t line = 0;
};

/// Interface that finds the source places of code addresses of this process. Slow: an
/// implementation reads symbol and line tables.
class Symbolizer {
 public:
  virtual ~Symbolizer() = default;
  /// Tells whether a lookup that takes long is to be given up.
  using IsStopped = std::function<bool()>;
  /// Reads what placesOf() will be asked for, where several addresses together take less time. May
  /// take seconds; ends soon once `isStopped` returns true.
  virtual void prepare(std::span<const void* const> /*returnAddresses*/,
                       const IsStopped& /*isStopped*/) {}
  /// Returns the functions that a return address lies in, the innermost inlined one first. Empty
  /// where nothing is known about the address.
  [[nodiscard]] virtual std::vector<SourcePlace> placesOf(const void* returnAddress) = 0;
};

/// Makes a symbolizer that uses symbol tables; on Linux with elfutils and on macOS with Apple's
/// command line tools also debug information, for line numbers and inlined functions.
[[nodiscard]] std::unique_ptr<Symbolizer> makeSymbolizer();

/// Symbolizes an address with the dynamic linker alone, which reads memory only. Returns one place:
/// the function (on Linux only exported ones) and, as the file, the library. Returns none where no
/// library holds the address.
[[nodiscard]] std::vector<SourcePlace> placesByLinker(const void* returnAddress);

/// Demangles a symbol, without arguments and template arguments: "_ZNK2at6Tensor4itemIfEET_v"
/// becomes "at::Tensor::item". Returns a name that is not mangled unchanged.
[[nodiscard]] std::string functionName(const char* symbol);

/// Cuts a demangled name as functionName() does: "float at::Tensor::item<float>() const" becomes
/// "at::Tensor::item". A C function and an Objective-C method stay as they are.
[[nodiscard]] std::string shortFunctionName(std::string name);

}  // namespace highwater::probe
