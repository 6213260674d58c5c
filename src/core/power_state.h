#pragma once

#include <string_view>

#include "core/events_generated.h"

namespace highwater {

/// What slows the whole machine down: how hot it is, and whether it saves energy.
struct PowerState {
  events::ThermalState thermal = events::ThermalState::Unknown;
  events::PowerMode mode = events::PowerMode::Unknown;
};

/// Reads the state of this moment. Never fails: what cannot be read is Unknown. Any thread.
/// - macOS: thermalState and isLowPowerModeEnabled of NSProcessInfo, which Apple documents for
///   questions at any time (Energy Efficiency Guide for Mac Apps) and which need Foundation but not
///   AppKit. The notify key com.apple.system.thermalpressurelevel has levels of its own, which are
///   not documented, and says nothing about Low Power Mode.
/// - Linux: the profile "low-power" of /sys/firmware/acpi/platform_profile; no thermal state.
[[nodiscard]] PowerState readPowerState();

/// Converts a number of NSProcessInfoThermalState: 0 nominal, 1 fair, 2 serious, 3 critical; any
/// other is Unknown.
[[nodiscard]] constexpr events::ThermalState thermalStateOf(long number) {
  constexpr long kMost = static_cast<long>(events::ThermalState::Critical) - 1;
  return number >= 0 && number <= kMost ? static_cast<events::ThermalState>(number + 1)
                                        : events::ThermalState::Unknown;
}

/// Where the user turns Low Power Mode off, as a part of a sentence.
[[nodiscard]] constexpr std::string_view lowPowerSettings(bool onMac) {
  return onMac ? "System Settings, Battery" : "in the system's power settings";
}

}  // namespace highwater
