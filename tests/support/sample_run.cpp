#include "support/sample_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "core/names.h"
#include "core/units.h"

namespace highwater::test {
namespace {

using events::Phase;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kFirstStepNs = 250 * kMs;
constexpr double kWeightsBytes = 180.0 * kMiB;
constexpr double kGradientsBytes = 60.0 * kMiB;
constexpr double kActivationBytesPerRow = 24.0 * kMiB;
constexpr std::uint64_t kRecommendedBytes = 8 * kGiB;

/// Host time of each phase at batch 16, in ms, in the order of kPhases.
constexpr std::array<double, 6> kPhaseMs = {0.6, 1.2, 14, 0.3, 19, 3.5};

/// A knot of the memory curve; straight lines join them.
struct Knot {
  std::int64_t timeNs;
  double currentBytes;
};

template <typename Event>
using Cursor = std::size_t;

class Generator {
 public:
  explicit Generator(const SampleRunOptions& options) : options_(options), random_(options.seed) {}

  std::vector<OwnedMessage> run() {
    for (std::uint32_t step = 1; step <= options_.steps; ++step) addStep(step);
    addSamples();
    std::vector<OwnedMessage> messages = {hello(), description(), definitions()};
    cutIntoBatches(messages);
    if (options_.ended) {
      messages.emplace_back(Goodbye{options_.steps, false});
      messages.emplace_back(RunEnd{RunEnd::Reason::kFinished, 0, 0, "all steps done", "", ""});
    }
    return messages;
  }

 private:
  double jitter() { return 0.9 + 0.2 * static_cast<double>(random_() >> 8) / (1 << 24); }

  [[nodiscard]] std::uint32_t batchSizeAt(std::uint32_t step) const {
    const bool doubled = options_.doubleBatchAtStep != 0 && step >= options_.doubleBatchAtStep;
    return doubled ? options_.batchSize * 2 : options_.batchSize;
  }
  static bool isTurn(std::uint32_t step, std::uint32_t every) {
    return every != 0 && step % every == 0;
  }

  void addStep(std::uint32_t step) {
    const std::uint32_t batchSize = batchSizeAt(step);
    addKnobMarkers(step);
    const std::int64_t beginNs = nowNs_;
    for (const Phase phase : kPhases) {
      const std::int64_t phaseBeginNs = nowNs_;
      const double scale = 0.4 + 0.6 * batchSize / 16.0;
      const double ms = kPhaseMs[static_cast<std::size_t>(phase) - 1] * scale * jitter();
      nowNs_ += static_cast<std::int64_t>(ms * kNsPerMs);
      addStalls(step, phase, phaseBeginNs);
      if (options_.opsFromStep != 0 && step >= options_.opsFromStep) {
        addOps(step, phase, phaseBeginNs);
      }
      all_.phases.emplace_back(phaseBeginNs, nowNs_ - phaseBeginNs, step, kTrainingThread, phase);
      knots_.push_back({nowNs_, bytesAfter(phase, batchSize)});
      boundaries_.push_back(nowNs_);
    }
    const bool lossRead = isTurn(step, options_.lossEvery);
    const double loss = 0.08 + 1.02 * std::exp(-static_cast<double>(step) / 40) * jitter();
    const double peak = bytesAfter(Phase::Forward, batchSize);
    driverPeak_ = std::max(driverPeak_, driverFor(peak));
    all_.steps.emplace_back(
        beginNs, nowNs_ - beginNs, static_cast<std::uint64_t>(peak), driverPeak_, -1, step,
        batchSize, options_.sequenceLength, batchSize * options_.sequenceLength,
        lossRead ? static_cast<float>(loss) : std::numeric_limits<float>::quiet_NaN(), lossRead,
        true);
    if (isTurn(step, options_.evaluateEvery)) {
      all_.evaluations.emplace_back(nowNs_, step, 120,
                                    static_cast<float>(1 - 0.62 * std::exp(step / -50.0)),
                                    static_cast<float>(loss));
    }
    stepEnds_.push_back(nowNs_);
    addDeviceSpanOfLastStep(step);
    nowNs_ += kMs / 5;
  }

