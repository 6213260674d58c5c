#pragma once

#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include "core/message_sink.h"
#include "core/messages.h"

/// A plausible run on a simulated device, made up: for tests that need a stream but no worker.
namespace highwater::test {

struct SampleRunOptions {
  std::uint32_t seed = 1;
  std::uint32_t steps = 60;
  std::uint32_t batchSize = 16;
  std::uint32_t sequenceLength = 64;
  std::uint32_t lossEvery = 5;           ///< a deliberate sync point, and the step's loss
  std::uint32_t doubleBatchAtStep = 30;  ///< with its marker; 0: never
  std::uint32_t emptyCacheAtStep = 45;   ///< with its marker; 0: never
  std::uint32_t fallbackEvery = 4;       ///< aten::embedding_renorm_ in the forward phase; 0: never
  std::uint32_t unplannedSyncEvery = 7;  ///< aten::nonzero in the backward phase; 0: never
  std::uint32_t evaluateEvery = 20;
  int samplingHz = 50;
  float gpuPercent = -1;
  std::int64_t batchEveryNs = 100'000'000;  ///< of run time to one EventBatch
  bool ended = true;                        ///< with Goodbye and RunEnd
  /// Steps from here on record ops: a "aten::linear" with two ops within in each phase (one of them
  /// the stall, where the phase has one), and a node of backward on a thread of its own; 0: none.
  std::uint32_t opsFromStep = 0;
};

/// An EventBatch that owns its events.
struct OwnedBatch : PerEventKind<EventVector> {
  std::int64_t completeUpToNs = 0;

  /// Valid as long as this batch is, unchanged.
  [[nodiscard]] EventBatch view() const;
};

/// Ids that the sample run defines.
enum SampleName : NameId {
  kScalarRead = 2,  ///< "aten::_local_scalar_dense"
  kCopy = 3,        ///< "aten::_to_copy"
  kNonzero = 4,     ///< "aten::nonzero"
  kRenorm = 5,      ///< "aten::embedding_renorm_"
  kNoteText = 6,    ///< "looks good"
  kLinear = 7,      ///< "aten::linear"
  kMm = 8,          ///< "aten::mm"
  kNode = 9,        ///< "autograd::engine::evaluate_function: MmBackward0"
  kShapes = 10,     ///< "[16, 64] float32"
};
enum SampleModule : ModuleId {
  kEncoder = 2,    ///< "encoder"
  kLayers = 3,     ///< "encoder.layers"
  kLayer1 = 4,     ///< "encoder.layers.1"
  kEmbedding = 5,  ///< "embedding"
};
enum SampleCallSite : CallSiteId {
  kTrainStep = 2,  ///< "train.cpp:41 (trainStep)"
  kForward = 3,    ///< "model.cpp:112 (forward)", called by kTrainStep
};
inline constexpr ThreadId kTrainingThread = 1;
inline constexpr ThreadId kBackwardThread = 2;

using OwnedMessage = std::variant<Hello, RunDescription, Definitions, OwnedBatch, Goodbye, RunEnd>;

/// The run as messages in the order a worker sends them; the same for the same options.
[[nodiscard]] std::vector<OwnedMessage> makeSampleRun(const SampleRunOptions& options = {});

/// Calls visit(message) for each; what a batch's spans point to lives as long as `run`.
void forEachMessage(const std::vector<OwnedMessage>& run,
                    const std::function<void(const Message&)>& visit);
/// Hands each message to the sink, with an empty frame.
void feed(const std::vector<OwnedMessage>& run, MessageSink& sink);

}  // namespace highwater::test
