#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/device/device_timeline.h"
#include "analysis/op_columns.h"
#include "analysis/series_pyramid.h"
#include "analysis/span_index.h"
#include "core/definition_table.h"
#include "core/message_sink.h"
#include "core/messages.h"
#include "core/open_span_tracker.h"

namespace highwater::analysis {

/// The memory counters of PyTorch and the driver in bytes, one row per sample, sorted by time.
struct MemoryColumns {
  std::vector<std::int64_t> timesNs;
  SeriesPyramid current, driver, recommended;
};

/// Readings of the process and its machine, sorted by time: memory in bytes, and the load of the
/// GPU in percent. NaN stands for an unknown reading.
struct SystemColumns {
  std::vector<std::int64_t> timesNs;
  SeriesPyramid footprint, available, swapUsed, gpuPercent;
  std::vector<events::Pressure> pressure;
};

/// More readings of the machine, sorted by time: memory in bytes. NaN stands for an unknown
/// reading.
struct MachineColumns {
  std::vector<std::int64_t> timesNs;
  SeriesPyramid compressor, gpuBytes;
  /// Read from and written to swap since the machine started, in bytes.
  SeriesPyramid swappedIn, swappedOut;
  /// The same in bytes a second, both ways together, over the last second before each sample. NaN
  /// in the first second, and where the counters did not count.
  SeriesPyramid swapRate;
  std::vector<events::ThermalState> thermal;
  std::vector<events::PowerMode> power;
};

/// One row per finished step. `fallbackMs` and `unplannedSyncMs` are the step's lost time; the wait
/// inside a fallback counts as fallback only. `tokensPerS` is NaN for a step without duration or of
/// unknown size, `deviceMs` if the device span is unknown, `loss` if it was not read. The payload
/// of `lane` is the row.
///
/// The host may wait in one step for the device's work of the step before, so a rate by host time
/// would credit that time to the wrong step. `tokensPerS` is by the time from when the device had
/// finished the step before, or the host began this one, to when the device has finished this one;
/// and by the host time of the step where that is not known.
struct StepColumns {
  std::vector<events::StepRecord> records;
  SeriesPyramid durationMs, tokensPerS, deviceMs, fallbackMs, unplannedSyncMs, loss;
  SpanIndex lane;
  std::vector<std::int64_t> deviceEndNs;   ///< when the device finished the step; -1: unknown
  std::optional<std::size_t> lastLossRow;  ///< the newest step whose loss was read

  /// The row of the first step with this number or a larger one; records.size() without one.
  [[nodiscard]] std::size_t firstRowFrom(std::uint32_t step) const;
};

/// A new value of one of the script's own knobs. The stream tells no time of it: `timeNs` is how
/// far it had come.
struct ScriptKnobChange {
  std::int64_t timeNs = 0;
  std::string name;
  std::string before, after;  ///< the values as texts
};

/// Whether a wait for the device counts as lost time of its own. False if the training loop intends
/// the wait, and for the wait of a fallback, which counts as part of the fallback. For a wait of a
/// LiveStore, which decides what is planned: see LiveStore::syncPoints().
[[nodiscard]] bool isUnplanned(const events::SyncPoint& sync);

/// The bit that marks a wait as intended by the training loop, in the category of a span of
/// LiveStore::syncLane(). The other bits are the SyncKind.
inline constexpr std::uint8_t kDeliberateBit = 0x80;
static_assert(static_cast<std::uint8_t>(events::SyncKind::MAX) < kDeliberateBit);

/// The whole run in columns, for the window and the report. It is filled from a validated stream,
/// live or replayed from a recording. Not thread-safe: one thread owns it.
class LiveStore final : public MessageSink {
 public:
  void take(std::span<const std::uint8_t> frame, const Message& message) override;
  /// Adds the content of one message to the store. Never fails, but requires a validated message.
  void apply(const Message& message);
  /// Removes everything, for a new run.
  void clear();

  /// How many rows all late samples together may move; beyond that late samples are dropped. Those
  /// of a real run are late by a few rows. A recording may claim any order, and would take hours.
  static constexpr std::uint64_t kMostMovedRows = std::uint64_t{1} << 28;

