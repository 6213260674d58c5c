#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/clock.h"
#include "core/event_kinds.h"
#include "core/ids.h"

/// The messages between worker and host as plain structs. `wire/` encodes and decodes them; no
/// other module uses FlatBuffers tables.
namespace highwater {

/// The worker's device and why it was chosen.
struct DeviceReport {
  std::string requested;  ///< what --device said: auto, mps, sim or cpu
  std::string selected;   ///< PyTorch's device type: "mps" or "cpu"
  bool simulated = false;
  bool mpsBuilt = false;      ///< libtorch was built with the MPS backend
  bool mpsAvailable = false;  ///< this machine can use MPS
  std::string reason;         ///< why this device, in one sentence without a full stop
};

/// When the device starts the work that a program queues. It decides what a wait of the host says
/// about the time before it. The numbers are part of the recording's format.
enum class WorkStart : std::uint8_t {
  kUnknown = 0,
  kEager = 1,     ///< at once
  kDeferred = 2,  ///< when the command buffer is committed: at a wait, a copy, an event, or when
                  ///< MPSGraph commits by itself
};

/// The limits of the device's memory. A watermark is given as a multiple of recommendedBytes, the
/// device's recommended maximum; 0 means no limit. Beyond the low one PyTorch releases cached
/// memory, beyond the high one allocations fail.
struct MemoryLimits {
  std::uint64_t recommendedBytes = 0;
  double lowWatermarkRatio = 0;
  double highWatermarkRatio = 0;
  std::uint64_t systemBytes = 0;  ///< physical memory of the machine, 0 where unknown
  /// What the user set as the memory that the GPU may wire (iogpu.wired_limit_mb), in bytes; 0: the
  /// system's default; std::nullopt: unknown.
  std::optional<std::uint64_t> gpuWiredLimitBytes = std::nullopt;
};

/// An environment variable that affects the run, as the worker found it. `value` is empty
/// (std::nullopt) if the variable is not set.
struct EnvironmentEntry {
  std::string name;
  std::optional<std::string> value;
};

/// The worker's first message: its versions, process, device and environment.
struct Hello {
  std::uint32_t protocolVersion = 0;
  std::string token;  ///< of an attached worker: given to it by the host; empty if launched
  std::string workerVersion;
  std::string torchVersion;
  /// The BLAS of the CPU kernels: "OpenBLAS (/usr/lib/.../libopenblas.so.0)"; empty: not known.
  std::string blas;
  std::string platform;  ///< "Linux x86_64", "macOS 14.5 arm64"
  std::uint64_t processId = 0;
  RunClock clock;
  DeviceReport device;
  MemoryLimits limits;
  std::vector<EnvironmentEntry> environment;
  WorkStart workStart = WorkStart::kUnknown;
};

/// The type in which autocast computes the forward pass. The parameters stay float32. The numbers
/// are part of the recording's format.
enum class Precision : std::uint8_t { kUnknown = 0, kFloat32 = 1, kBFloat16 = 2, kFloat16 = 3 };

/// What the worker does when a step runs out of memory, after dropping the step and emptying the
/// cache: kRetry trains it again with the same batch, kHalve with half of it. The numbers are part
/// of the recording's format.
enum class OutOfMemoryPolicy : std::uint8_t { kUnknown = 0, kStop = 1, kRetry = 2, kHalve = 3 };

/// The training settings that the user may change during a run. core/knobs.h lists them. 0: not
/// known, as of a script; in a request to a worker: its default.
struct Knobs {
  std::uint32_t batchSize = 0;
  std::uint32_t sequenceLength = 0;  ///< 0: a script whose inputs have none
  std::uint32_t lossEvery = 0;       ///< reads the loss at every so many steps
  double learningRate = 0;
  std::uint32_t accumulation = 0;  ///< batches whose gradients are added up in each step
  Precision precision = Precision::kUnknown;
  double memoryFraction = 0;  ///< of recommended max, beyond which allocations fail; 0: no limit
  /// A change of the batch size or of the accumulation changes the other one, so that their product
  /// stays.
  bool keepEffectiveBatch = false;
  OutOfMemoryPolicy outOfMemory = OutOfMemoryPolicy::kUnknown;

