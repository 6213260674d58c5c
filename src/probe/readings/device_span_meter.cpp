#include "probe/readings/device_span_meter.h"

#include <cmath>
#include <exception>
#include <string_view>

#include "core/units.h"

namespace highwater::probe {
namespace {

constexpr double kLongestMs = 24.0 * 3600 * 1000;

/// True for an error of work that the device did not do: MPSEvent.mm's of a time, and
/// MPSStream.mm's of a command buffer, which any later call may report.
bool isOfFailedWork(std::string_view error) {
  return error.find("the GPU work for an event did not complete") != std::string_view::npos ||
         error.find("command buffer execution failed") != std::string_view::npos;
}

}  // namespace

DeviceSpanMeter::~DeviceSpanMeter() {
  for (Pair& pair : pairs_) drop(pair);
}

void DeviceSpanMeter::drop(Pair& pair) {
  if (pair.state == Pair::State::kEmpty) return;
  pair.state = Pair::State::kEmpty;
  for (const EventSource::Id event : {pair.start, pair.end}) {
    try {
      events_.release(event);
    } catch (const std::exception&) {
      // The source does not know the event, so there is nothing to release.
    }
  }
}

DeviceSpanMeter::Pair* DeviceSpanMeter::freePair() {
  Pair& pair = pairs_[next_];
  // Callbacks of a pair that is still queued are yet to come.
  if (pair.state == Pair::State::kPending && !events_.passed(pair.end)) return nullptr;
  // Released only now, since the start's callback may come after the pair was read.
  drop(pair);
  next_ = (next_ + 1) % kPairs;
  return &pair;
}

void DeviceSpanMeter::beginStep(std::uint32_t step) {
  begun_ = newest_ = nullptr;
  try {
    Pair* pair = freePair();
    if (!pair) return;
    pair->start = events_.acquire();
    try {
      pair->end = events_.acquire();
    } catch (const std::exception&) {
      events_.release(pair->start);
      throw;
    }
    pair->state = Pair::State::kBegun;
    pair->step = step;
    events_.record(pair->start);
    begun_ = pair;
  } catch (const std::exception& error) {
    noteFailure(error);  // this step's span stays unknown
  }
}

void DeviceSpanMeter::endStep() {
  if (!begun_) return;
  Pair& pair = *begun_;
  begun_ = nullptr;
  try {
    events_.record(pair.end);
    pair.state = Pair::State::kPending;
    newest_ = &pair;
  } catch (const std::exception& error) {
    noteFailure(error);
    pair.state = Pair::State::kDone;
  }
}

void DeviceSpanMeter::noteFailure(const std::exception& error) {
  if (isOfFailedWork(error.what())) workFailed_ = true;
}

bool DeviceSpanMeter::isIdle() {
  if (workFailed_) return false;
  try {
    return newest_ && newest_->state == Pair::State::kPending && events_.passed(newest_->end);
  } catch (const std::exception& error) {
    noteFailure(error);
    return false;
  }
}

void DeviceSpanMeter::readWhereIdle() {
  if (!isIdle()) return;
  for (std::size_t i = 0; i < kPairs; ++i) {
    Pair& pair = pairs_[(next_ + i) % kPairs];
    if (pair.state == Pair::State::kPending && !workFailed_) read(pair);
  }
}

void DeviceSpanMeter::read(Pair& pair) {
  pair.state = Pair::State::kDone;
  double elapsed = 0;
  try {
    elapsed = events_.elapsedMs(pair.start, pair.end);
  } catch (const std::exception& error) {
    noteFailure(error);
    return;
  }
  if (!std::isfinite(elapsed) || elapsed < 0 || elapsed > kLongestMs) return;
  recorder_.record([&](std::int64_t nowNs) {
    return events::DeviceSpan(nowNs, std::llround(elapsed * kNsPerMs), pair.step);
  });
}

}  // namespace highwater::probe