  /// The memory that the store may take, in bytes: beyond it the oldest ops are dropped, but never
  /// the newest OpColumns::kFewestOps. Samples and events are not dropped, so that a very long run
  /// may take more.
  static constexpr std::size_t kDefaultMemoryBudget = std::size_t{1} << 30;
  void setMemoryBudget(std::size_t bytes);
  [[nodiscard]] std::size_t memoryBudget() const { return memoryBudget_; }
  /// The most ops that showReadBack() may be given within the budget.
  [[nodiscard]] std::size_t mostReadBack() const {
    return std::min(OpColumns::kMostReadBack, memoryBudget_ / 4 / OpColumns::kBytesAnOp);
  }
  /// Shows dropped ops again that were read back from the recording: see OpColumns::showReadBack().
  void showReadBack(OpColumns::ReadBack ops);

  /// Raises revision() above `revision`, for a store that takes the place of another: a view that
  /// was drawn from that one must not take itself for up to date.
  void newerThan(std::uint64_t revision) { revision_ = std::max(revision_, revision + 1); }
  /// A counter that grows with every change of the store. A view is up to date if it was drawn at
  /// this revision.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }

  /// The worker's first message: its versions and its device. Empty before it arrives.
  [[nodiscard]] const std::optional<Hello>& hello() const { return hello_; }
  /// The description of the run: model, data and limits. Empty before it arrives.
  [[nodiscard]] const std::optional<RunDescription>& run() const { return run_; }
  /// How the run ended. Empty while it goes on.
  [[nodiscard]] const std::optional<RunEnd>& end() const { return end_; }
  /// Whether a script ended by an error while an evaluation was running.
  [[nodiscard]] bool failedInEvaluation() const { return failedInEvaluation_; }
  /// Whether the device is simulated; false as long as it is unknown.
  [[nodiscard]] bool simulated() const { return hello_ && hello_->device.simulated; }
  /// Whether the device has memory counters. False for the CPU; true as long as the device is
  /// unknown.
  [[nodiscard]] bool hasMemoryCounters() const { return !hello_ || !isCpu(*hello_); }
  /// Whether the device has a queue that the host can wait for. False for the CPU; true as long as
  /// the device is unknown.
  [[nodiscard]] bool hasQueue() const { return !hello_ || !isCpu(*hello_); }

  /// The samples of the memory counters, in columns.
  [[nodiscard]] const MemoryColumns& memory() const { return memory_; }
  /// The readings of the process and its machine, in columns.
  [[nodiscard]] const SystemColumns& system() const { return system_; }
  /// More readings of the machine, in columns. Recordings of formats before 7 have none.
  [[nodiscard]] const MachineColumns& machine() const { return machine_; }
  /// The lines that the thread that trains ran at some 25 moments a second, sorted by time. Only of
  /// scripts; recordings of formats before 8 have none.
  [[nodiscard]] const std::vector<events::HostSample>& hostSamples() const { return hostSamples_; }
  /// What the ops of one early step have the device do, by their sizes, those of the newest later
  /// step that was counted, and those of an evaluation.
  [[nodiscard]] const std::vector<events::OpWork>& opWork() const { return opWork_; }
  [[nodiscard]] const std::vector<events::OpWork>& laterOpWork() const { return laterOpWork_; }
  [[nodiscard]] const std::vector<events::OpWork>& evaluationWork() const {
    return evaluationWork_;
  }
  /// The finished steps, in columns.
  [[nodiscard]] const StepColumns& steps() const { return steps_; }
  /// The row of a finished step; std::nullopt if there is no such step.
  [[nodiscard]] std::optional<std::size_t> rowOf(std::uint32_t step) const;
  /// The recorded ops, without old ones that were dropped.
  [[nodiscard]] const OpColumns& ops() const { return ops_; }

