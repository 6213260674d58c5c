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
  gMachine = new SimulatedMachine({settings.systemBytes, settings.hiddenGrowthBytes,
                                   settings.otherMemory, settings.thermalStates, settings.lowPower},
                                  std::move(sources));
}

void readSystem(highwater_simmps_system* readings) {
  const SimulatedMachine::Readings now = gMachine->read();
  readings->system_bytes = now.systemBytes;
  readings->footprint_bytes = now.footprintBytes;
  readings->other_bytes = now.otherBytes;
  readings->available_bytes = now.memory.availableBytes;
  readings->swap_used_bytes = now.memory.swapUsedBytes;
  readings->pressure_level = static_cast<int>(now.memory.pressure);
  readings->compressor_bytes = now.memory.compressorBytes;
  readings->swapped_in_bytes = now.swappedInBytes;
  readings->swapped_out_bytes = now.swappedOutBytes;
  readings->gpu_bytes = now.gpuBytes;
  readings->thermal_state = static_cast<int>(now.thermal);
  readings->low_power = now.lowPower ? 1 : 0;
}

void endStep() {
  gMachine->endStep();
}

}  // namespace highwater::simmps
