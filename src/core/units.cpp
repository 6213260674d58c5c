#include "core/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace highwater {
namespace {

template <typename... Args>
std::string print(const char* format, Args... args) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, args...);
  return buffer.data();
}

struct Suffix {
  std::string_view text;
  std::uint64_t factor;
};
constexpr std::array<Suffix, 5> kSuffixes = {
    {{"", 1}, {"B", 1}, {"KiB", kKiB}, {"MiB", kMiB}, {"GiB", kGiB}}};

}  // namespace

std::string formatBytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= kGiB) return print("%.2f GiB", value / static_cast<double>(kGiB));
  if (bytes >= kMiB) return print("%.1f MiB", value / static_cast<double>(kMiB));
  if (bytes >= kKiB) return print("%.1f KiB", value / static_cast<double>(kKiB));
  return print("%llu B", static_cast<unsigned long long>(bytes));
}

std::string formatDuration(std::int64_t ns) {
  const double ms = static_cast<double>(ns) / kNsPerMs;
  if (std::abs(ms) >= 999.5) return print("%.2f s", ms / 1000);
  if (std::abs(ms) >= 99.95) return print("%.0f ms", ms);
  if (std::abs(ms) >= 9.995) return print("%.1f ms", ms);
  return print("%.2f ms", ms);
}

std::string formatRate(double perSecond) {
  if (std::isnan(perSecond)) return "\u2013";
  if (perSecond >= 999'500) return print("%.2fM", perSecond / 1e6);
  if (perSecond >= 999.5) return print("%.1fk", perSecond / 1e3);
  return print("%.0f", perSecond);
}

std::string formatRunTime(std::int64_t ns, int decimals) {
  decimals = std::clamp(decimals, 0, 9);
  const bool negative = ns < 0;
  std::int64_t unit = 1'000'000'000;
  std::int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) {
    unit /= 10;
    scale *= 10;
  }
  const std::int64_t ticks = (std::abs(ns) + unit / 2) / unit;
  const auto seconds = static_cast<long long>(ticks / scale);
  const long long hours = seconds / 3600;
  std::string text = negative ? "-" : "";
  text += hours > 0 ? print("%lld:%02lld:%02lld", hours, seconds / 60 % 60, seconds % 60)
                    : print("%lld:%02lld", seconds / 60, seconds % 60);
  if (decimals > 0) {
    const std::string fraction = std::to_string(ticks % scale);
    text += '.' + std::string(static_cast<std::size_t>(decimals) - fraction.size(), '0') + fraction;
  }
  return text;
}

Result<std::uint64_t> parseBytes(std::string_view text, std::string_view name) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  std::string_view suffix(end);
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  const auto wrong = [&](std::string_view why) {
    return usageError(std::string(name) + " is \"" + copy + "\", " + std::string(why) +
                      "; give bytes, or a number with KiB, MiB or GiB");
  };
  if (end == copy.c_str() || !std::isfinite(value)) return wrong("which is not a size");
  if (value < 0) return wrong("which is negative");
  for (const Suffix& known : kSuffixes) {
    if (suffix != known.text) continue;
    const double bytes = value * static_cast<double>(known.factor);
    if (bytes >= 9.2e18) return wrong("which is larger than any memory");
    return static_cast<std::uint64_t>(bytes);
  }
  return wrong("whose unit is not known");
}

}  // namespace highwater
