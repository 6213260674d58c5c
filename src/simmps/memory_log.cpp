#include "simmps/memory_log.h"

#include <iomanip>
#include <iostream>
#include <sstream>

namespace highwater::simmps {

std::string formatSize(std::uint64_t bytes) {
  constexpr std::uint64_t kilo = 1024, mega = 1024 * kilo, giga = 1024 * mega;
  std::ostringstream out;
  out << std::fixed << std::setprecision(2);
  const auto scaled = [bytes](std::uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  if (bytes <= kilo) {
    out << bytes << " bytes";
  } else if (bytes <= mega) {
    out << scaled(kilo) << " KiB";
  } else if (bytes <= giga) {
    out << scaled(mega) << " MiB";
  } else {
    out << scaled(giga) << " GiB";
  }
  return out.str();
}

MemoryLog::MemoryLog(std::uint32_t verbosity, std::ostream* out)
    : verbosity_(verbosity), out_(out ? out : &std::cerr) {}

void MemoryLog::line(const std::string& text) const {
  // One write a line: other threads print too.
  *out_ << text + "\n" << std::flush;
}

}  // namespace highwater::simmps
