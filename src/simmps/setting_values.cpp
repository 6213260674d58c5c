#include "simmps/setting_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <utility>

#include "simmps/heap_allocator.h"

namespace highwater::simmps {
namespace {

constexpr double kMostBytes = 1e18;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool isOpName(std::string_view name) {
  const bool spelled = std::all_of(name.begin(), name.end(), [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '_' || each == '.' || each == ':';
  });
  return spelled && !name.empty() && name.front() != ':' && name.front() != '.';
}

std::size_t editDistance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t(0));
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<Number> parseNumber(const char* text) {
  if (*text == '\0' || !((*text >= '0' && *text <= '9') || *text == '.' || *text == '-')) {
    return std::nullopt;
  }
  const std::string_view all = text;
  double value = 0;
  const auto [rest, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return Number{value, rest};
}

std::optional<std::uint64_t> parseBytes(const char* text) {
  const auto number = parseNumber(text);
  if (!number || number->value < 0) return std::nullopt;
  const std::string_view unit = trimmed(number->rest);
  double scale = 0;
  if (unit.empty()) scale = 1;
  if (unit == "KiB") scale = static_cast<double>(kKiB);
  if (unit == "MiB") scale = static_cast<double>(kMiB);
  if (unit == "GiB") scale = static_cast<double>(kGiB);
  const double bytes = number->value * scale;
  if (scale == 0 || bytes > kMostBytes) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<std::uint64_t> parseDurationNs(const char* text) {
  const auto number = parseNumber(text);
  if (!number || number->value < 0) return std::nullopt;
  const std::string_view unit = trimmed(number->rest);
  double scale = 0;
  if (unit.empty() || unit == "us") scale = 1e3;
  if (unit == "ms") scale = 1e6;
  const double ns = number->value * scale;
  if (scale == 0 || ns > 1e18) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(ns));
}

std::optional<std::uint64_t> parseCount(std::string_view text) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::vector<std::string>> parseOpNames(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view name = trimmed(text.substr(start, comma - start));
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

std::string_view nearestName(std::string_view name, const std::vector<std::string_view>& names) {
  return *std::min_element(names.begin(), names.end(), [&](auto a, auto b) {
    return editDistance(name, a) < editDistance(name, b);
  });
}

}  // namespace highwater::simmps
