#include <torch/version.h>

#include <cmath>

#include "core/sim_knobs.h"
#include "core/torch_version.h"
#include "probe/readings/mps_device.h"
#include "worker/checks/self_test.h"
#include "worker/checks/self_test_tools.h"
#include "worker/training/training_errors.h"

namespace highwater::worker {
namespace {

using probe::DeviceCounters;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

double number(std::uint64_t bytes) {
  return static_cast<double>(bytes);
}

DeviceCounters counters() {
  const auto read = probe::makeMpsCounters()->read();
  TORCH_CHECK(read, "the counters cannot be read");
  return *read;
}

at::Tensor bytesOnMps(std::int64_t bytes) {
  return at::empty({bytes}, onMps(at::kByte));
}

/// Frees the tensor after the device has finished with it.
void release(at::Tensor& tensor) {
  synchronizeMps();
  tensor.reset();
}

CheckResult countersRelate() {
  at::Tensor some = bytesOnMps(kMiB);
  const DeviceCounters now = counters();
  std::vector<Measure> measures = {{"current", number(now.currentBytes), "bytes"},
                                   {"driver", number(now.driverBytes), "bytes"},
                                   {"recommended", number(now.recommendedBytes), "bytes"}};
  if (now.currentBytes == 0) return failed("current is 0 with a tensor on mps", measures);
  if (now.recommendedBytes == 0) return failed("recommended is 0", measures);
  if (now.currentBytes > now.driverBytes) return failed("current is above driver", measures);
  return passed("current <= driver, recommended > 0", measures);
}

CheckResult currentCounts() {
  // Sizes are aligned; newer releases round up to 32 sizes per power of two.
  constexpr std::int64_t kAsked = 3 * kMiB + 1;
  constexpr double kMostRounding = 1.0 / 16;
  at::Tensor warm = bytesOnMps(kAsked);
  release(warm);
  const DeviceCounters before = counters();
  at::Tensor tensor = bytesOnMps(kAsked);
  const DeviceCounters with = counters();
  release(tensor);
  const DeviceCounters after = counters();
  const double grown = number(with.currentBytes) - number(before.currentBytes);
  const std::vector<Measure> measures = {
      {"asked", double{kAsked}, "bytes"},
      {"grown", grown, "bytes"},
      {"left", number(after.currentBytes) - number(before.currentBytes), "bytes"}};
  if (grown < double{kAsked})
    return failed("current grew by less than the size asked for", measures);
  if (grown > double{kAsked} * (1 + kMostRounding)) {
    return failed("current grew by more than rounding explains", measures);
  }
  if (after.currentBytes != before.currentBytes) {
    return failed("current did not return to its value when the tensor was freed", measures);
  }
  return passed("grew by the rounded size and returned", measures);
}

CheckResult driverKeepsCache() {
  constexpr std::int64_t kSize = 64 * kMiB;
  probe::emptyDeviceCache();
  at::Tensor tensor = bytesOnMps(kSize);
  const DeviceCounters with = counters();
  release(tensor);
  const DeviceCounters freed = counters();
  probe::emptyDeviceCache();
  const DeviceCounters emptied = counters();
  const std::vector<Measure> measures = {{"driver with it", number(with.driverBytes), "bytes"},
                                         {"driver freed", number(freed.driverBytes), "bytes"},
                                         {"driver emptied", number(emptied.driverBytes), "bytes"}};
  if (freed.driverBytes != with.driverBytes) {
    return failed("driver changed when a tensor was freed", measures);
  }
  if (emptied.driverBytes + kSize > freed.driverBytes) {
    return failed("emptying the cache did not release the memory", measures);
  }
  return passed("driver stays when a tensor is freed and falls when the cache is emptied",
                measures);
}

CheckResult peaksAreCaught() {
  constexpr std::int64_t kSize = 48 * kMiB;
  const auto peaks = probe::makeMpsPeaks();
  at::Tensor base = bytesOnMps(kMiB);
  peaks->reset();
  const auto before = peaks->read();
  if (!before) {
    constexpr bool kHasThem = HIGHWATER_TORCH_AT_LEAST(2, 9);
    if (kHasThem) return failed("the device has no statistics in PyTorch " TORCH_VERSION);
    return skipped("not available in PyTorch " TORCH_VERSION " (2.9 or later has it)");
  }
  at::Tensor brief = bytesOnMps(kSize);
  release(brief);
  const auto after = peaks->read();
  peaks->reset();
  const auto again = peaks->read();
  if (!after || !again) return failed("the statistics cannot be read a second time");
  const std::vector<Measure> measures = {{"peak before", number(before->peakCurrentBytes), "bytes"},
                                         {"peak after", number(after->peakCurrentBytes), "bytes"},
                                         {"current after", number(after->currentBytes), "bytes"},
                                         {"peak reset", number(again->peakCurrentBytes), "bytes"}};
  if (after->peakCurrentBytes < before->peakCurrentBytes + kSize) {
    return failed("the peak misses a tensor that lived between two readings", measures);
  }
  if (after->currentBytes != before->currentBytes) {
    return failed("current of the statistics did not return to its value", measures);
  }
  if (again->peakCurrentBytes != again->currentBytes) {
    return failed("a reset does not set the peak to current", measures);
  }
  if (after->currentBytes != counters().currentBytes) {
    return failed("the statistics and the counter disagree about current", measures);
  }
  return passed("a peak between two readings is caught; a reset sets it to current", measures);
}

/// The exception of a program; `text` is empty where it threw none.
struct Thrown {
  std::string text;
  bool isOutOfMemory = false;
  bool isOutOfMemoryType = false;
};

Thrown thrownBy(const std::function<void()>& program) {
  try {
    program();
  } catch (const std::exception& error) {
    return {firstLine(error), isOutOfMemory(error),
            dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr};
  }
  return {};
}

CheckResult outOfMemoryIsKnown() {
  // This process is limited to 0.1 % of recommended, far below the machine's memory.
  const auto recommended = static_cast<std::int64_t>(counters().recommendedBytes);
  const std::int64_t asked = recommended / 500 + 64 * kMiB;
  const Thrown thrown = thrownBy([asked] { (void)bytesOnMps(asked); });
  const std::vector<Measure> measures = {
      {"asked", static_cast<double>(asked), "bytes"},
      {"is OutOfMemoryError", thrown.isOutOfMemoryType ? 1.0 : 0.0, ""}};
  if (thrown.text.empty()) return failed("no error past the high watermark", measures);
  const std::string said = "\"" + thrown.text + "\"";
  if (!thrown.isOutOfMemory) return failed("not recognized as out of memory: " + said, measures);
  for (const char* part : {"MPS backend out of memory (MPS allocated: ", ", other allocations: ",
                           ", max allowed: ", "Tried to allocate "}) {
    if (thrown.text.find(part) == std::string::npos) {
      return failed("the text lacks \"" + std::string(part) + "\": " + said, measures);
    }
  }
  return passed(said, measures);
}

CheckResult bufferLimitIsSaid() {
  constexpr std::int64_t kPetabyte = std::int64_t{1} << 50;
  const Thrown thrown = thrownBy([] { (void)bytesOnMps(kPetabyte); });
  const std::string said = "\"" + thrown.text + "\"";
  if (thrown.text.find("Invalid buffer size: ") == std::string::npos) {
    return failed("a tensor of 1 PiB: " + said);
  }
  return passed(said);
}

CheckResult lowAboveHighIsRefused() {
  const Thrown thrown = thrownBy([] { (void)bytesOnMps(kMiB); });
  const std::string said = "\"" + thrown.text + "\"";
  if (thrown.text.empty())
    return failed("a high watermark of 0.5 with the default low watermark is accepted");
  if (thrown.text.find("invalid low watermark ratio") == std::string::npos) return failed(said);
  return passed("refused: " + said);
}

SelfCheck check(const char* id, const char* assumption, const char* reliedOnBy,
                CheckResult (*run)()) {
  return {id, assumption, reliedOnBy, {}, run, {}};
}

}  // namespace

std::vector<SelfCheck> memoryChecks() {
  return {
      check("counters",
            "The hooks give current, driver and recommended: current <= driver, "
            "recommended > 0.",
            "probe/mps_device, probe/sampler", &countersRelate),
      check("current-counts",
            "Current grows by the aligned size of an allocation and falls by it "
            "when the tensor is freed.",
            "probe/op_observer (allocations of ops), analysis/memory_findings", &currentCounts),
      check("driver-caches",
            "Driver stays when a tensor is freed, and falls when the cache is "
            "emptied.",
            "views/memory_bands (cached = driver - current), worker/training", &driverKeepsCache),
      check("peaks",
            "getDeviceStats has the exact peak of current since resetPeakStats, from "
            "PyTorch 2.9 on.",
            "probe/peak_meter", &peaksAreCaught),
  };
}

std::vector<SelfCheck> limitChecks() {
  SelfCheck outOfMemory = check(
      "out-of-memory",
      "An allocation past the high watermark throws an error that its type or text identifies "
      "as out of memory.",
      "worker/training_errors", &outOfMemoryIsKnown);
  outOfMemory.environment = {std::string(kMpsHighWatermarkVariable) + "=0.001",
                             std::string(kMpsLowWatermarkVariable) + "=0"};
  SelfCheck watermarks = check("watermark-order",
                               "A high watermark below the default low watermark is refused when "
                               "the allocator is built.",
                               "worker/environment, core/sim_knobs.h", &lowAboveHighIsRefused);
  watermarks.environment = {std::string(kMpsHighWatermarkVariable) + "=0.5",
                            kMpsLowWatermarkVariable};
  // The simulated device refuses while it is loaded, naming the variable.
  watermarks.refusal = kMpsLowWatermarkVariable;
  return {outOfMemory, watermarks,
          check("buffer-size",
                "A single tensor past Metal's limit is refused with \"Invalid "
                "buffer size\".",
                "docs/simulated-mps.md (a failure, not out of memory)", &bufferLimitIsSaid)};
}

}  // namespace highwater::worker