  /// Known once the next step's batch has waited for the device.
  void addDeviceSpanOfLastStep(std::uint32_t step) {
    if (all_.steps.size() < 2) return;
    const events::StepRecord& last = all_.steps[all_.steps.size() - 2];
    all_.deviceSpans.emplace_back(all_.steps.back().begin_ns() + kMs, last.duration_ns() * 9 / 10,
                                  step - 1);
  }

  void addKnobMarkers(std::uint32_t step) {
    if (step == options_.doubleBatchAtStep) {
      all_.markers.emplace_back(nowNs_, options_.batchSize, options_.batchSize * 2.0, step, kNoId,
                                events::MarkerKind::BatchSize);
    }
    if (step == options_.emptyCacheAtStep) {
      all_.markers.emplace_back(nowNs_, 0, 0, step, kNoId, events::MarkerKind::CacheEmptied);
      all_.markers.emplace_back(nowNs_, 0, 0, step, kNoteText, events::MarkerKind::Note);
    }
  }

  /// What of a phase is a sync point or a fallback; both end with the phase or before.
  void addStalls(std::uint32_t step, Phase phase, std::int64_t beginNs) {
    const std::int64_t lengthNs = nowNs_ - beginNs;
    const auto sync = [&](NameId op, ModuleId module, events::SyncKind kind, std::uint64_t bytes,
                          bool deliberate) {
      all_.syncPoints.emplace_back(beginNs + lengthNs / 4, lengthNs / 2, bytes, step, op, module,
                                   kTrainStep, kTrainingThread, kind, phase, deliberate);
    };
    if (phase == Phase::DeviceMove) {
      const std::uint64_t ids = std::uint64_t{8} * batchSizeAt(step) * options_.sequenceLength;
      sync(kCopy, kNoId, events::SyncKind::CopyToDevice, ids, true);
    }
    if (phase == Phase::LossRead && isTurn(step, options_.lossEvery)) {
      sync(kScalarRead, kNoId, events::SyncKind::ScalarRead, 4, true);
    }
    if (phase == Phase::Backward && isTurn(step, options_.unplannedSyncEvery)) {
      sync(kNonzero, kLayer1, events::SyncKind::Nonzero, 8, false);
    }
    if (phase == Phase::Forward && isTurn(step, options_.fallbackEvery)) {
      all_.fallbacks.emplace_back(beginNs + lengthNs / 8, lengthNs / 3, lengthNs / 9, 2 * kMiB,
                                  2 * kMiB, step, kRenorm, kEmbedding, kForward, kTrainingThread,
                                  phase);
    }
  }

  /// In the order in which ops end: what is within comes first.
  void addOps(std::uint32_t step, Phase phase, std::int64_t beginNs) {
    const std::int64_t lengthNs = nowNs_ - beginNs;
    const auto op = [&](NameId name, std::int64_t from, std::int64_t length, ThreadId thread,
                        std::uint16_t depth, bool backward) {
      all_.ops.emplace_back(from, length, static_cast<std::int64_t>(kWeightsBytes), 4 * kMiB, step,
                            name, kLayer1, kShapes, thread, depth, phase, backward);
    };
    // A stall's op begins when the stall does, as the probe stamps them.
    const bool fallback = !all_.fallbacks.empty() && all_.fallbacks.back().begin_ns() >= beginNs;
    const bool sync = !all_.syncPoints.empty() && all_.syncPoints.back().begin_ns() >= beginNs;
    if (fallback) {
      const events::FallbackEvent& it = all_.fallbacks.back();
      op(it.op(), it.begin_ns(), it.duration_ns(), kTrainingThread, 1, false);
    } else if (sync) {
      const events::SyncPoint& it = all_.syncPoints.back();
      op(it.op(), it.begin_ns(), it.duration_ns(), kTrainingThread, 1, false);
    } else {
      op(kMm, beginNs + lengthNs / 8, lengthNs / 3, kTrainingThread, 1, false);
    }
    op(kMm, beginNs + lengthNs * 5 / 6, lengthNs / 10, kTrainingThread, 1, false);
    op(kLinear, beginNs + lengthNs / 16, lengthNs * 15 / 16, kTrainingThread, 0, false);
    if (phase == Phase::Backward) op(kNode, beginNs, lengthNs, kBackwardThread, 0, true);
  }