  /// The phases of steps, in order of arrival; phaseLane() has them in order of time.
  [[nodiscard]] const std::vector<events::PhaseSpan>& phases() const { return phases_; }
  /// The waits of the host for the device, in order of arrival; syncLane() has them in order of
  /// time. A loss that is read right after that of the step before is no longer a planned wait, as
  /// the probe marked it: its deliberate() is 0 here. So all views and the report agree on what is
  /// planned.
  [[nodiscard]] const std::vector<events::SyncPoint>& syncPoints() const { return syncPoints_; }
  /// The ops that ran on the CPU instead of the device, in order of arrival; fallbackLane() has
  /// them in order of time.
  [[nodiscard]] const std::vector<events::FallbackEvent>& fallbacks() const { return fallbacks_; }
  /// The markers of the run (knob changes, pauses, notes and so on), in order of arrival. A note
  /// may be of any earlier time.
  [[nodiscard]] const std::vector<events::Marker>& markers() const { return markers_; }
  /// The evaluations on held-out data, in order of arrival.
  [[nodiscard]] const std::vector<events::Evaluation>& evaluations() const { return evaluations_; }
  /// The memory readings at the ends of phases, in order of arrival.
  [[nodiscard]] const std::vector<events::PhaseMemory>& phaseMemory() const { return phaseMemory_; }

  /// Evaluations and the script's own phases, in order of arrival; namedLane() has them in order of
  /// time.
  [[nodiscard]] const std::vector<events::NamedSpan>& namedSpans() const { return namedSpans_; }

  /// What the device did over time, as far as the store knows it by now.
  [[nodiscard]] const DeviceTimeline& deviceTimeline() const {
    device_.update(*this);
    return device_;
  }

  /// Makes now what the queries of a frame would make when they first need it: late spans in their
  /// places, sums by category, the device's timeline. Until the store changes again, several
  /// threads can query it at once.
  void prepareForDrawing() const;

  /// Returns the user's consent to the CPU path of an op, given the op's full name. nullptr if it
  /// was never given or was withdrawn.
  [[nodiscard]] const FallbackAcceptance* acceptanceOf(const std::string& op) const;

  /// The phases in order of time. A span's payload is its index in phases(), its category the
  /// events::Phase.
  [[nodiscard]] const SpanIndex& phaseLane() const { return phaseLane_; }
  /// The evaluations and the script's own phases in order of time. A span's payload is its index in
  /// namedSpans().
  [[nodiscard]] const SpanIndex& namedLane() const { return namedLane_; }
  /// The waits for the device in order of time. A span's payload is its index in syncPoints(), its
  /// category the events::SyncKind together with kDeliberateBit.
  [[nodiscard]] const SpanIndex& syncLane() const { return syncLane_; }
  /// The fallbacks in order of time. A span's payload is its index in fallbacks(), its category the
  /// events::Phase.
  [[nodiscard]] const SpanIndex& fallbackLane() const { return fallbackLane_; }

  /// The name that an id of the run stands for, such as an op's: see DefinitionTable.
  [[nodiscard]] std::string name(NameId id) const { return definitions_.name(id); }
  /// Where what an id names begins in the user's code, for names of spans; kNoId where it is
  /// unknown.
  [[nodiscard]] CallSiteId callSiteOfName(NameId id) const {
    return definitions_.callSiteOfName(id);
  }
  /// Where a named span begins in the user's code; kNoId where it is unknown.
  [[nodiscard]] CallSiteId callSiteOf(const events::NamedSpan& span) const {
    return definitions_.callSiteOfName(span.name());
  }
  /// The path of a module, such as "encoder.layers.1": see DefinitionTable.
  [[nodiscard]] std::string modulePath(ModuleId id) const { return definitions_.modulePath(id); }
  /// The line of the user's code that an id stands for: see DefinitionTable.
  [[nodiscard]] std::string callSite(CallSiteId id) const { return definitions_.callSite(id); }
  /// The same in parts, with the library's line that was called: see DefinitionTable.
  [[nodiscard]] CallSiteParts callSiteParts(CallSiteId id) const {
    return definitions_.callSiteParts(id);
  }
  /// The call stack that belongs to a call site: see DefinitionTable.
  [[nodiscard]] std::string callStack(CallSiteId id) const { return definitions_.callStack(id); }
  /// The modules and call sites that the run has defined, sorted by id.
  [[nodiscard]] std::vector<ModuleId> moduleIds() const { return definitions_.moduleIds(); }
  [[nodiscard]] std::vector<CallSiteId> callSiteIds() const { return definitions_.callSiteIds(); }
  /// Their numbers, which only grow.
  [[nodiscard]] std::size_t moduleCount() const { return definitions_.moduleCount(); }
  [[nodiscard]] std::size_t callSiteCount() const { return definitions_.callSiteCount(); }
  /// The number of the step at a time: the last that began at or before it, or the running one
  /// after the last finished step. 0 before the first.
  [[nodiscard]] std::uint32_t stepAt(std::int64_t timeNs) const;
  /// The number of notes of the user among markers().
  [[nodiscard]] std::size_t noteCount() const;
  /// The thread's name, or "thread 3" if it has none.
  [[nodiscard]] std::string threadName(ThreadId id) const;
  /// Whether a step of the training ran out of memory at this marker, and not an evaluation.
  [[nodiscard]] bool isStepOutOfMemory(const events::Marker& marker) const;
  /// The text of a marker for people.
  [[nodiscard]] std::string markerText(const events::Marker& marker) const {
    return definitions_.markerText(marker);
  }

