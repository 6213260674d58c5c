#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/messages.h"

namespace highwater::session {

/// Where a worker was when it last spoke: for the sentence that says how a run ended.
class LastSeen {
 public:
  void take(const Message& message);

  /// The innermost span that was open, empty where none was open for long enough to be published.
  [[nodiscard]] std::string openOp() const;
  /// What the training thread stands in.
  struct Standing {
    std::uint32_t step = 0;  ///< 0: outside of any step
    events::Phase phase = events::Phase::None;
    std::string op;                   ///< the innermost span
    std::chrono::nanoseconds age{0};  ///< of that span, when it was last seen
  };
  /// Absent where no span was open for long enough to be published.
  [[nodiscard]] std::optional<Standing> standing() const;
  /// "in step 31, forward, while aten::mm was open", "after step 60"; empty before the first step.
  [[nodiscard]] std::string where() const;

 private:
  void takeBatch(const EventBatch& batch);
  [[nodiscard]] bool openIsFresh() const;
  [[nodiscard]] std::uint32_t runningStep() const;

  std::unordered_map<NameId, std::string> names_;
  events::OpenSpan open_;
  std::int64_t completeUpToNs_ = 0;
  std::uint32_t planned_ = 0;
  std::uint32_t beatStep_ = 0;
  std::uint32_t stepsDone_ = 0;
};

}  // namespace highwater::session