  bool operator==(const Knobs&) const = default;
};

/// What the steps of a run are: steps of a training, what a script says with highwater.step(), or,
/// where nothing trains, calls of its model. Whether they are these only the end of a run tells:
/// those before a training are no steps. The numbers are part of the recording's format.
enum class StepsAre : std::uint8_t { kTraining = 0, kTold = 1, kIterations = 2 };

/// How a script's torch.utils.data.DataLoader loads, as its arguments of these names say.
struct LoaderSettings {
  std::uint32_t workers = 0;  ///< num_workers
  bool persistentWorkers = false;
  bool deviceData = false;  ///< its data set holds tensors that are on the device

  bool operator==(const LoaderSettings&) const = default;
};

/// Something in a script's code that a finding may name.
struct CodeSign {
  std::string what;    ///< one of the keys below
  std::string line;    ///< of the script: "train.py:28"; empty where it is not known
  std::string text{};  ///< what the key says
  double share = 0;    ///< 0 to 1; what the key says

  bool operator==(const CodeSign&) const = default;
};
/// torch.autocast was asked for `text`, a device that this machine has not, so that PyTorch turned
/// it off.
inline constexpr std::string_view kAutocastOffSign = "autocast_off";
/// Backward was called with torch.autograd's anomaly detection on.
inline constexpr std::string_view kAnomalySign = "anomaly_detection";
/// Backward was called with retain_graph=True.
inline constexpr std::string_view kRetainGraphSign = "retain_graph";
/// Backward was called with create_graph=True, and adds up the gradients of parameters.
inline constexpr std::string_view kCreateGraphSign = "create_graph";
/// Backward computes gradients that no optimizer uses: of `share` of the parameters that have
/// gradients, most of them of a model of the class `text`, which was called at `line`.
inline constexpr std::string_view kUnusedGradientsSign = "unused_gradients";
/// A model feeds the one that an optimizer trains, and gets gradients with it, which are cleared
/// before its own optimizer steps: the model `text`, called there at `line`, with `share` of the
/// parameters that have gradients then.
inline constexpr std::string_view kDroppedGradientsSign = "dropped_gradients";
/// `share` of the columns of the training's batches of tokens are padding in all of their rows;
/// `text` says of how many, and `line` where the script pads.
inline constexpr std::string_view kPaddingSign = "padding";
/// `share` of the positions of the training's batches are padding, as rows of different lengths are
/// padded to their longest; `text` says from how many to how many, and `line` where the script
/// pads.
inline constexpr std::string_view kRaggedRowsSign = "ragged_rows";
/// A model in an evaluation was called with gradients, at `line`.
inline constexpr std::string_view kEvaluationGradientsSign = "evaluation_gradients";
/// A model that no optimizer trains is called in each step without gradients, in the second epoch
/// too, and no op has changed its first parameter, as far as its version tells (Tensor._version,
/// which an update by way of .data leaves as it is): the module `text`, called at `line`.
inline constexpr std::string_view kFrozenModelSign = "frozen_model";
/// The data set of the training's DataLoader is a TensorDataset, whose rows it takes one by one.
inline constexpr std::string_view kTensorRowsSign = "tensor_rows";
/// The data set of the training's DataLoader gives whole batches, by a method __getitems__.
inline constexpr std::string_view kWholeBatchesSign = "whole_batches";
/// The training's DataLoader has a sampler of the script's, whose code goes from `line` to the line
/// number `text`.
inline constexpr std::string_view kSamplerCodeSign = "sampler_code";
/// The torch.autograd.Function `text` keeps its output as a member of ctx, at `line`: both then
/// keep each other (torch/autograd/function.py, FunctionCtx.save_for_backward).
inline constexpr std::string_view kOutputOnContextSign = "output_on_ctx";
/// Each step adds `text` hooks to the models and their parameters, the newest of which has its code
/// at `line`.
inline constexpr std::string_view kPiledHooksSign = "hooks_pile_up";
/// Each step adds tensors to a list, deque or dictionary, at `line`; `text` says what it is and how
/// many it got.
inline constexpr std::string_view kKeptTensorsSign = "kept_tensors";
/// The graph of the tensor `text` goes back through earlier steps; it is computed at `line`.
inline constexpr std::string_view kGrowingGraphSign = "growing_graph";
/// Each step goes through the same part of a graph more than once, for the gradients of parameters:
/// by torch.autograd.grad(), or by backward(), both at `line`, and again by the backward() at the
/// line `text`. `share` of the nodes that all backwards of a step go through are those of the
/// former.
inline constexpr std::string_view kRepeatedGradSign = "repeated_grad";
inline constexpr std::string_view kRepeatedBackwardSign = "repeated_backward";
/// The script's optimizer updates its parameters in a few ops (foreach=True or fused=True).
inline constexpr std::string_view kOptimizerAtOnceSign = "optimizer_at_once";
/// The script's optimizer is not one of PyTorch's, and has no argument foreach; `text` is its
/// class.
inline constexpr std::string_view kOwnOptimizerSign = "optimizer_own";
/// The script's optimizer has a parameter group for nearly each tensor: `text` says how many. It
/// updates each group by ops of its own.
inline constexpr std::string_view kOptimizerGroupsSign = "optimizer_groups";
/// Before Python 3.13 a host sample may be up to `text` late, and then has the line of the next
/// call into C.
inline constexpr std::string_view kSamplesLagSign = "samples_lag";
/// The first kFirstHostSamples host samples, counted from the step kFirstSampledStep on, were taken
/// more often than the others: each stands for the `share` of the time of another.
inline constexpr std::string_view kFirstHostSamplesSign = "first_host_samples";
inline constexpr std::uint32_t kFirstHostSamples = 200, kFirstSampledStep = 2;

/// The model, data and settings of the run. Sent before the first step; of a script again where
/// more is known of it.
struct RunDescription {
  std::string workload;
  std::string preset;
  std::string dtype;
  std::string dataset;  ///< file name without its folder
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
  std::string scenario;                 ///< empty for the plain workload
  events::ProbeLevel probeLevel = events::ProbeLevel::Monitor;  ///< at step 1
  /// The user's own script trains, and `workload` is its name. Data, labels, limits and the model's
  /// dimensions are not known then, and the knobs are guessed from the inputs of the model.
  bool ownScript = false;
  std::string model;      ///< of a script: the class of its model
  std::string optimizer;  ///< of a script: the class of its optimizer
  StepsAre stepsAre = StepsAre::kTraining;
  /// The first step that is one: those before it were iterations, of a script that then trained or
  /// told its steps. 0: all are.
  std::uint32_t firstStep = 0;
  std::optional<LoaderSettings> loader{};  ///< of a script's last batch; nullopt: no DataLoader
  /// Of a script that ended within a step: the sizes of that step's batch. 0: unknown, or it did
  /// not.
  std::uint32_t openBatchSize = 0;
  std::uint32_t openSequenceLength = 0;
  bool openInOptimizer = false;  ///< that step was within the optimizer's
  /// Of a script whose epochs end with a shorter batch: the samples of one. 0: unknown, or none
  /// does.
  std::uint32_t epochSamples = 0;
  std::vector<CodeSign> signs{};  ///< of a script; each `what` at most once

