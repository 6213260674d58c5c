#include <fstream>
#include <string>

#include "core/power_state.h"

namespace highwater {

PowerState readPowerState() {
  PowerState state;
  std::ifstream file("/sys/firmware/acpi/platform_profile");
  if (std::string profile; file >> profile) {
    state.mode = profile == "low-power" ? events::PowerMode::Low : events::PowerMode::Normal;
  }
  return state;
}

}  // namespace highwater