  [[nodiscard]] static double bytesAfter(Phase phase, std::uint32_t batchSize) {
    const double full = kWeightsBytes + kActivationBytesPerRow * batchSize;
    switch (phase) {
      case Phase::DeviceMove:
        return kWeightsBytes + 2.0 * kMiB;
      case Phase::Forward:
      case Phase::LossRead:
        return full;
      case Phase::Backward:
        return kWeightsBytes + kGradientsBytes;
      default:
        return kWeightsBytes;
    }
  }
  /// The allocator takes heaps of 32 MiB, and keeps them.
  static std::uint64_t driverFor(double currentBytes) {
    return (static_cast<std::uint64_t>(currentBytes) / (32 * kMiB) + 2) * 32 * kMiB;
  }

  [[nodiscard]] double currentAt(std::int64_t ns) const {
    const auto next =
        std::lower_bound(knots_.begin(), knots_.end(), ns,
                         [](const Knot& knot, std::int64_t t) { return knot.timeNs < t; });
    if (next == knots_.begin() || next == knots_.end()) return kWeightsBytes;
    const Knot& last = *(next - 1);
    const double share = static_cast<double>(ns - last.timeNs) /
                         static_cast<double>(std::max<std::int64_t>(next->timeNs - last.timeNs, 1));
    return last.currentBytes + share * (next->currentBytes - last.currentBytes);
  }

  void addSamples() {
    std::vector<std::pair<std::int64_t, events::SampleOrigin>> times;
    const std::int64_t periodNs = 1'000'000'000 / options_.samplingHz;
    for (std::int64_t ns = periodNs; ns < nowNs_; ns += periodNs) {
      times.emplace_back(ns, events::SampleOrigin::Timer);
    }
    for (const std::int64_t ns : boundaries_) {
      times.emplace_back(ns, events::SampleOrigin::PhaseBoundary);
    }
    std::sort(times.begin(), times.end());
    std::uint64_t driver = driverFor(kWeightsBytes);
    for (const auto& [ns, origin] : times) {
      const double current = currentAt(ns);
      driver = std::max(driver, driverFor(current));
      all_.memorySamples.emplace_back(ns, static_cast<std::uint64_t>(current), driver,
                                      kRecommendedBytes, origin);
    }
    for (std::int64_t ns = 100 * kMs; ns < nowNs_; ns += 100 * kMs) {
      const auto footprint = static_cast<std::int64_t>(currentAt(ns) + 400.0 * kMiB);
      all_.systemSamples.emplace_back(ns, footprint, static_cast<std::int64_t>(20 * kGiB), -1,
                                      options_.gpuPercent, events::Pressure::Normal);
    }
  }

  /// Hands each event to the batch that is complete when the event is over.
  void cutIntoBatches(std::vector<OwnedMessage>& messages) {
    // Every kind is in the order in which its events end: one pass with a cursor for each.
    PerEventKind<Cursor> cursors;
    for (std::int64_t from = 0; from < nowNs_; from += options_.batchEveryNs) {
      const std::int64_t to = std::min(from + options_.batchEveryNs, nowNs_);
      OwnedBatch batch;
      batch.completeUpToNs = to;
      forEachEventType([&]<typename Event>(std::type_identity<Event>) {
        const auto& source = all_.of<Event>();
        for (std::size_t& next = cursors.of<Event>();
             next < source.size() && endNsOf(source[next]) <= to; ++next) {
          batch.of<Event>().push_back(source[next]);
        }
      });
      const auto done =
          std::upper_bound(stepEnds_.begin(), stepEnds_.end(), to) - stepEnds_.begin();
      const auto running = to < kFirstStepNs ? 0 : static_cast<std::uint32_t>(done) + 1;
      batch.heartbeats.emplace_back(to, std::min(running, options_.steps), false);
      messages.emplace_back(std::move(batch));
    }
  }

