#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace highwater::probe {

/// A place in a program's source. What is not known is empty or 0.
struct SourcePlace {
  std::string function;  ///< demangled, without arguments and template arguments
  std::string file;
  std::uint32_t line = 0;
};

/// Names code addresses of this process. Slow: symbol and line tables are read.
class Symbolizer {
 public:
  virtual ~Symbolizer() = default;
  /// The functions that a return address lies in, the innermost inlined one first.
  [[nodiscard]] virtual std::vector<SourcePlace> placesOf(const void* returnAddress) = 0;
};

/// Symbol tables everywhere; line numbers and inlined functions on Linux with elfutils, where the
/// program has debug information.
[[nodiscard]] std::unique_ptr<Symbolizer> makeSymbolizer();

/// What the dynamic linker knows of a return address, from memory alone: the function, on Linux of
/// those that the library exports, and the library as the file. Nothing where no library is there.
[[nodiscard]] std::vector<SourcePlace> placesByLinker(const void* returnAddress);

/// "at::Tensor::item" of "_ZNK2at6Tensor4itemIfEET_v"; the name itself where it is no C++ one.
[[nodiscard]] std::string functionName(const char* symbol);

}  // namespace highwater::probe
