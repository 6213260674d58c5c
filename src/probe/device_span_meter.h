#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "probe/event_source.h"
#include "probe/recorder.h"

namespace highwater::probe {

/// Measures the device span of steps by a pair of events each, and never makes the host wait for
/// it.
///
/// PyTorch's MPSEvent.mm sets the rules. elapsedTime() first waits for the whole stream, so it may
/// only be asked where the stream is known to be idle. Then it waits for a notice that the end
/// event gives once for each recording, and whoever else took that notice (synchronize() on the
/// event, an elapsedTime() before) leaves it waiting for ever: so no event is synchronized here,
/// and a pair is read once. An event keeps its old time until it comes out of PyTorch's pool again,
/// so each step takes its events from there. Times are taken in callbacks that may be late or
/// reversed, on which elapsedTime() throws: the span of that step is then unknown, as is that of a
/// step whose events were needed again before its span could be read.
class DeviceSpanMeter {
 public:
  /// Both outlive the meter.
  DeviceSpanMeter(Recorder& recorder, EventSource& events) : recorder_(recorder), events_(events) {}
  ~DeviceSpanMeter();
  DeviceSpanMeter(const DeviceSpanMeter&) = delete;
  DeviceSpanMeter& operator=(const DeviceSpanMeter&) = delete;

  /// The batch of `step` is on the device: what is queued from now on is the step's work.
  void beginStep(std::uint32_t step);
  /// The step's last op has been queued.
  void endStep();
  /// Records the spans of the steps since the last call. To be called between steps, where the host
  /// has just waited for the device anyway. Does nothing while the device has not passed the last
  /// step's end: those spans may be had another time.
  void readWhereIdle();

 private:
  /// One is enough where every step waits for its batch; the others bridge steps that do not.
  static constexpr std::size_t kPairs = 4;

  struct Pair {
    enum class State { kEmpty, kBegun, kPending, kDone };
    State state = State::kEmpty;
    EventSource::Id start = 0;
    EventSource::Id end = 0;
    std::uint32_t step = 0;
  };

  [[nodiscard]] bool isIdle();
  [[nodiscard]] Pair* freePair();
  void drop(Pair& pair);
  void read(Pair& pair);

  Recorder& recorder_;
  EventSource& events_;
  std::array<Pair, kPairs> pairs_{};
  std::size_t next_ = 0;  // the pair that was used longest ago
  Pair* begun_ = nullptr;
  Pair* newest_ = nullptr;  // the last step's; nullptr where that step has none
};

}  // namespace highwater::probe
