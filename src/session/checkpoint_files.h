#pragma once

#include <array>
#include <memory>

#include "core/checkpoint_slots.h"
#include "core/result.h"
#include "session/session.h"
#include "session/unique_fd.h"

namespace highwater::session {

/// The files in which the workers of a training keep its newest checkpoint. They have no name, so
/// that nothing is left behind however the processes end, and lie in the folder for temporary
/// files, which the system can write to disk where memory is short.
class CheckpointFiles {
 public:
  /// Error: kFailed with the system's reason.
  [[nodiscard]] static Result<std::shared_ptr<const CheckpointFiles>> create();

  /// The descriptors, which a worker inherits under the same numbers.
  [[nodiscard]] std::array<int, 2> descriptors() const { return {first_.get(), second_.get()}; }
  /// The step of the newest checkpoint; nullopt where there is none.
  [[nodiscard]] std::optional<std::uint32_t> step() const;

 private:
  CheckpointFiles(UniqueFd first, UniqueFd second)
      : first_(std::move(first)), second_(std::move(second)) {}

  UniqueFd first_, second_;
};

/// Makes the options of a worker that continues a run from the checkpoint in `options.checkpoint`,
/// with `knobs`. `run` is the description of that run, and `reachedStep` the last step that it
/// began: changes that were scheduled up to there are part of `knobs`. `of` says in the new
/// recording what is continued and what has changed.
[[nodiscard]] LaunchOptions continuedOptions(LaunchOptions options, const RunDescription& run,
                                             const Knobs& knobs, std::uint32_t reachedStep,
                                             const QString& of);

}  // namespace highwater::session