  /// Whether a step was one of a try (TryBlock): it may have had another setting, or what it took
  /// is in other steps, as the host did not wait for the device.
  [[nodiscard]] bool isTried(std::uint32_t step) const;
  /// The first and the last step of each try; of one that goes on the last is the largest number.
  [[nodiscard]] const std::vector<std::pair<std::uint32_t, std::uint32_t>>& tried() const {
    return tried_;
  }
  /// Whether a try goes on.
  [[nodiscard]] bool tries() const { return beforeTry_.has_value(); }
  /// The settings (batch size, sequence length, loss interval) of the next step, as far as the
  /// stream has reported them.
  [[nodiscard]] Knobs knobs() const { return knobs_; }
  /// The same, but during a try of a knob as before it.
  [[nodiscard]] Knobs lastingKnobs() const { return beforeTry_.value_or(knobs_); }
  /// The settings that the user's own script offers, in the order of their declaration, each with
  /// its latest value. Empty for the built-in workload.
  [[nodiscard]] const std::vector<ScriptKnob>& scriptKnobs() const { return scriptKnobs_; }
  /// The changes of those settings, in order of arrival.
  [[nodiscard]] const std::vector<ScriptKnobChange>& scriptKnobChanges() const {
    return scriptKnobChanges_;
  }
  /// The place of an event for people: phase and module, as in "forward, encoder.layers.1"; for a
  /// script its line before them, and the line of the library that it called.
  [[nodiscard]] std::string placeText(events::Phase phase, ModuleId module, CallSiteId site) const;
  /// The script's knob of that name; nullptr if there is none.
  [[nodiscard]] const ScriptKnob* scriptKnob(std::string_view name) const;
  /// What the run tells of the script's code by this key of core/messages.h; nullptr where nothing.
  [[nodiscard]] const CodeSign* sign(std::string_view what) const {
    return run_ ? run_->sign(what) : nullptr;
  }
  /// The limits of the device's memory. The memory fraction, where one is set, is the high
  /// watermark (MPSAllocator.mm, setHighWatermarkRatio). Zeros as long as they are unknown.
  [[nodiscard]] MemoryLimits limits() const;
  /// Whether the user's own script trains; false as long as it is unknown.
  [[nodiscard]] bool ownScript() const { return run_ && run_->ownScript; }
  /// What steps().tokensPerS counts: "tokens/s", or "samples/s" for a script whose inputs have no
  /// sequence length.
  [[nodiscard]] std::string_view rateUnit() const;
  /// Whether steps().tokensPerS of a row is by the device's time; false: by the host's, or NaN.
  [[nodiscard]] bool isRatedByDevice(std::size_t row) const { return ratedNs(row).has_value(); }
  /// A throughput for people: "8.52k tokens/s", or a dash for NaN.
  [[nodiscard]] std::string rateText(double perS) const;
  /// The batch of a step for people: "batch size 16, sequence length 128", with "(guessed)" for a
  /// script, or "batch size unknown".
  [[nodiscard]] std::string batchText(const events::StepRecord& step) const;
  /// The innermost span (a wait, an op or a phase) that has begun and not ended, or that was open
  /// when the stream ended. Empty if none is open.
  [[nodiscard]] std::optional<OpenSpanState> openSpan() const { return openSpans_.innermost(); }
  /// The number of the running step, as of the last heartbeat or event; 0 before the first.
  [[nodiscard]] std::uint32_t runningStep() const { return runningStep_; }
  /// Whether the training is paused, as of the newest heartbeat or marker.
  [[nodiscard]] bool paused() const { return paused_; }
  /// How much the probe records, as far as the stream has reported it.
  [[nodiscard]] events::ProbeLevel probeLevel() const { return probeLevel_; }
  /// True if the probe is off, by its last report, and no phase was recorded. Then the store tells
  /// nothing about waits and fallbacks: that it holds none does not mean that there were none.
  [[nodiscard]] bool isUnobserved() const {
    return probeLevel_ == events::ProbeLevel::Off && phases_.empty();
  }

