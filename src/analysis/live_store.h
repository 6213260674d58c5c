#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/op_columns.h"
#include "analysis/series_pyramid.h"
#include "analysis/span_index.h"
#include "core/definition_table.h"
#include "core/message_sink.h"
#include "core/messages.h"

namespace highwater::analysis {

/// The memory counters, a row a sample, sorted by time.
struct MemoryColumns {
  std::vector<std::int64_t> timesNs;
  SeriesPyramid current, driver, recommended;
};

/// The system's readings; NaN where a reading is not to be had.
struct SystemColumns {
  std::vector<std::int64_t> timesNs;
  SeriesPyramid footprint, available, swapUsed, gpuPercent;
  std::vector<events::Pressure> pressure;
};

/// Steps, a row a finished step. `fallbackMs` and `unplannedSyncMs` are the parts of a step that
/// were lost to them (the wait inside a fallback counts with the fallback only); `tokensPerS` is
/// NaN for a step without duration, `deviceMs` where the device span is unknown; `lane` has the
/// records' indices as payload.
struct StepColumns {
  std::vector<events::StepRecord> records;
  SeriesPyramid durationMs, tokensPerS, deviceMs, fallbackMs, unplannedSyncMs;
  SpanIndex lane;
  std::optional<std::size_t> lastLossRow;  ///< the newest step whose loss was read
};

/// The innermost span that was open when the worker last reported one.
struct OpenSpanState {
  events::OpenSpan span;
  std::string name;
};

/// True for what delays a step without being meant to: not deliberate, and not the wait of a
/// fallback, which is part of the fallback's own time.
[[nodiscard]] bool isUnplanned(const events::SyncPoint& sync);

/// The whole run in columns: what the window draws and the report counts. It takes a validated
/// stream, live or from a recording, and never looks at a file. Not thread-safe: one thread owns
/// it.
class LiveStore final : public MessageSink {
 public:
  void take(std::span<const std::uint8_t> frame, const Message& message) override;
  void apply(const Message& message);
  /// Forgets everything, for a new run.
  void clear();

  /// Grows with each message that changed something: views redraw when it differs from theirs.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }

  [[nodiscard]] const std::optional<Hello>& hello() const { return hello_; }
  [[nodiscard]] const std::optional<RunDescription>& run() const { return run_; }
  [[nodiscard]] const std::optional<RunEnd>& end() const { return end_; }
  [[nodiscard]] bool simulated() const { return hello_ && hello_->device.simulated; }
  /// False where the device is known to have none: the CPU.
  [[nodiscard]] bool hasMemoryCounters() const { return !hello_ || !isCpu(*hello_); }
  [[nodiscard]] bool hasQueue() const { return !hello_ || !isCpu(*hello_); }

  [[nodiscard]] const MemoryColumns& memory() const { return memory_; }
  [[nodiscard]] const SystemColumns& system() const { return system_; }
  [[nodiscard]] const StepColumns& steps() const { return steps_; }
  [[nodiscard]] const OpColumns& ops() const { return ops_; }

  /// These are in the order they came; the lanes below are in order of time.
  [[nodiscard]] const std::vector<events::PhaseSpan>& phases() const { return phases_; }
  [[nodiscard]] const std::vector<events::SyncPoint>& syncPoints() const { return syncPoints_; }
  [[nodiscard]] const std::vector<events::FallbackEvent>& fallbacks() const { return fallbacks_; }
  [[nodiscard]] const std::vector<events::Marker>& markers() const { return markers_; }
  [[nodiscard]] const std::vector<events::Evaluation>& evaluations() const { return evaluations_; }
  [[nodiscard]] const std::vector<events::PhaseMemory>& phaseMemory() const { return phaseMemory_; }

  /// The last word on an op: nullptr where nobody accepted that it runs on the CPU.
  [[nodiscard]] const FallbackAcceptance* acceptanceOf(const std::string& op) const;

  /// Lanes: payload is the index into the vector of the same kind; category is the phase, the sync
  /// kind (bit 7: deliberate), the phase of the fallback.
  [[nodiscard]] const SpanIndex& phaseLane() const { return phaseLane_; }
  [[nodiscard]] const SpanIndex& syncLane() const { return syncLane_; }
  [[nodiscard]] const SpanIndex& fallbackLane() const { return fallbackLane_; }

  /// The words of the run's definitions: see DefinitionTable.
  [[nodiscard]] std::string name(NameId id) const { return definitions_.name(id); }
  [[nodiscard]] std::string modulePath(ModuleId id) const { return definitions_.modulePath(id); }
  [[nodiscard]] std::string callSite(CallSiteId id) const { return definitions_.callSite(id); }
  [[nodiscard]] std::string callStack(CallSiteId id) const { return definitions_.callStack(id); }
  /// The thread's own name, "thread 3" where it has none.
  [[nodiscard]] std::string threadName(ThreadId id) const;
  [[nodiscard]] std::string markerText(const events::Marker& marker) const {
    return definitions_.markerText(marker);
  }

