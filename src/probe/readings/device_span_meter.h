#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "probe/stream/event_source.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Measures the device span of each step with a pair of events, without making the host wait.
///
/// PyTorch's MPSEvent.mm sets the rules:
/// - elapsedTime() waits for the whole stream, so it is called only when the stream is known to be
///   idle.
/// - It then waits for a notification that the end event gives once for each recording. If
///   synchronize() on the event or an earlier elapsedTime() has taken it, elapsedTime() never
///   returns. So no event is synchronized here, and each pair is read once.
/// - An event keeps its old time until it comes out of PyTorch's pool again, so each step takes new
///   events from the pool.
/// - Times are taken in callbacks, which may be late or reversed; elapsedTime() then throws, and
///   the span of that step stays unknown. So does the span of a step whose events were reused
///   before they could be read.
/// - Since 2.15 it throws where the device's work failed, and asking once more may end the process.
///   So after such an error no time is read any more.
class DeviceSpanMeter {
 public:
  /// Makes a meter that records into `recorder` and takes its events from `events`. Both must
  /// outlive the meter.
  DeviceSpanMeter(Recorder& recorder, EventSource& events) : recorder_(recorder), events_(events) {}
  /// Gives all events back to the pool.
  ~DeviceSpanMeter();
  DeviceSpanMeter(const DeviceSpanMeter&) = delete;
  DeviceSpanMeter& operator=(const DeviceSpanMeter&) = delete;

  /// Starts the measurement of `step`: records its start event in the device's queue, without
  /// waiting. Call it when the step's batch has been moved to the device and before its first op.
  /// Does not throw: if PyTorch gives no events, the step's span stays unknown.
  void beginStep(std::uint32_t step);
  /// Ends the measurement that beginStep() started: records the end event in the device's queue,
  /// without waiting. Call it when the step's last op has been queued. Does not throw.
  void endStep();
  /// Records the device spans of the steps that were measured since the last call. Call it between
  /// steps, when the host has just waited for the device. Does nothing while the device has not
  /// finished the last step: a later call gets those spans.
  void readWhereIdle();

 private:
  /// One pair is enough if every step waits for its batch; the others bridge steps that do not.
  static constexpr std::size_t kPairs = 4;

  struct Pair {
    enum class State { kEmpty, kBegun, kPending, kDone };
    State state = State::kEmpty;
    EventSource::Id start = 0;
    EventSource::Id end = 0;
    std::uint32_t step = 0;
  };

  [[nodiscard]] bool isIdle();
  void noteFailure(const std::exception& error);
  [[nodiscard]] Pair* freePair();
  void drop(Pair& pair);
  void read(Pair& pair);

  Recorder& recorder_;
  EventSource& events_;
  std::array<Pair, kPairs> pairs_{};
  std::size_t next_ = 0;  // the least recently used pair
  Pair* begun_ = nullptr;
  Pair* newest_ = nullptr;  // the last step's; nullptr if it has none
  bool workFailed_ = false;
};

}  // namespace highwater::probe