  /// The number of events received, without heartbeats, open spans and drop records.
  [[nodiscard]] std::uint64_t eventCount() const { return eventCount_; }
  /// The number of events that were lost before they reached the stream, of all kinds.
  [[nodiscard]] std::uint64_t dropped() const;
  /// The number of lost events of each kind; kinds without losses are missing.
  [[nodiscard]] const std::map<events::EventKind, std::uint64_t>& droppedByKind() const {
    return droppedByKind_;
  }
  /// The reports of lost events, in order of arrival.
  [[nodiscard]] const std::vector<events::DropRecord>& drops() const { return drops_; }

  /// The time up to which all events have arrived, in ns since the start of the run. It is the
  /// right edge of the time axis.
  [[nodiscard]] std::int64_t completeUpToNs() const { return completeUpToNs_; }

 private:
  [[nodiscard]] static bool isCpu(const Hello& hello) { return hello.device.selected == "cpu"; }
  void addBatch(const EventBatch& batch);
  /// Whether a late sample may still be put in its place, before `rows` others. If not, counts it
  /// as dropped.
  [[nodiscard]] bool mayMove(std::size_t rows, events::EventKind kind);
  void addMemorySample(const events::MemorySample& sample);
  void addSystemSample(const events::SystemSample& sample);
  void addMachineSample(const events::MachineSample& sample);
  void addHostSample(const events::HostSample& sample);
  void addOpWork(const events::OpWork& work);
  void addStep(const events::StepRecord& step);
  /// Makes iterations steps from number `first` on, and forgets the others.
  void addIterations(std::uint32_t first);
  void addDeviceSpan(const events::DeviceSpan& span);
  void addPhase(const events::PhaseSpan& phase);
  void addNamedSpan(const events::NamedSpan& span);
  void addSyncPoint(const events::SyncPoint& received);
  /// Whether a planned read of the loss follows one in the step before. Call it once for each.
  [[nodiscard]] bool isChattyRead(const events::SyncPoint& sync);
  void addFallback(const events::FallbackEvent& fallback);
  void addMarker(const events::Marker& marker);
  void addOp(const events::OpSpan& op);
  /// What the store takes apart from ops, in bytes: an estimate by the sizes of its columns.
  [[nodiscard]] std::size_t bytesBesideOps() const;
  /// Finds how many ops the budget has room for.
  void limitOps();
  /// The OpLook bits of an op that waits or falls back, 0 for any other.
  [[nodiscard]] std::uint8_t lostTimeLook(const events::OpSpan& op) const;
  void noteTry(const events::Marker& marker);
  void addScriptKnob(const ScriptKnob& knob);
  void addNote(const Note& note);
  void addHeartbeat(const events::Heartbeat& heartbeat);
  void addDrop(const events::DropRecord& drop);
  /// When the device finished the step of a row: the end of its batch's move, if that emptied the
  /// queue, and the device span after it. -1 if unknown.
  [[nodiscard]] std::int64_t deviceEndOf(std::size_t row) const;
  /// The time of the device that the tokens of a step are credited to (StepColumns), in ns;
  /// std::nullopt if it is not known.
  [[nodiscard]] std::optional<std::int64_t> ratedNs(std::size_t row) const;
  /// Tokens per second of the host's time for a step; NaN if it has none.
  [[nodiscard]] double hostRateOf(std::size_t row) const;
  /// Credits a step's tokens to the time that it took on the device. Where that is not known, to
  /// the host's.
  void updateRate(std::size_t row);
  /// Credits the tokens of steps to the host's time, whose device span has not arrived by now and
  /// is not expected any more: of all but the newest `stillAwaited` steps.
  void stopAwaitingRates(std::size_t stillAwaited);
  /// A wait or a fallback, as far as its step counts it.
  struct LostTime {
    std::int64_t beginNs = 0, ns = 0;
  };
  /// The lost time of steps that have not finished.
  using PendingLostTime = std::map<std::uint32_t, std::vector<LostTime>>;
  /// Adds lost time to its step, or to `pending` until the step has finished. Lost time outside of
  /// the step, as of an evaluation that carries the step's number, does not count.
  void addLostTime(std::uint32_t step, const LostTime& lost, SeriesPyramid& column,
                   PendingLostTime& pending);
  void setPaused(bool paused, std::int64_t timeNs);
  void stepReached(std::uint32_t step) { runningStep_ = std::max(runningStep_, step); }

