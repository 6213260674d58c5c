#include "simmps/policy/setting_values.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/units.h"

namespace highwater::simmps {
namespace {

bool isOpName(std::string_view name) {
  const bool spelled = std::all_of(name.begin(), name.end(), [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '_' || each == '.' || each == ':';
  });
  return spelled && !name.empty() && name.front() != ':' && name.front() != '.';
}

}  // namespace

std::optional<std::uint64_t> parseDurationNs(std::string_view text) {
  const auto number = parseNumber(text);
  if (!number || number->value < 0) return std::nullopt;
  const std::string_view unit = withoutBlanks(number->rest);
  double scale = 0;
  if (unit.empty() || unit == "us") scale = 1e3;
  if (unit == "ms") scale = 1e6;
  const double ns = number->value * scale;
  if (scale == 0 || ns > 1e18) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(ns));
}

std::optional<std::vector<std::string>> parseOpNames(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view name = withoutBlanks(text.substr(start, comma - start));
    if (!isOpName(name)) return std::nullopt;
    const bool hasNamespace = name.find("::") != std::string_view::npos;
    names.push_back((hasNamespace ? "" : "aten::") + std::string(name));
    start = comma + 1;
  }
  return names;
}

std::string refusal(std::string_view variable, std::string_view value, std::string_view allowed) {
  std::ostringstream out;
  out << variable << ": \"" << value << "\" is not allowed; give " << allowed << ".";
  return out.str();
}

}  // namespace highwater::simmps
