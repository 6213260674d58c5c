#include "core/objc_macos.h"
#include "core/power_state.h"

namespace highwater {

PowerState readPowerState() {
  const objc::AutoreleasePool pool;
  PowerState state;
  const id info = objc::processInfo();
  if (objc::responds(info, "thermalState")) {
    state.thermal = thermalStateOf(objc::send<long>(info, "thermalState"));
  }
  // From macOS 12 on.
  if (objc::responds(info, "isLowPowerModeEnabled")) {
    const bool low = objc::send<BOOL>(info, "isLowPowerModeEnabled");
    state.mode = low ? events::PowerMode::Low : events::PowerMode::Normal;
  }
  return state;
}

}  // namespace highwater