  /// The sign of a key; nullptr if there is none.
  [[nodiscard]] const CodeSign* sign(std::string_view what) const {
    for (const CodeSign& each : signs) {
      if (each.what == what) return &each;
    }
    return nullptr;
  }

  bool operator==(const RunDescription&) const = default;
};

/// The ScriptKnob of the DataLoader that feeds a script's training: its batch size.
inline constexpr std::string_view kLoaderBatchKnob = "dataloader_batch_size";
/// That of a script's optimizers: their learning rates are multiplied by it.
inline constexpr std::string_view kLearningRateKnob = "learning_rate_factor";

/// A setting of the user's own script that the host can change: declared by highwater.knob(), or
/// found by Highwater. Sent when it is declared, and again when the script has taken a new value.
struct ScriptKnob {
  /// kInteger and kReal are numbers, kChoice is one of `choices`.
  enum class Kind : std::uint8_t { kInteger = 1, kReal = 2, kChoice = 3 };
  std::string name;  ///< identifies the knob
  Kind kind = Kind::kReal;
  double value = 0;                                           ///< kChoice: an index in `choices`
  double minimum = -std::numeric_limits<double>::infinity();  ///< infinite: not bounded
  double maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;  ///< the texts of kChoice, else empty
  std::string declaredAt;            ///< "train.py:33"; empty where Highwater found the knob
  std::string warning;               ///< what to know before it is turned, may be empty
};

/// Defines the text of a NameId: the name of an op, a note, or the shapes of an op's arguments.
struct NameDefinition {
  NameId id = kNoId;
  std::string text;
  CallSiteId callSite = kNoId;  ///< of a NamedSpan's name: where such spans begin
};
/// Defines a ModuleId, a module of the model. The module's path is the names of its parents and its
/// own, joined by dots.
struct ModuleDefinition {
  ModuleId id = kNoId;
  ModuleId parent = kNoId;
  std::string name;
};
/// Defines a CallSiteId, a line of source code. `parent` is the call site that called its function,
/// or kNoId. `text` is the line itself without its indentation, of a script's code; empty where it
/// is unknown.
struct CallSiteDefinition {
  CallSiteId id = kNoId;
  CallSiteId parent = kNoId;
  std::string function;
  std::string file;
  std::uint32_t line = 0;
  std::string text = {};
};
/// Defines a ThreadId, a thread of the worker. Its name is "training" or like "thread 3".
struct ThreadDefinition {
  ThreadId id = 0;
  std::string name;
};

/// Tells the host what the ids in events stand for. The worker sends a definition before the first
/// event that uses its id, and never drops one.
struct Definitions {
  std::vector<NameDefinition> names;
  std::vector<ModuleDefinition> modules;
  std::vector<CallSiteDefinition> callSites;
  std::vector<ThreadDefinition> threads;

