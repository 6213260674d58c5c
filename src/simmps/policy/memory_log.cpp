#include "simmps/policy/memory_log.h"

#include <iomanip>
#include <iostream>
#include <sstream>

#include "core/units.h"

namespace highwater::simmps {

std::string formatSize(std::uint64_t bytes) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2);
  const auto scaled = [bytes](std::uint64_t unit) {
    return static_cast<double>(bytes) / static_cast<double>(unit);
  };
  if (bytes <= kKiB) {
    out << bytes << " bytes";
  } else if (bytes <= kMiB) {
    out << scaled(kKiB) << " KiB";
  } else if (bytes <= kGiB) {
    out << scaled(kMiB) << " MiB";
  } else {
    out << scaled(kGiB) << " GiB";
  }
  return out.str();
}

MemoryLog::MemoryLog(std::uint32_t verbosity, std::ostream* out)
    : verbosity_(verbosity), out_(out ? out : &std::cerr) {}

void MemoryLog::line(const std::string& text) const {
  // One write per line, since other threads print too.
  *out_ << text + "\n" << std::flush;
}

}  // namespace highwater::simmps
