#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "core/events_generated.h"
#include "core/ids.h"

/// What the two processes say to each other, as plain values. `wire/` turns them into frames and
/// back; the other modules never see a FlatBuffers table.
namespace highwater {

/// How the worker came to its device. "Built" is libtorch's, "available" the machine's.
struct DeviceReport {
  std::string requested;  ///< what --device said: auto, mps, sim or cpu
  std::string selected;   ///< PyTorch's device type: "mps" or "cpu"
  bool simulated = false;
  bool mpsBuilt = false;      ///< libtorch has the MPS backend
  bool mpsAvailable = false;  ///< and this machine can use it
  std::string reason;         ///< why this device, in one sentence without a full stop
};

/// The limits of the device's memory. Ratios are multiples of recommended; 0 means no limit.
struct MemoryLimits {
  std::uint64_t recommendedBytes = 0;
  double lowWatermarkRatio = 0;
  double highWatermarkRatio = 0;
  std::uint64_t systemBytes = 0;  ///< physical memory of the machine, 0 where unknown
};

/// An environment variable that matters, as the worker found it. `value` is absent where it is
/// unset.
struct EnvironmentEntry {
  std::string name;
  std::optional<std::string> value;
};

/// The worker's first frame.
struct Hello {
  std::uint32_t protocolVersion = 0;
  std::string token;  ///< proves an attached process to be ours; empty where launched
  std::string workerVersion;
  std::string torchVersion;
  std::string platform;  ///< "Linux x86_64", "macOS 14.5 arm64"
  std::uint64_t processId = 0;
  RunClock clock;
  DeviceReport device;
  MemoryLimits limits;
  std::vector<EnvironmentEntry> environment;
};

/// What the user may change while a run goes on.
struct Knobs {
  std::uint32_t batchSize = 0;
  std::uint32_t sequenceLength = 0;
  std::uint32_t lossEvery = 0;

  bool operator==(const Knobs&) const = default;
};

/// What will be trained, sent once before the first step.
struct RunDescription {
  std::string workload;
  std::string preset;
  std::string dtype;
  std::string dataset;  ///< file name, without its folder
  std::uint32_t trainRows = 0;
  std::uint32_t heldOutRows = 0;
  std::vector<std::string> labels;
  std::uint32_t vocabularySize = 0;
  std::uint32_t width = 0;
  std::uint32_t layers = 0;
  std::uint32_t heads = 0;
  std::uint64_t parameters = 0;
  Knobs knobs;  ///< at step 1
  std::uint32_t maxBatchSize = 0;
  std::uint32_t maxSequenceLength = 0;  ///< the length of the position table
  std::uint32_t plannedSteps = 0;       ///< 0: until stopped
  std::string scenario;                 ///< empty where the workload runs as it is
  events::ProbeLevel probeLevel = events::ProbeLevel::Monitor;  ///< at step 1
};

struct NameDefinition {
  NameId id = kNoId;
  std::string text;
};
/// A module of the model: the path is the parents' names joined by dots.
struct ModuleDefinition {
  ModuleId id = kNoId;
  ModuleId parent = kNoId;
  std::string name;
};
struct CallSiteDefinition {
  CallSiteId id = kNoId;
  CallSiteId parent = kNoId;
  std::string function;
  std::string file;
  std::uint32_t line = 0;
};
struct ThreadDefinition {
  ThreadId id = 0;
  std::string name;
};

/// Sent before the first event that uses them, never dropped.
struct Definitions {
  std::vector<NameDefinition> names;
  std::vector<ModuleDefinition> modules;
  std::vector<CallSiteDefinition> callSites;
  std::vector<ThreadDefinition> threads;

  [[nodiscard]] bool empty() const {
    return names.empty() && modules.empty() && callSites.empty() && threads.empty();
  }
};

/// A batch of events. The spans point into the frame (or into the sender's buffers) that the batch
/// was made from and live as long as that. Everything that happened before completeUpToNs has been
/// sent with this batch or before it, but for what `drops` says.
struct EventBatch {
  std::int64_t completeUpToNs = 0;
  std::span<const events::MemorySample> memorySamples;
  std::span<const events::SystemSample> systemSamples;
  std::span<const events::StepRecord> steps;
  std::span<const events::PhaseSpan> phases;
  std::span<const events::SyncPoint> syncPoints;
  std::span<const events::FallbackEvent> fallbacks;
  std::span<const events::Marker> markers;
  std::span<const events::Evaluation> evaluations;
  std::span<const events::OpenSpan> openSpans;
  std::span<const events::Heartbeat> heartbeats;
  std::span<const events::DropRecord> drops;
  std::span<const events::DeviceSpan> deviceSpans;
  std::span<const events::OpSpan> ops;
  std::span<const events::PhaseMemory> phaseMemory;

