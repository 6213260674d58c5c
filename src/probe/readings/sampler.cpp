#include "probe/readings/sampler.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "probe/stream/guest_thread.h"

namespace highwater::probe {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

}  // namespace

void recordMemorySample(Recorder& recorder, CounterSource& source, events::SampleOrigin origin,
                        RisenPeak* risenPeak) {
  ThreadLane& lane = recorder.lane();
  lane.beginWrite(recorder.now());
  // After beginWrite(): a sample with an earlier time could arrive late.
  const std::int64_t nowNs = recorder.now();
  if (const std::optional<DeviceCounters> counters = source.read()) {
    const auto record = [&](std::uint64_t currentBytes) {
      recorder.noteCounters(currentBytes, counters->driverBytes);
      lane.push(EventRecord(events::MemorySample(nowNs, currentBytes, counters->driverBytes,
                                                 counters->recommendedBytes, origin)));
    };
    const std::uint64_t peak = risenPeak ? risenPeak->take(counters->currentBytes) : 0;
    if (peak > counters->currentBytes) record(peak);
    record(counters->currentBytes);
  }
  lane.endWrite();
}

void WakeUps::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
}

bool WakeUps::sleepUntil(std::int64_t monotonicNs) {
  const auto wakeAt = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonicNs));
  std::unique_lock lock(mutex_);
  return !wake_.wait_until(lock, wakeAt, [this] { return ending_; });
}

Sampler::Sampler(Recorder& recorder, CounterSource* counters, std::uint32_t hz,
                 std::unique_ptr<SystemReader> system)
    : recorder_(recorder),
      counters_(counters),
      hz_(std::clamp(hz, 1u, kMaxSamplingHz)),
      system_(std::move(system)) {}

Sampler::~Sampler() {
  stop();
}

void Sampler::alsoCall(OtherWork work) {
  otherWork_ = std::move(work);
}

void Sampler::start() {
  thread_ = startGuestThread([this, startNs = recorder_.now()] { run(startNs); },
                             [this](const std::string& why) {
                               recorder_.mark(events::MarkerKind::Note, recorder_.step(), 0, 0,
                                              "memory is not sampled any more: " + why);
                             });
}

void Sampler::stop() {
  if (!thread_.joinable()) return;
  wakeUps_.end();
  thread_.join();
}

void Sampler::run(std::int64_t startNs) {
  recorder_.nameThread("sampler");
  DeadlineGrid counterTimes(startNs, kNsPerSecond / hz_);
  DeadlineGrid systemTimes(startNs, kNsPerSecond / std::min(hz_, kMaxSystemHzAtFirst));
  bool isShort = true;
  std::int64_t otherNs = startNs;
  wakeUps_.run(recorder_.clock(), startNs, [&](std::int64_t nowNs) {
    // First: the others take time, and may wait for a lock of the device's.
    if (otherWork_ && nowNs >= otherNs) {
      DeadlineGrid times(otherNs, otherWork_(nowNs));
      times.advance(nowNs);
      otherNs = times.nextNs();
    }
    if (counters_ && nowNs >= counterTimes.nextNs()) {
      recordMemorySample(recorder_, *counters_, events::SampleOrigin::Timer);
      counterTimes.advance(nowNs);
    }
    if (nowNs >= systemTimes.nextNs()) {
      recordSystemSample();
      if (isShort && nowNs - startNs >= kShortRunNs) {
        systemTimes = DeadlineGrid(nowNs, kNsPerSecond / std::min(hz_, kMaxSystemHz));
        isShort = false;
      }
      systemTimes.advance(nowNs);
    }
    std::int64_t nextNs = systemTimes.nextNs();
    if (counters_) nextNs = std::min(nextNs, counterTimes.nextNs());
    if (otherWork_) nextNs = std::min(nextNs, otherNs);
    return nextNs;
  });
  // A last sample, so that growth since the last deadline is recorded.
  if (counters_) recordMemorySample(recorder_, *counters_, events::SampleOrigin::Timer);
  recordSystemSample();
}

void Sampler::recordSystemSample() {
  ThreadLane& lane = recorder_.lane();
  lane.beginWrite(recorder_.now());
  const std::int64_t nowNs = recorder_.now();
  const SystemReadings readings = system_->read();
  lane.push(EventRecord(events::SystemSample(nowNs, readings.footprintBytes,
                                             readings.availableBytes, readings.swapUsedBytes,
                                             readings.gpuPercent, readings.pressure)));
  lane.push(EventRecord(events::MachineSample(
      nowNs, readings.compressorBytes, readings.swappedInBytes, readings.swappedOutBytes,
      readings.gpuBytes, readings.power.thermal, readings.power.mode)));
  lane.endWrite();
}

}  // namespace highwater::probe
