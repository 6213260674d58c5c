#include "process/environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/plain_text.h"
#include "core/scenarios.h"
#include "core/sim_knobs.h"
#include "core/units.h"

extern char** environ;

namespace highwater::process {
namespace {

constexpr std::array<const char*, 10> kVariables = {
    kMpsFallbackVariable,
    kMpsHighWatermarkVariable,
    kMpsLowWatermarkVariable,
    kMpsDebugVariable,
    "PYTORCH_MPS_FAST_MATH",
    "PYTORCH_MPS_PREFER_METAL",
    "PYTORCH_MPS_LOG_PROFILE_INFO",
    "PYTORCH_MPS_TRACE_SIGNPOSTS",
    "OMP_NUM_THREADS",
    "OMP_WAIT_POLICY",
};
constexpr std::string_view kOwnPrefix = "HIGHWATER_";
/// What Highwater sets for each process that it starts: no settings, and nobody else's.
constexpr std::array<std::string_view, 2> kInternalPrefixes = {"HIGHWATER_LAUNCH_ID",
                                                               "HIGHWATER_SCRIPT_"};
// All entries must fit into a frame, whatever a script has in its environment.
constexpr std::size_t kMostEntries = 256, kMostNameBytes = 256, kMostValueBytes = 4096;
constexpr double kHighestRatio = 2.0;  // PyTorch's default_high_watermark_upper_bound

double ratio(const char* name, double defaultValue) {
  const char* text = std::getenv(name);
  if (!text || !*text) return defaultValue;
  const auto number = parseNumber(text);
  const bool isRatio = number && number->value >= 0 && number->value <= kHighestRatio;
  return isRatio ? number->value : defaultValue;
}

}  // namespace

std::vector<EnvironmentEntry> relevantEnvironment() {
  std::vector<EnvironmentEntry> entries;
  for (const char* name : kVariables) {
    const char* value = std::getenv(name);
    entries.push_back({name, value ? std::optional<std::string>(value) : std::nullopt});
  }
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !text.starts_with(kOwnPrefix)) continue;
    const bool isInternal =
        std::any_of(kInternalPrefixes.begin(), kInternalPrefixes.end(),
                    [text](std::string_view prefix) { return text.starts_with(prefix); });
    if (isInternal) continue;
    if (entries.size() == kMostEntries) break;
    entries.push_back({std::string(cutText(text.substr(0, equals), kMostNameBytes)),
                       std::string(cutText(text.substr(equals + 1), kMostValueBytes))});
  }
  return entries;
}

bool setScenarioEnvironment(int argc, const char* const* argv) {
  constexpr std::string_view kOption = "--scenario";
  std::string name;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == kOption && i + 1 < argc) name = argv[i + 1];
    if (word.starts_with(kOption) && word.substr(kOption.size()).starts_with('=')) {
      name = word.substr(kOption.size() + 1);
    }
  }
  const auto scenario = findScenario(name);
  if (!scenario) return false;
  bool changed = false;
  for (const ScenarioSetting& setting : (*scenario)->environment) {
    if (!setting.variable || std::getenv(setting.variable)) continue;
    changed = ::setenv(setting.variable, setting.value, 1) == 0 || changed;
  }
  return changed;
}

WatermarkRatios watermarkRatios() {
  const WatermarkRatios defaults;
  WatermarkRatios ratios;
  ratios.high = ratio(kMpsHighWatermarkVariable, defaults.high);
  ratios.low = ratio(kMpsLowWatermarkVariable, defaults.low);
  return ratios;
}

}  // namespace highwater::process