  /// Calls f(span) for each of the spans above, in that order.
  template <typename F>
  void forEachKind(F&& f) const {
    f(memorySamples);
    f(systemSamples);
    f(steps);
    f(phases);
    f(syncPoints);
    f(fallbacks);
    f(markers);
    f(evaluations);
    f(openSpans);
    f(heartbeats);
    f(drops);
    f(deviceSpans);
    f(ops);
    f(phaseMemory);
  }
  [[nodiscard]] std::size_t size() const {
    std::size_t n = 0;
    forEachKind([&n](auto events) { n += events.size(); });
    return n;
  }
};

/// The worker's answer to a Command.
struct CommandResult {
  std::uint32_t commandId = 0;
  bool accepted = false;
  std::string message;              ///< why not, where refused
  std::uint32_t effectiveStep = 0;  ///< the first step the command holds for, 0 where not of a step
};

/// The worker cannot go on: said just before it ends.
struct Failure {
  enum class Kind : std::uint8_t { kFailed = 1, kUsage = 2, kDeviceContract = 3, kOutOfMemory = 4 };
  Kind kind = Kind::kFailed;
  std::string message;
};

/// The worker's last frame after a run that ended as planned or on request.
struct Goodbye {
  std::uint32_t stepsDone = 0;
  bool stoppedOnRequest = false;
};

/// The host's answer to Hello: the connection is accepted.
struct Welcome {
  std::uint32_t protocolVersion = 0;
};

/// Changes of the knobs. `atStep` 0: from the next step; a step that has begun is refused.
struct SetKnobs {
  std::optional<std::uint32_t> batchSize;
  std::optional<std::uint32_t> sequenceLength;
  std::optional<std::uint32_t> lossEvery;
  std::uint32_t atStep = 0;
};
/// How closely the probe looks from the next step on. `steps` > 0: for so many steps, then as
/// before.
struct SetProbeLevel {
  events::ProbeLevel level = events::ProbeLevel::Monitor;
  std::uint32_t steps = 0;
};
struct StartTraining {};
struct PauseTraining {};
struct ResumeTraining {};
struct EmptyCache {};
struct StopTraining {};

/// From the host to the worker. Each is answered by one CommandResult with its id.
struct Command {
  std::uint32_t id = 0;
  std::variant<StartTraining, PauseTraining, ResumeTraining, EmptyCache, StopTraining, SetKnobs,
               SetProbeLevel>
      action;
};

/// How a run ended, as the session saw it. Written by the session into the recording, never sent by
/// a worker.
struct RunEnd {
  enum class Reason : std::uint8_t {
    kFinished = 1,  ///< all planned steps done
    kStopped = 2,   ///< on request
    kFailed = 3,    ///< the worker said why: `message`
    kCrashed = 4,   ///< ended by a signal that nobody of us sent
    kExited = 5,    ///< ended without a word, with `exitCode`
    kHung = 6,      ///< no heartbeat; ended by us
    kNonsense = 7,  ///< a violation of the protocol; ended by us
    kAborted = 8,   ///< the session itself was ended (window closed, Ctrl+C)
  };
  Reason reason = Reason::kFinished;
  std::int32_t exitCode = 0;
  std::int32_t signal = 0;
  std::string message;    ///< one sentence for people
  std::string openOp;     ///< the innermost span that was open, empty where none
  std::string lastLines;  ///< the last lines that the worker printed
};

/// The user takes it that an op runs on the CPU ("accept the CPU path"), or takes that back.
/// Written by the host into the recording, also after its RunEnd; the last word on an op counts.
struct FallbackAcceptance {
  std::string op;  ///< its name with namespace: "aten::kthvalue"
  bool accepted = true;
  std::string reason;  ///< the user's words, may be empty
  std::int64_t unixTimeNs = 0;
};

/// Any one thing that a frame can hold.
using Message = std::variant<Hello, RunDescription, Definitions, EventBatch, CommandResult, Failure,
                             Goodbye, Welcome, Command, RunEnd, FallbackAcceptance>;

}  // namespace highwater
