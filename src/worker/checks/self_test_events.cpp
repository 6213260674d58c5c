#include <thread>

#include "probe/readings/mps_device.h"
#include "worker/checks/self_test.h"
#include "worker/checks/self_test_tools.h"

namespace highwater::worker {
namespace {

using Clock = std::chrono::steady_clock;
using probe::EventSource;

constexpr double kEventQueueMs = 150;
/// Longer than any of these checks takes, shorter than the time limit of the process.
constexpr double kPassLimitMs = 5000;

/// Polls, as the probe does: after a synchronize elapsed() may block for ever.
bool waitUntilPassed(EventSource& events, EventSource::Id event) {
  const auto begin = Clock::now();
  while (!events.passed(event)) {
    if (msSince(begin) > kPassLimitMs) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

CheckResult recordingDoesNotWait() {
  QueueLoad load(kEventQueueMs);
  const auto events = probe::makeMpsEvents();
  const EventSource::Id event = events->acquire();
  load.submit();
  const auto begin = Clock::now();
  events->record(event);
  const double recordMs = msSince(begin);
  const bool passedAtOnce = events->passed(event);
  const double queryMs = msSince(begin) - recordMs;
  const bool passedLater = waitUntilPassed(*events, event);
  const double queueMs = msSince(begin);
  const std::vector<Measure> measures = {
      {"record", recordMs, "ms"}, {"query", queryMs, "ms"}, {"queue", queueMs, "ms"}};
  if (!passedLater) return failed("an event behind the queue never passes", measures);
  if (queueMs < kEventQueueMs / 4) return unknown("the queue was empty too soon to tell", measures);
  if (passedAtOnce) return failed("query says passed while the queue is busy", measures);
  if (recordMs + queryMs > queueMs / 2) return failed("record or query waits", measures);
  return passed("record and query do not wait; the event passes with the queue", measures);
}

CheckResult pairGivesTheSpan() {
  QueueLoad load(kEventQueueMs);
  const auto events = probe::makeMpsEvents();
  const EventSource::Id start = events->acquire(), end = events->acquire();
  const auto begin = Clock::now();
  events->record(start);
  load.submit();
  events->record(end);
  if (!waitUntilPassed(*events, end)) return failed("the end never passes");
  const double wallMs = msSince(begin);
  const double elapsedMs = events->elapsedMs(start, end);
  const std::vector<Measure> measures = {{"elapsed", elapsedMs, "ms"}, {"wall", wallMs, "ms"}};
  // The wall time includes polling and launching.
  if (elapsedMs < wallMs / 4 || elapsedMs > wallMs * 1.1 + 2) {
    return failed("the span of a pair differs from the time that the work took", measures);
  }
  return passed("a pair around work, read once after its end has passed, gives its time", measures);
}

CheckResult pairsFollowEachOther() {
  // As in the probe: each step acquires events and releases them after reading.
  constexpr int kSteps = 8;
  QueueLoad load(kEventQueueMs / kSteps);
  const auto events = probe::makeMpsEvents();
  double sumMs = 0;
  const auto begin = Clock::now();
  for (int step = 0; step < kSteps; ++step) {
    const EventSource::Id start = events->acquire(), end = events->acquire();
    events->record(start);
    load.submit();
    events->record(end);
    if (!waitUntilPassed(*events, end)) return failed("an end never passes");
    const double elapsedMs = events->elapsedMs(start, end);
    if (!(elapsedMs >= 0)) return failed("a span is negative", {{"elapsed", elapsedMs, "ms"}});
    sumMs += elapsedMs;
    events->release(start);
    events->release(end);
  }
  const double wallMs = msSince(begin);
  const std::vector<Measure> measures = {{"sum of spans", sumMs, "ms"}, {"wall", wallMs, "ms"}};
  if (sumMs > wallMs * 1.1 + 2 || sumMs < wallMs / 5) {
    return failed("the spans of steps do not add up to their time", measures);
  }
  return passed("a fresh pair for each step: the spans add up", measures);
}

}  // namespace

std::vector<SelfCheck> eventChecks() {
  const std::string reliedOnBy = "probe/device_span_meter, probe/mps_device";
  return {
      {"event-query",
       "Recording an event and querying it do not block the host.",
       reliedOnBy,
       {},
       [] { return bestOf(&recordingDoesNotWait); },
       {}},
      {"event-elapsed",
       "A pair of events around work gives its time on the device, if it is read once and without "
       "a synchronize before.",
       reliedOnBy,
       {},
       [] { return bestOf(&pairGivesTheSpan); },
       {}},
      {"event-reuse",
       "Events can be released and acquired again at each step.",
       reliedOnBy,
       {},
       [] { return bestOf(&pairsFollowEachOther); },
       {}},
  };
}

}  // namespace highwater::worker
