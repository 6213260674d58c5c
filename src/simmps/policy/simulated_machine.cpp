#include "simmps/policy/simulated_machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace highwater::simmps {
namespace {

constexpr double kCompression = 2;
// Thresholds, as shares of the memory that is not wired that is left uncompressed.
constexpr double kWarningBelow = 10.0 / 20;
constexpr double kSwapBelow = 10.0 / 25;
constexpr double kCriticalBelow = 1.2 * 10 / 35;
/// Share of the demand compressed between the last two thresholds that is written out.
constexpr double kSwappedShare = 0.5;

struct Split {
  double uncompressed = 0;
  double swapped = 0;  ///< on disk, compressed
};

/// Splits `demand` bytes over `memory` bytes; demand that fits stays uncompressed.
Split splitDemand(double demand, double memory) {
  // Each byte of the compressed pool holds kCompression bytes of demand and takes one itself.
  const double gain = kCompression - 1;
  const double inMemoryOnly = memory + (1 - kSwapBelow) * memory * gain;
  if (demand <= inMemoryOnly) {
    return {std::max(memory - std::max(demand - memory, 0.0) / gain, 0.0), 0};
  }
  const double swappedPerPooled = kSwappedShare / (1 - kSwappedShare);
  const double gainWithSwap = gain + kCompression * swappedPerPooled;
  const double room = (kSwapBelow - kCriticalBelow) * memory;
  const double pooled = std::min((demand - inMemoryOnly) / gainWithSwap, room);
  const double beyond = demand - inMemoryOnly - room * gainWithSwap;
  return {kSwapBelow * memory - pooled,
          pooled * swappedPerPooled + std::max(beyond, 0.0) / kCompression};
}

}  // namespace

MemoryState settleMemory(const MemoryDemand& demand) {
  const std::uint64_t wired = std::min(demand.wiredBytes, demand.systemBytes);
  const auto memory = static_cast<double>(demand.systemBytes - wired);
  // Demand beyond the memory that can be wired counts as pageable.
  const auto pageable = static_cast<double>(demand.otherBytes + (demand.wiredBytes - wired));
  const Split split = splitDemand(pageable, memory);
  MemoryState state;
  state.availableBytes = static_cast<std::uint64_t>(std::max(memory - pageable, 0.0));
  state.compressorBytes = static_cast<std::uint64_t>(std::max(memory - split.uncompressed, 0.0));
  state.swapUsedBytes = static_cast<std::uint64_t>(split.swapped);
  // Swapping keeps n at the critical threshold, so demand beyond it counts as past it.
  const bool isPast = split.uncompressed <= kCriticalBelow * memory * (1 + 1e-9);
  if (isPast && pageable > 0) {
    state.pressure = PressureLevel::Critical;
  } else if (split.uncompressed < kWarningBelow * memory) {
    state.pressure = PressureLevel::Warning;
  }
  return state;
}

SimulatedMachine::SimulatedMachine(Options options, Sources sources)
    : options_(std::move(options)),
      sources_(std::move(sources)),
      startNs_(sources_.nowNs()),
      lastFileBytes_(options_.others.fileBytes) {}

SimulatedMachine::Readings SimulatedMachine::read() {
  const std::lock_guard lock(mutex_);
  Readings readings;
  readings.systemBytes = options_.systemBytes;
  readings.otherBytes = otherBytes();
  // In this order: pages touched in between then do not make the rest of the process look larger.
  const std::uint64_t resident = sources_.residentBytes();
  const std::uint64_t arena = sources_.arenaResidentBytes();
  const std::uint64_t driver = sources_.driverBytes();
  const std::uint64_t host = resident - std::min(resident, arena);
  const std::uint64_t hidden = hiddenBytes();
  readings.footprintBytes = std::min(host + driver + hidden, kMostBytes);
  readings.memory =
      settleMemory({options_.systemBytes, driver, host + hidden + readings.otherBytes});
  const std::uint64_t swap = readings.memory.swapUsedBytes;
  const std::uint64_t before = lastSwapBytes_.value_or(swap);
  lastSwapBytes_ = swap;
  swappedOutBytes_ += swap - std::min(swap, before);
  swappedInBytes_ += before - std::min(swap, before);
  readings.swappedInBytes = swappedInBytes_;
  readings.swappedOutBytes = swappedOutBytes_;
  readings.gpuBytes = driver;
  readings.thermal = options_.thermalStates.stateAt(sources_.nowNs() - startNs_);
  readings.lowPower = options_.lowPower;
  return readings;
}

std::uint64_t SimulatedMachine::hiddenBytes() const {
  const std::uint64_t steps = steps_.load(std::memory_order_relaxed);
  const std::uint64_t growth = options_.hiddenGrowthBytes;
  return growth != 0 && steps > kMostBytes / growth ? kMostBytes : steps * growth;
}

std::uint64_t SimulatedMachine::otherBytes() {
  if (options_.others.file.empty()) return options_.others.bytesAt(sources_.nowNs() - startNs_);
  lastFileBytes_ = readBytesFile(options_.others.file).value_or(lastFileBytes_);
  return lastFileBytes_;
}

std::uint64_t residentProcessBytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  if (!(file >> size >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace highwater::simmps
