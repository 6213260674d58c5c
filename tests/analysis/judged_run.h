#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analysis/findings/findings.h"
#include "core/units.h"
#include "step_events.h"
#include "support/text.h"

/// A made-up run of equal steps, each part of which a test can change, and its findings.
namespace highwater::test {

using namespace highwater::analysis;

inline constexpr std::int64_t kStepMs = 50;
inline constexpr std::uint64_t kRecommended = 1024 * kMiB;
inline constexpr std::uint64_t kSystemMemory = 1536 * kMiB;

/// A run of equal steps of 50 ms, each with its batch assembled in 1 ms and a device span of 45 ms.
struct JudgedRun {
  std::uint32_t steps = 40;
  std::int64_t assemblyMs = 1, deviceMs = 45;
  std::uint32_t lossEvery = 10;
  std::function<std::uint64_t(std::uint32_t)> current = [](auto) { return 100 * kMiB; };
  std::function<std::uint64_t(std::uint32_t)> driver = [](auto) { return 200 * kMiB; };
  std::function<std::uint32_t(std::uint32_t)> length = [](auto) { return 64; };
  std::function<std::uint32_t(std::uint32_t)> batchSize = [](auto) { return 16; };
  /// More time in batch assembly, in ms: the step is as much longer.
  std::function<std::int64_t(std::uint32_t)> moreAssemblyMs = [](auto) { return 0; };
  /// A backward of so many ms at the end of the step, which is as much longer.
  std::function<std::int64_t(std::uint32_t)> backwardMs = [](auto) { return 0; };
  std::function<float(std::uint32_t)> loss = [](auto) { return 1.0F; };
  /// Of the process, once a step; 0: no samples of the system.
  std::function<std::uint64_t(std::uint32_t)> footprint = [](auto) { return 0; };
  std::function<std::uint64_t(std::uint32_t)> swap = [](auto) { return 0; };
  std::function<events::Pressure(std::uint32_t)> pressure = [](auto) {
    return events::Pressure::Normal;
  };
  /// Of the machine, ten times a step; Unknown: no samples of it.
  std::function<events::ThermalState(std::uint32_t)> thermal = [](auto) {
    return events::ThermalState::Unknown;
  };
  std::function<events::PowerMode(std::uint32_t)> power = [](auto) {
    return events::PowerMode::Unknown;
  };
  std::string dtype = "float32";
  std::int64_t stepMs = kStepMs;  ///< at most kStepMs, without what moreAssemblyMs adds
  OwnedBatch more;                ///< events besides
  bool ownScript = false;
  std::vector<CodeSign> signs;  ///< as RunDescription's
  Definitions names;            ///< more than those of the run
  std::string platform;
  std::vector<FallbackAcceptance> accepted;
  std::optional<RunEnd> runEnd = std::nullopt;

  [[nodiscard]] static std::int64_t beginMs(std::uint32_t step) { return step * kStepMs; }

  [[nodiscard]] Findings judge(std::optional<TimeRange> range = {}) const {
    LiveStore store;
    fill(store);
    return findProblems(store, range);
  }
  /// The run in a store.
  void fill(LiveStore& store) const {
    Hello hello;
    hello.platform = platform;
    hello.device.selected = "mps";
    hello.workStart = WorkStart::kEager;
    hello.limits = {kRecommended, 1.4, 1.7, kSystemMemory};
    store.apply(hello);
    store.apply(Definitions{
        {{kScalarRead, "aten::_local_scalar_dense"},
         {kCopy, "aten::_to_copy"},
         {kNonzero, "aten::nonzero"},
         {kRenorm, "aten::embedding_renorm_"},
         {kMm, "aten::embedding_renorm__backward"}},
        {},
        {{kTrainStep, kNoId, "main", "/home/me/train.py", 12},
         {kForward, kNoId, "main, in hf/trainer.py:9 Trainer.train", "/home/me/train.py", 30}},
        {}});
    RunDescription run;
    run.ownScript = ownScript;
    run.dtype = dtype;
    run.signs = signs;
    store.apply(run);
    for (const FallbackAcceptance& each : accepted) store.apply(each);
    OwnedBatch batch = more;
    for (std::uint32_t step = 1; step <= steps; ++step) addStep(batch, step);
    store.apply(names);
    store.apply(batch.view());
    if (runEnd) store.apply(*runEnd);
  }
  /// The range of whole steps.
  [[nodiscard]] static TimeRange stepsFrom(std::uint32_t first, std::uint32_t last) {
    return {beginMs(first) * kMs, (beginMs(last) + kStepMs) * kMs};
  }

