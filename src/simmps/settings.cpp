#include "simmps/settings.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

namespace highwater::simmps {
namespace {

// PyTorch's default_high_watermark_upper_bound.
constexpr double kHighestRatio = 2.0;
constexpr std::uint64_t kLeastRecommended = 16 * kMiB;
constexpr std::uint64_t kMostRecommended = 1024 * kGiB;

std::string refusal(const char* variable, std::string_view value, std::string_view allowed) {
  std::ostringstream out;
  out << variable << ": \"" << value << "\" is not allowed; give " << allowed << ".";
  return out.str();
}

/// A finite decimal number and what follows it.
struct Number {
  double value = 0;
  std::string_view rest;
};

std::optional<Number> parseNumber(const char* text) {
  if (*text == '\0' || !((*text >= '0' && *text <= '9') || *text == '.' || *text == '-')) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || !std::isfinite(value)) return std::nullopt;
  return Number{value, end};
}

std::optional<std::uint64_t> parseBytes(const char* text) {
  const auto number = parseNumber(text);
  if (!number || number->value < 0) return std::nullopt;
  std::string_view unit = number->rest;
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  double scale = 0;
  if (unit.empty()) scale = 1;
  if (unit == "KiB") scale = static_cast<double>(kKiB);
  if (unit == "MiB") scale = static_cast<double>(kMiB);
  if (unit == "GiB") scale = static_cast<double>(kGiB);
  const double bytes = number->value * scale;
  if (scale == 0 || bytes > 1e18) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string readRecommended(const Environment& environment, Settings& settings) {
  const char* text = environment(kRecommendedVariable);
  if (!text || !*text) return {};
  const auto bytes = parseBytes(text);
  if (!bytes || *bytes < kLeastRecommended || *bytes > kMostRecommended) {
    return refusal(kRecommendedVariable, text,
                   "bytes, or a number with KiB, MiB or GiB, from 16 MiB to 1024 GiB");
  }
  settings.limits.recommendedBytes = *bytes;
  return {};
}

std::string readRatios(const Environment& environment, MemoryLimits& limits) {
  if (const char* text = environment(kHighVariable); text && *text) {
    const auto ratio = parseNumber(text);
    if (!ratio || !ratio->rest.empty() || ratio->value < 0 || ratio->value > kHighestRatio) {
      return refusal(kHighVariable, text,
                     "a number from 0.0 (no limit) to 2.0, a multiple of the recommended max");
    }
    limits.highWatermarkRatio = ratio->value;
  }
  const double highest = limits.highWatermarkRatio == 0 ? kHighestRatio : limits.highWatermarkRatio;
  std::ostringstream allowed;
  allowed << "a number from 0.0 (off) to " << highest;
  if (limits.highWatermarkRatio != 0) allowed << ", the high watermark ratio";
  const char* text = environment(kLowVariable);
  if (text && *text) {
    const auto ratio = parseNumber(text);
    if (!ratio || !ratio->rest.empty() || ratio->value < 0 || ratio->value > highest) {
      return refusal(kLowVariable, text, allowed.str());
    }
    limits.lowWatermarkRatio = ratio->value;
  } else if (limits.lowWatermarkRatio > highest) {
    // PyTorch refuses this too ("invalid low watermark ratio 1.4").
    std::ostringstream out;
    out << kLowVariable << ": its default 1.4 is over the high watermark ratio " << highest << " ("
        << kHighVariable << "); give " << allowed.str() << ".";
    return out.str();
  }
  return {};
}

std::string readQueue(const Environment& environment, Settings& settings) {
  const char* text = environment(kQueueVariable);
  if (!text || !*text) return {};
  const std::string_view value = text;
  if (value != "sync" && value != "async") return refusal(kQueueVariable, value, "sync or async");
  settings.asynchronous = value == "async";
  return {};
}

std::string readFallback(const Environment& environment, Settings& settings) {
  const char* text = environment(kFallbackVariable);
  if (!text || !*text) return {};
  const auto number = parseNumber(text);
  if (!number) return refusal(kFallbackVariable, text, "0 (off) or 1 (on)");
  settings.cpuFallback = static_cast<long>(number->value) != 0;
  return {};
}

}  // namespace

std::variant<Settings, std::string> readSettings(const Environment& environment,
                                                 std::uint64_t machineBytes) {
  Settings settings;
  settings.limits.recommendedBytes = machineBytes / 4 * 3;
  settings.maxBufferBytes = machineBytes / 4 * 3;
  for (std::string error :
       {readRecommended(environment, settings), readRatios(environment, settings.limits),
        readQueue(environment, settings), readFallback(environment, settings)}) {
    if (!error.empty()) return error;
  }
  if (const char* file = environment(kLedgerVariable)) settings.ledgerFile = file;
  return settings;
}

std::uint64_t machineMemoryBytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace highwater::simmps