  std::uint64_t revision_ = 0;
  std::uint64_t eventCount_ = 0;
  std::int64_t completeUpToNs_ = 0;
  std::optional<Hello> hello_;
  std::optional<RunDescription> run_;
  std::optional<RunEnd> end_;
  bool failedInEvaluation_ = false;
  std::uint64_t movedRows_ = 0;  ///< by late samples
  MemoryColumns memory_;
  SystemColumns system_;
  MachineColumns machine_;
  std::vector<events::HostSample> hostSamples_;
  std::vector<events::OpWork> opWork_, laterOpWork_, evaluationWork_;
  StepColumns steps_;
  std::vector<events::StepRecord> iterations_;  ///< steps at the end of the run: see StepsAre
  std::vector<events::PhaseSpan> phases_;
  std::vector<events::SyncPoint> syncPoints_;
  std::vector<events::FallbackEvent> fallbacks_;
  std::vector<events::Marker> markers_;
  std::vector<events::Evaluation> evaluations_;
  std::vector<events::PhaseMemory> phaseMemory_;
  std::vector<events::NamedSpan> namedSpans_;
  OpColumns ops_;
  std::size_t memoryBudget_ = kDefaultMemoryBudget;
  std::map<std::string, FallbackAcceptance> acceptances_;  ///< by op
  SpanIndex phaseLane_, namedLane_, syncLane_, fallbackLane_;
  mutable DeviceTimeline device_;  ///< updated when asked for
  DefinitionTable definitions_;
  std::map<ThreadId, std::string> threadNames_;
  PendingLostTime pendingFallbacks_, pendingSyncs_;
  std::size_t awaitedFrom_ = 0;         ///< no step before this row awaits its device span
  std::optional<std::size_t> lastEnd_;  ///< the newest row with a deviceEndNs
  OpenSpanTracker openSpans_;
  Knobs knobs_;
  std::optional<Knobs> beforeTry_;  ///< of a try that goes on
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tried_;
  std::vector<ScriptKnob> scriptKnobs_;
  std::vector<ScriptKnobChange> scriptKnobChanges_;
  std::uint32_t runningStep_ = 0;
  /// The last step whose loss was read, and whether the step before it was another.
  std::uint32_t lossReadStep_ = 0;
  bool lossReadAgain_ = false;
  bool paused_ = false;
  events::ProbeLevel probeLevel_ = events::ProbeLevel::Monitor;
  std::int64_t pausedAsOfNs_ = 0;  ///< time of the event that set paused_
  std::map<events::EventKind, std::uint64_t> droppedByKind_;
  std::vector<events::DropRecord> drops_;
};

}  // namespace highwater::analysis
