#pragma once

#include <QSignalSpy>
#include <vector>

#include "core/message_sink.h"
#include "session/session.h"
#include "wire/codec.h"

namespace highwater::test {

/// Counts the messages that a session hands to its sinks, and checks them against their frames.
class CountingSink final : public MessageSink {
 public:
  void take(std::span<const std::uint8_t> frame, const Message& message) override {
    ++messages;
    auto again = wire::decode(frame);
    if (!again || again->index() != message.index()) ++mismatches;
    afterEnd += ends.empty() ? 0 : 1;
    if (const auto* end = std::get_if<RunEnd>(&message)) ends.push_back(*end);
    if (const auto* batch = std::get_if<EventBatch>(&message)) {
      for (const events::StepRecord& step : batch->steps) batchSizes.push_back(step.batch_size());
    }
  }

  int messages = 0;
  int mismatches = 0;
  int afterEnd = 0;
  std::vector<RunEnd> ends;
  std::vector<std::uint32_t> batchSizes;  ///< of each step, in their order
};

/// Options that start the fake worker in one of its modes.
inline session::LaunchOptions fakeWorker(const char* mode, std::uint32_t steps = 0) {
  session::LaunchOptions options;
  options.workerProgram = QStringLiteral(HIGHWATER_FAKE_WORKER);
  options.steps = steps;
  options.environment = {QStringLiteral("FAKE_WORKER=") + QLatin1String(mode)};
  return options;
}

}  // namespace highwater::test