  [[nodiscard]] static Hello hello() {
    Hello hello;
    hello.protocolVersion = 1;
    hello.workerVersion = "0.1.0";
    hello.torchVersion = "2.13.0";
    hello.blas = "reference BLAS (/usr/lib/blas/libblas.so.3)";
    hello.platform = "Linux x86_64";
    hello.processId = 4711;
    hello.clock = {1'000'000'000, 1'750'000'000'000'000'000};
    hello.device = {"auto", "mps",
                    true,   false,
                    false,  "there is no Metal on Linux, so the simulated MPS device was chosen"};
    hello.limits = {kRecommendedBytes, 1.4, 1.7, 32 * kGiB};
    hello.environment = {{"PYTORCH_ENABLE_MPS_FALLBACK", "1"},
                         {"PYTORCH_MPS_HIGH_WATERMARK_RATIO", std::nullopt}};
    return hello;
  }

  [[nodiscard]] RunDescription description() const {
    RunDescription run;
    run.workload = "issue-classifier";
    run.preset = "small";
    run.dtype = "float32";
    run.dataset = "issues.csv";
    run.trainRows = 600;
    run.heldOutRows = 120;
    run.labels = {"needs_docs", "needs_test", "needs_review"};
    run.vocabularySize = 2400;
    run.width = 128;
    run.layers = 2;
    run.heads = 4;
    run.parameters = 720'000;
    run.knobs = {options_.batchSize, options_.sequenceLength, options_.lossEvery};
    run.maxBatchSize = 256;
    run.maxSequenceLength = 256;
    run.plannedSteps = options_.steps;
    return run;
  }

  [[nodiscard]] static Definitions definitions() {
    Definitions definitions;
    definitions.names = {{kScalarRead, "aten::_local_scalar_dense"},
                         {kCopy, "aten::_to_copy"},
                         {kNonzero, "aten::nonzero"},
                         {kRenorm, "aten::embedding_renorm_"},
                         {kNoteText, "looks good"},
                         {kLinear, "aten::linear"},
                         {kMm, "aten::mm"},
                         {kNode, "autograd::engine::evaluate_function: MmBackward0"},
                         {kShapes, "[16, 64] float32"}};
    definitions.modules = {{kEncoder, kNoId, "encoder"},
                           {kLayers, kEncoder, "layers"},
                           {kLayer1, kLayers, "1"},
                           {kEmbedding, kNoId, "embedding"}};
    definitions.callSites = {{kTrainStep, kNoId, "trainStep", "src/worker/train.cpp", 41},
                             {kForward, kTrainStep, "forward", "src/worker/model.cpp", 112}};
    definitions.threads = {{kTrainingThread, "training"}, {kBackwardThread, "backward"}};
    return definitions;
  }

  SampleRunOptions options_;
  std::mt19937 random_;
  OwnedBatch all_;
  std::vector<Knot> knots_;
  std::vector<std::int64_t> boundaries_;
  std::vector<std::int64_t> stepEnds_;
  std::int64_t nowNs_ = kFirstStepNs;
  std::uint64_t driverPeak_ = 0;
};

}  // namespace

EventBatch OwnedBatch::view() const {
  EventBatch batch;
  batch.completeUpToNs = completeUpToNs;
  forEachEventType(
      [&]<typename Event>(std::type_identity<Event>) { batch.of<Event>() = of<Event>(); });
  return batch;
}

std::vector<OwnedMessage> makeSampleRun(const SampleRunOptions& options) {
  return Generator(options).run();
}

void forEachMessage(const std::vector<OwnedMessage>& run,
                    const std::function<void(const Message&)>& visit) {
  for (const OwnedMessage& owned : run) {
    std::visit(
        [&visit](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, OwnedBatch>) {
            visit(Message(value.view()));
          } else {
            visit(Message(value));
          }
        },
        owned);
  }
}

void feed(const std::vector<OwnedMessage>& run, MessageSink& sink) {
  forEachMessage(run, [&sink](const Message& message) { sink.take({}, message); });
}

}  // namespace highwater::test
