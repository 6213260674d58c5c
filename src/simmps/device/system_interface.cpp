#include "simmps/device/system_interface.h"

#include "simmps/device/device.h"
#include "simmps/policy/simulated_machine.h"

namespace highwater::simmps {
namespace {

// Lives until the process ends, like the device.
SimulatedMachine* gMachine = nullptr;

}  // namespace

void createMachine(const Settings& settings) {
  SimulatedMachine::Sources sources;
  sources.residentBytes = residentProcessBytes;
  sources.arenaResidentBytes = [] { return deviceMemory().residentBytes(); };
  sources.driverBytes = [] { return deviceMemory().counters().driverBytes; };
  sources.nowNs = deviceClockNs;
  gMachine = new SimulatedMachine(
      {settings.systemBytes, settings.hiddenGrowthBytes, settings.otherMemory}, std::move(sources));
}

void readSystem(highwater_simmps_system* readings) {
  const SimulatedMachine::Readings now = gMachine->read();
  readings->system_bytes = now.systemBytes;
  readings->footprint_bytes = now.footprintBytes;
  readings->other_bytes = now.otherBytes;
  readings->available_bytes = now.memory.availableBytes;
  readings->swap_used_bytes = now.memory.swapUsedBytes;
  readings->pressure_level = static_cast<int>(now.memory.pressure);
}

void endStep() {
  gMachine->endStep();
}

}  // namespace highwater::simmps
