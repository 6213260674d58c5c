#include "core/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <locale>
#include <sstream>

#include "core/option_values.h"

namespace highwater {
namespace {

struct Suffix {
  std::string_view text;
  std::uint64_t factor;
};
constexpr std::array<Suffix, 5> kSuffixes = {
    {{"", 1}, {"B", 1}, {"KiB", kKiB}, {"MiB", kMiB}, {"GiB", kGiB}}};

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::string twoDigits(long long value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

}  // namespace

std::string_view withoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string formatDecimals(double value, int decimals) {
  std::array<char, 400> buffer{};  // the largest double has 309 digits
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, std::clamp(decimals, 0, 9));
  return error == std::errc() ? std::string(buffer.data(), end) : std::string();
}

std::string formatBytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= kGiB) return formatDecimals(value / static_cast<double>(kGiB), 2) + " GiB";
  if (bytes >= kMiB) return formatDecimals(value / static_cast<double>(kMiB), 1) + " MiB";
  if (bytes >= kKiB) return formatDecimals(value / static_cast<double>(kKiB), 1) + " KiB";
  return std::to_string(bytes) + " B";
}

std::string formatDuration(std::int64_t ns) {
  const double ms = toMs(ns);
  if (std::abs(ms) >= 999.5) return formatDecimals(ms / 1000, 2) + " s";
  if (std::abs(ms) >= 99.95) return formatDecimals(ms, 0) + " ms";
  if (std::abs(ms) >= 9.995) return formatDecimals(ms, 1) + " ms";
  return formatDecimals(ms, 2) + " ms";
}

std::string formatMs(double ms) {
  return formatDuration(static_cast<std::int64_t>(ms * kNsPerMs));
}

std::string formatRate(double perSecond) {
  if (std::isnan(perSecond)) return "\u2013";
  if (perSecond >= 999'500) return formatDecimals(perSecond / 1e6, 2) + "M";
  if (perSecond >= 999.5) return formatDecimals(perSecond / 1e3, 1) + "k";
  return formatDecimals(perSecond, 0);
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
  text += hours > 0 ? std::to_string(hours) + ':' + twoDigits(seconds / 60 % 60)
                    : std::to_string(seconds / 60);
  text += ':' + twoDigits(seconds % 60);
  if (decimals > 0) {
    const std::string fraction = std::to_string(ticks % scale);
    text += '.' + std::string(static_cast<std::size_t>(decimals) - fraction.size(), '0') + fraction;
  }
  return text;
}

std::optional<LeadingNumber> parseNumber(std::string_view text) {
  std::size_t end = text.starts_with('-') ? 1 : 0;
  bool hasDigits = false;
  const auto skipDigits = [&] {
    for (; end < text.size() && isDigit(text[end]); ++end) hasDigits = true;
  };
  skipDigits();
  if (end < text.size() && text[end] == '.') {
    ++end;
    skipDigits();
  }
  if (!hasDigits) return std::nullopt;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
    if (exponent < text.size() && isDigit(text[exponent])) {
      end = exponent;
      skipDigits();
    }
  }
  // Not std::from_chars: the C++ library of macOS 14 and 15 lacks it for double.
  std::istringstream stream{std::string(text.substr(0, end))};
  stream.imbue(std::locale::classic());
  double value = 0;
  if (!(stream >> value) || !std::isfinite(value)) return std::nullopt;
  return LeadingNumber{value, text.substr(end)};
}

Result<std::uint64_t> parseBytes(std::string_view text, std::string_view name) {
  const auto refused = [&](std::string_view why) {
    return usageError(std::string(name) + " is \"" + shortened(text) + "\", " + std::string(why) +
                      "; give bytes, or a number with KiB, MiB or GiB");
  };
  const auto number = parseNumber(text);
  if (!number) return refused("which is not a size");
  if (number->value < 0) return refused("which is negative");
  const std::string_view unit = withoutBlanks(number->rest);
  for (const Suffix& known : kSuffixes) {
    if (unit != known.text) continue;
    const double bytes = number->value * static_cast<double>(known.factor);
    if (bytes >= 9.2e18) return refused("which is larger than any memory");
    return static_cast<std::uint64_t>(bytes);
  }
  return refused("whose unit is not known");
}

}  // namespace highwater