  void addStep(OwnedBatch& batch, std::uint32_t step) const {
    const std::int64_t assembly = assemblyMs + moreAssemblyMs(step);
    const std::int64_t ms = stepMs + moreAssemblyMs(step) + backwardMs(step);
    const std::int64_t begin = beginMs(step) * kMs, end = begin + ms * kMs;
    const auto reads = static_cast<std::uint8_t>(step % lossEvery == 0);
    batch.memorySamples.emplace_back(end, current(step), driver(step), kRecommended,
                                     events::SampleOrigin::PhaseBoundary);
    batch.phases.emplace_back(begin, assembly * kMs, step, 1, events::Phase::BatchAssembly);
    if (const std::int64_t backwardNs = backwardMs(step) * kMs; backwardNs > 0) {
      batch.phases.emplace_back(end - backwardNs, backwardNs, step, kTrainingThread,
                                events::Phase::Backward);
    }
    const std::uint32_t samples = batchSize(step);
    batch.steps.emplace_back(begin, ms * kMs, current(step), driver(step), -1, step, samples,
                             length(step), samples * length(step), loss(step), reads, 0);
    if (footprint(step) > 0) {
      batch.systemSamples.emplace_back(end - kMs, static_cast<std::int64_t>(footprint(step)),
                                       static_cast<std::int64_t>(200 * kMiB),
                                       static_cast<std::int64_t>(swap(step)), -1.0F,
                                       pressure(step));
    }
    if (thermal(step) != events::ThermalState::Unknown ||
        power(step) != events::PowerMode::Unknown) {
      for (std::int64_t i = 0; i < 10; ++i) {
        batch.machineSamples.emplace_back(begin + i * kStepMs * kMs / 10, std::int64_t{-1},
                                          std::int64_t{-1}, std::int64_t{-1}, std::int64_t{-1},
                                          thermal(step), power(step));
      }
    }
    batch.deviceSpans.emplace_back(end + kMs, deviceMs * kMs, step);
    if (reads)
      addSync(batch, step, kScalarRead, events::SyncKind::ScalarRead, 5, events::Phase::LossRead,
              true);
  }

  static void addSync(OwnedBatch& batch, std::uint32_t step, NameId op, events::SyncKind kind,
                      std::int64_t ms, events::Phase phase, bool deliberate) {
    batch.syncPoints.emplace_back((beginMs(step) + 10) * kMs, ms * kMs, 4, step, op, kNoId, kNoId,
                                  1, kind, phase, static_cast<std::uint8_t>(deliberate));
  }
  /// A scalar read of a script after its optimizer.
  static void addRead(OwnedBatch& batch, std::uint32_t step, CallSiteId site,
                      bool planned = false) {
    batch.phases.emplace_back((beginMs(step) + 1) * kMs, (kStepMs - 10) * kMs, step,
                              kTrainingThread, events::Phase::OptimizerStep);
    batch.syncPoints.emplace_back((beginMs(step) + kStepMs - 8) * kMs, 4 * kMs, 4, step,
                                  kScalarRead, kNoId, site, 1, events::SyncKind::ScalarRead,
                                  events::Phase::None, static_cast<std::uint8_t>(planned));
  }
  static JudgedRun ofScript() {
    JudgedRun run;
    run.ownScript = true;
    run.lossEvery = 1000;
    return run;
  }
  static void addFallback(OwnedBatch& batch, std::uint32_t step, std::int64_t atMs) {
    batch.fallbacks.emplace_back(atMs * kMs, 10 * kMs, 4 * kMs, 1000, 500, step, kRenorm, kNoId,
                                 kNoId, 1, events::Phase::Forward);
  }
};

inline std::vector<FindingKind> kindsOf(const Findings& findings) {
  std::vector<FindingKind> kinds;
  for (const Finding& each : findings.found) kinds.push_back(each.kind);
  return kinds;
}

}  // namespace highwater::test
