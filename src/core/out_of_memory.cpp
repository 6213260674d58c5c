#include "core/out_of_memory.h"

#include <array>
#include <cmath>
#include <utility>

namespace highwater {
namespace {

// A plausible size, so that a number of a hostile text fits a marker.
constexpr double kMostBytes = 1125899906842624.0;  // 1 PiB

/// The number at the start of `text`, digits with a point, and what follows it.
std::optional<std::pair<double, std::string_view>> leadingNumber(std::string_view text) {
  double value = 0, scale = 1;
  bool fraction = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !fraction && i > 0) {
      fraction = true;
    } else if (c >= '0' && c <= '9') {
      value = value * 10 + (c - '0');
      if (fraction) scale *= 10;
    } else {
      break;
    }
  }
  if (i == 0) return std::nullopt;
  return std::pair(value / scale, text.substr(i));
}

/// The size after the words `label` in `text`: "1.10 GiB".
std::optional<std::uint64_t> sizeAfter(std::string_view text, std::string_view label) {
  const auto at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  const auto number = leadingNumber(text.substr(at + label.size()));
  if (!number) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, double>, 9> kUnits = {{{" bytes", 1},
                                                                          {" B", 1},
                                                                          {" KB", 1024},
                                                                          {" KiB", 1024},
                                                                          {" MB", 1048576},
                                                                          {" MiB", 1048576},
                                                                          {" GB", 1073741824},
                                                                          {" GiB", 1073741824},
                                                                          {" TiB", 1099511627776}}};
  for (const auto& [unit, bytes] : kUnits) {
    if (!number->second.starts_with(unit)) continue;
    const double size = std::round(number->first * bytes);
    if (size > kMostBytes) return std::nullopt;
    return static_cast<std::uint64_t>(size);
  }
  return std::nullopt;
}

}  // namespace

bool isRefusedAllocation(std::string_view text) {
  for (const std::string_view words : {"MPS backend out of memory", "CUDA out of memory"}) {
    if (text.find(words) != std::string_view::npos) return true;
  }
  return false;
}

std::optional<std::uint64_t> refusedBufferBytes(std::string_view text) {
  return sizeAfter(text, "Invalid buffer size: ");
}

OutOfMemoryNumbers outOfMemoryNumbers(std::string_view text) {
  return {sizeAfter(text, "Tried to allocate "), sizeAfter(text, "MPS allocated: "),
          sizeAfter(text, "other allocations: "), sizeAfter(text, "max allowed: ")};
}

}  // namespace highwater