  /// The knobs that the next step will run with, as far as the stream told.
  [[nodiscard]] Knobs knobs() const { return knobs_; }
  /// The span that is (or was, when the run ended) open: reported within the last second before
  /// completeUpToNs(), and no later event says that its step is done.
  [[nodiscard]] std::optional<OpenSpanState> openSpan() const;
  /// The step that runs, as of the last heartbeat or event of a step; 0 before the first.
  [[nodiscard]] std::uint32_t runningStep() const { return runningStep_; }
  [[nodiscard]] bool paused() const { return paused_; }
  /// How closely the probe looks, as far as the stream told.
  [[nodiscard]] events::ProbeLevel probeLevel() const { return probeLevel_; }

  /// Events that say something about the run: not heartbeats, open spans and drop records.
  [[nodiscard]] std::uint64_t eventCount() const { return eventCount_; }
  [[nodiscard]] std::uint64_t dropped() const;
  [[nodiscard]] const std::map<events::EventKind, std::uint64_t>& droppedByKind() const {
    return droppedByKind_;
  }
  [[nodiscard]] const std::vector<events::DropRecord>& drops() const { return drops_; }

  /// Everything up to here has arrived; the right edge of the time axis.
  [[nodiscard]] std::int64_t completeUpToNs() const { return completeUpToNs_; }

 private:
  [[nodiscard]] static bool isCpu(const Hello& hello) { return hello.device.selected == "cpu"; }
  void addBatch(const EventBatch& batch);
  void addMemorySample(const events::MemorySample& sample);
  void addSystemSample(const events::SystemSample& sample);
  void addStep(const events::StepRecord& step);
  void addDeviceSpan(const events::DeviceSpan& span);
  void addPhase(const events::PhaseSpan& phase);
  void addSyncPoint(const events::SyncPoint& sync);
  void addFallback(const events::FallbackEvent& fallback);
  void addMarker(const events::Marker& marker);
  void addOp(const events::OpSpan& op);
  /// The OpLook bits of an op that is a stall, 0 for any other.
  [[nodiscard]] std::uint8_t stallLook(const events::OpSpan& op) const;
  void addOpenSpans(std::span<const events::OpenSpan> spans);
  void addHeartbeat(const events::Heartbeat& heartbeat);
  void addDrop(const events::DropRecord& drop);
  /// The row of a finished step.
  [[nodiscard]] std::optional<std::size_t> rowOf(std::uint32_t step) const;
  /// Adds lost time to its step, or keeps it until the step is finished.
  void addLostTime(std::uint32_t step, std::int64_t ns, SeriesPyramid& column,
                   std::map<std::uint32_t, std::int64_t>& pending);
  void setPaused(bool paused, std::int64_t timeNs);
  void stepReached(std::uint32_t step) { runningStep_ = std::max(runningStep_, step); }

  std::uint64_t revision_ = 0;
  std::uint64_t eventCount_ = 0;
  std::int64_t completeUpToNs_ = 0;
  std::optional<Hello> hello_;
  std::optional<RunDescription> run_;
  std::optional<RunEnd> end_;
  MemoryColumns memory_;
  SystemColumns system_;
  StepColumns steps_;
  std::vector<events::PhaseSpan> phases_;
  std::vector<events::SyncPoint> syncPoints_;
  std::vector<events::FallbackEvent> fallbacks_;
  std::vector<events::Marker> markers_;
  std::vector<events::Evaluation> evaluations_;
  std::vector<events::PhaseMemory> phaseMemory_;
  OpColumns ops_;
  std::map<std::string, FallbackAcceptance> acceptances_;  ///< by op
  SpanIndex phaseLane_, syncLane_, fallbackLane_;
  DefinitionTable definitions_;
  std::map<ThreadId, std::string> threadNames_;
  std::map<std::uint32_t, std::int64_t> pendingFallbackNs_, pendingSyncNs_;  ///< by unfinished step
  std::optional<events::OpenSpan> openSpan_;
  Knobs knobs_;
  std::uint32_t runningStep_ = 0;
  bool paused_ = false;
  events::ProbeLevel probeLevel_ = events::ProbeLevel::Monitor;
  std::int64_t pausedAsOfNs_ = 0;  ///< the time of the event that paused_ is from
  std::map<events::EventKind, std::uint64_t> droppedByKind_;
  std::vector<events::DropRecord> drops_;
};

}  // namespace highwater::analysis
