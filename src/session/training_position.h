#pragma once

#include <QString>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/definition_table.h"
#include "core/messages.h"
#include "core/open_span_tracker.h"

namespace highwater::session {

/// Describes training that makes no progress: it stands still in one op or phase.
struct Stall {
  std::uint32_t step = 0;  ///< 0: between two steps
  events::Phase phase = events::Phase::None;
  std::string op;  ///< the innermost open span
  std::chrono::nanoseconds duration{0};
};

/// Describes a stall for the user: "step 31 has stood in loss read for 12 s, in
/// aten::_local_scalar_dense".
[[nodiscard]] QString stallText(const Stall& stall);

/// Finds out from a worker's messages which step, phase and op the training is in.
class TrainingPosition {
 public:
  /// Takes the next message of the worker, in the order of the stream.
  void take(const Message& message);

  /// The name of the op or phase that the training is in (the innermost open span), cut to 256
  /// bytes. Empty if the worker reports none as open.
  [[nodiscard]] std::string openOp() const;
  /// The op or phase that the training is in, and for how long it has stood still there, however
  /// short: the caller compares it with its limit. Nothing if the worker reports none as open.
  [[nodiscard]] std::optional<Stall> stall() const;
  /// The number of the newest step that has ended.
  [[nodiscard]] std::uint32_t stepsDone() const { return stepsDone_; }
  /// Describes for the user where the training is: "in step 31, forward, while aten::mm was open",
  /// "after step 60". Empty before the first step.
  [[nodiscard]] std::string text() const;

 private:
  DefinitionTable names_;
  OpenSpanTracker openSpans_;
  std::uint32_t plannedSteps_ = 0;
  std::uint32_t heartbeatStep_ = 0;
  std::uint32_t stepsDone_ = 0;
};

}  // namespace highwater::session
