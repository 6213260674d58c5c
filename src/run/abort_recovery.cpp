#include "run/abort_recovery.h"

#include <algorithm>
#include <string>

#include "core/knobs.h"
#include "session/checkpoint_files.h"
#include "session/worker_process.h"

namespace highwater::run {

AbortRecovery::Ended AbortRecovery::Ended::of(const RunEnd& end,
                                              const session::LaunchOptions& launched,
                                              const analysis::LiveStore& store,
                                              const QString& recording) {
  const auto& steps = store.steps().records;
  return {.end = end,
          .launched = launched,
          .recording = recording,
          .run = store.run(),
          .checkpointStep = launched.checkpoint ? launched.checkpoint->step() : std::nullopt,
          .lastStep = steps.empty() ? 0 : steps.back().step(),
          .begunStep = store.runningStep(),
          .knobs = store.lastingKnobs()};
}

Result<std::optional<AbortRecovery::Next>> AbortRecovery::after(const Ended& ended) {
  const bool isAbort = ended.end.reason == RunEnd::Reason::kCrashed && ended.end.signal != 0;
  if (!isAbort || ended.launched.afterAbort == session::AfterAbort::kStop)
    return std::optional<Next>();
  const std::uint32_t from = ended.checkpointStep.value_or(0);
  const QString killed =
      QStringLiteral("worker was killed by ") + session::signalText(ended.end.signal);
  const bool began = ended.lastStep > 0 || ended.begunStep > from;
  if (!began && (from > 0 || aborts_ > 0)) {
    if (++starts_ >= kMostStarts) {
      return failure(std::to_string(starts_) +
                     " new workers in a row were killed before they began a step");
    }
    return std::optional(Next{.options = ended.launched,
                              .fromStep = from,
                              .how = "the new " + killed + " before it began a step",
                              .startsAgain = true});
  }
  if (!ended.run) return std::optional<Next>();
  starts_ = 0;
  if (from == 0 && ended.lastStep > 0) {
    return failure("there is no checkpoint to continue from");
  }
  const bool gotOn = aborts_ > 0 && from > abortedStep_;
  aborts_ = gotOn ? 1 : aborts_ + 1;
  abortedStep_ = std::max(abortedStep_, ended.lastStep);
  if (aborts_ >= kMostAborts) {
    return failure("the worker was killed " + std::to_string(aborts_) +
                   " times in a row without a checkpoint beyond step " +
                   std::to_string(abortedStep_) + ", the last with batch size " +
                   std::to_string(ended.knobs.batchSize));
  }
  Knobs knobs = ended.knobs;
  knobs.batchSize = std::max(knobs.batchSize / 2, std::min(1u, knobs.batchSize));
  const QString batch =
      "; " + QString::fromStdString(knobChangeText(*knobOf(events::MarkerKind::BatchSize),
                                                   ended.knobs.batchSize, knobs.batchSize));
  const QString of = from > 0 ? ended.recording + ", whose " + killed + batch : QString();
  return std::optional(Next{
      .options = session::continuedOptions(ended.launched, *ended.run, knobs, ended.begunStep, of),
      .fromStep = from,
      .how = "the " + killed + batch});
}

}  // namespace highwater::run