  /// True if there is no definition of any kind.
  [[nodiscard]] bool empty() const {
    return names.empty() && modules.empty() && callSites.empty() && threads.empty();
  }
};

/// A message with events: one std::span for each kind. The spans do not own the events: they point
/// into the decoded frame or the sender's buffers, and are valid as long as those are. Every event
/// that ended before completeUpToNs (nanoseconds since the start of the run's clock) is in this
/// batch or an earlier one, except for those that `drops` counts as lost.
struct EventBatch : PerEventKind<EventSpan> {
  std::int64_t completeUpToNs = 0;
};

/// The worker's answer to a Command.
struct CommandResult {
  std::uint32_t commandId = 0;
  bool accepted = false;
  std::string message;              ///< the reason of a refusal
  std::uint32_t effectiveStep = 0;  ///< the first step that it applies to; 0: not tied to a step
};

/// The worker's last message before it ends with an error.
struct Failure {
  /// The kind of error. kDeviceContract: a batch was on another device than the model.
  enum class Kind : std::uint8_t { kFailed = 1, kUsage = 2, kDeviceContract = 3, kOutOfMemory = 4 };
  Kind kind = Kind::kFailed;
  std::string message;
  bool inEvaluation = false;  ///< of a script: an evaluation was running
};

/// The worker's last message of a run without error: all planned steps are done, or StopTraining
/// ended it.
struct Goodbye {
  std::uint32_t stepsDone = 0;
  bool stoppedOnRequest = false;
};

/// The host's answer to Hello: it accepts the connection.
struct Welcome {
  std::uint32_t protocolVersion = 0;
};

/// Command: changes the training settings that have a value here. `atStep` is the first step with
/// the new values, 0 for the next step; the worker refuses a step that has begun.
struct SetKnobs {
  std::optional<std::uint32_t> batchSize;
  std::optional<std::uint32_t> sequenceLength;
  std::optional<std::uint32_t> lossEvery;
  std::uint32_t atStep = 0;
  std::optional<double> learningRate{};
  std::optional<std::uint32_t> accumulation{};
  std::optional<Precision> precision{};
  std::optional<double> memoryFraction{};
  std::optional<bool> keepEffectiveBatch{};
  std::optional<OutOfMemoryPolicy> outOfMemory{};
};
/// Command: asks the script for a new value of a ScriptKnob, which it takes at its next use of it.
/// Refused where the script has no such knob or the value is none of its values.
struct SetScriptKnob {
  std::string name;
  double value = 0;  ///< as in ScriptKnob
};
/// Command: begins a block of steps in which a change of the training is tried or not, at the end
/// of the step in progress, or ends the try. What is tried is either to leave out waits of a
/// script: in changed blocks it does not wait for the device at some places, and a value that it
/// reads there is the one that it read there last. Or it is another value of a knob. Each such
/// command waits for the device once, and leaves the note noteOfBlock().
struct TryBlock {
  enum class Part : std::uint8_t { kAsItWas = 0, kChanged = 1, kOver = 2 };
  Part part = Part::kOver;
  std::vector<CallSiteId> callSites;  ///< where waits are left out: at most kMostTriedSites
  std::string knob;                   ///< a ScriptKnob's name or a Knob's key; empty: none
  /// Of the knob, in this block or after the try. A script knows itself what it was.
  double value = 0;
};
inline constexpr std::size_t kMostTriedSites = 16;
/// No other note begins with it.
inline constexpr std::string_view kTryPrefix = "Highwater tries";
inline constexpr std::string_view kTryBlockPrefix = "Highwater tries: ";
inline constexpr std::string_view kTriesWith = "Highwater tries: with the waits";
inline constexpr std::string_view kTriesWithout = "Highwater tries: without the waits";
inline constexpr std::string_view kTriesOld = "Highwater tries: the knob as it was";
inline constexpr std::string_view kTriesNew = "Highwater tries: the knob changed";
inline constexpr std::string_view kTriedEnough = "Highwater tries no more";
/// The note that a block of a try begins with.
[[nodiscard]] constexpr std::string_view noteOfBlock(TryBlock::Part part, bool isOfKnob) {
  if (part == TryBlock::Part::kOver) return kTriedEnough;
  if (isOfKnob) return part == TryBlock::Part::kChanged ? kTriesNew : kTriesOld;
  return part == TryBlock::Part::kChanged ? kTriesWithout : kTriesWith;
}
/// Command: sets how much the probe in the worker records, from the next step on: for `steps`
/// steps, or until changed if `steps` is 0.
struct SetProbeLevel {
  events::ProbeLevel level = events::ProbeLevel::Monitor;
  std::uint32_t steps = 0;
};
/// Command: starts the training. The session sends it when the worker is ready.
struct StartTraining {};
/// Command: pauses the training between two steps, until ResumeTraining.
struct PauseTraining {};
/// Command: continues a paused training.
struct ResumeTraining {};
/// Command: releases the device memory that PyTorch's allocator keeps cached.
struct EmptyCache {};
/// Command: ends the training after its current step. The worker then sends Goodbye.
struct StopTraining {};

/// Command: sends the user's program a signal: SIGHUP, SIGINT, SIGQUIT, SIGKILL or SIGTERM. Only a
/// host that runs the program for another one takes it; a worker and a script refuse it.
struct SignalProgram {
  std::int32_t signal = 0;
};

/// A request of the host to the worker, which answers with one CommandResult of the same id.
struct Command {
  std::uint32_t id = 0;
  std::variant<StartTraining, PauseTraining, ResumeTraining, EmptyCache, StopTraining, SetKnobs,
               SetProbeLevel, SetScriptKnob, TryBlock, SignalProgram>
      action;
};

/// How a run ended. The session writes it into the recording; a worker never sends it.
struct RunEnd {
  /// Why a run ended. The numbers are part of the recording's format.
  enum class Reason : std::uint8_t {
    kFinished = 1,           ///< all planned steps done
    kStopped = 2,            ///< on request
    kFailed = 3,             ///< the worker sent Failure; `message` is its text
    kCrashed = 4,            ///< ended by a signal that Highwater did not send
    kExited = 5,             ///< ended without Goodbye or Failure, with `exitCode`
    kHung = 6,               ///< sent no heartbeat; the session ended it
    kProtocolViolation = 7,  ///< the worker broke the protocol; the session ended it
    kAborted = 8,            ///< the host was ended (window closed, Ctrl+C)
  };
  Reason reason = Reason::kFinished;
  std::int32_t exitCode = 0;
  std::int32_t signal = 0;
  std::string message;    ///< one sentence for the user
  std::string openOp;     ///< name of the innermost open span; empty if none was open
  std::string lastLines;  ///< the last lines of the worker's output
};

/// The user's decision that an op may run on the CPU because the device has no kernel for it, or
/// the withdrawal of that decision. The host writes it into the recording, also after RunEnd. Of
/// several for one op the latest counts.
struct FallbackAcceptance {
  std::string op;  ///< its name with namespace: "aten::kthvalue"
  bool accepted = true;
  std::string reason;  ///< as the user wrote it, may be empty
  std::int64_t unixTimeNs = 0;
};

/// A note of the user at a time of the run. The host writes it into the recording, also after
/// RunEnd; a worker never sends it. It becomes a marker of MarkerKind::Note.
struct Note {
  std::int64_t timeNs = 0;  ///< since the start of the run's clock
  std::uint32_t step = 0;   ///< the step at that time; 0 before the first
  std::string text;         ///< as the user wrote it, may be empty
  std::int64_t unixTimeNs = 0;
};

/// Any message between worker and host. One encoded message is a frame.
using Message =
    std::variant<Hello, RunDescription, Definitions, EventBatch, CommandResult, Failure, Goodbye,
                 Welcome, Command, RunEnd, FallbackAcceptance, ScriptKnob, Note>;

}  // namespace highwater
