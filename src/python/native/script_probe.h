#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages.h"
#include "core/result.h"
#include "probe/observer/op_observer.h"
#include "probe/readings/named_scope.h"
#include "probe/readings/phase_scope.h"
#include "probe/readings/sampler.h"
#include "probe/stream/frame_writer.h"
#include "probe/stream/recorder.h"
#include "probe/stream/sender.h"
#include "process/command_reader.h"
#include "process/connection.h"
#include "python/native/host_sampler.h"
#include "python/native/outbox.h"
#include "python/native/script_control.h"
#include "wire/own_descriptor.h"

namespace highwater::python {

/// How a script attaches.
struct ScriptOptions {
  std::string simulatedDevice;  ///< the library of the simulated device, loaded already; "": none
  std::string script;           ///< what runs, for the user: "train.py"
  events::ProbeLevel level = events::ProbeLevel::Monitor;
  std::uint32_t hostSampleHz = kDefaultHostSampleHz;  ///< 0: none
};

/// The probe of a script that may train. It observes from start() on, and keeps what it saw until
/// connect(): a process shows that it trains only in the middle of its first step. Steps and phases
/// are those of one thread. Never destroyed: the threads of the script may outlive it.
class ScriptProbe {
 public:
  /// Observes from now on. Fails where the device cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<ScriptProbe>> start(const ScriptOptions& options);
  /// Connects to the host that listens at `socket`, and sends what was kept. Fails with the errors
  /// of process::openConnection(), and with kEnded where the host is gone or does not accept within
  /// 10 s; what follows is then not recorded. Throws std::system_error where the system gives no
  /// thread: breakOff() then.
  [[nodiscard]] Result<void> connect(const process::SocketConnection& host);
  /// Sends what is left and how the script ended, by an interrupt or an error (without a message:
  /// by neither), and ends the probe's threads. A host that does not read is given up after
  /// `limit`.
  void stop(bool interrupted, const Failure& error, std::chrono::milliseconds limit);
  /// Observes and sends nothing any more, because of an error of ours; the script trains on. The
  /// reason is said once, by the next command that the script takes and at the end by the host.
  void breakOff(const std::string& why);
  /// After fork(), in the child: nothing is observed, and the connection is closed.
  void forget() noexcept;
  /// Ends the observing alone.
  void stopObserving();

  /// Takes what is known of the training; sent with the first step at the latest, and again when it
  /// changes. Workload, level and that it is a script need not be given, texts and sizes are cut.
  void describe(RunDescription run);

  /// A step begins: now, or where noteStepBegin() was called if `late`.
  void beginStep(std::uint32_t step, bool late);
  /// The work of the step ended: now, or where noteStepEnd() was called if `late`. Sizes are
  /// guesses of one of its `microSteps` batches; 0: not known. The step lasts until the next one
  /// begins, or an evaluation or a pause, because what a loop does after its optimizer is part of
  /// its time: it is there that most of them read their losses.
  void endStep(std::uint32_t step, std::uint32_t batchSize, std::uint32_t sequenceLength,
               std::uint32_t microSteps, bool late);
  void noteStepBegin() {
    notedBeginNs_ = recorder_.now();
    recorder_.noteStepBegin();
  }
  void noteStepEnd() {
    notedEndNs_ = recorder_.now();
    cutNs_ = 0;
  }
  /// What follows is no part of the step whose work has ended. It is recorded at once, unless its
  /// loss `mayBeReadLater`: then before the next step begins, or at the end.
  void cutStep(bool mayBeReadLater = false);

  /// The script stands still between two steps because the host asked for it, and goes on.
  void setPaused(bool paused);

  /// A phase begins on the calling thread, and suspends the one around it. `key` is that of a
  /// phase of a step, "evaluation", one of _training.py for the start of a DataLoader, or a name of
  /// the script's own. Phases of other threads than the
  /// training's are not recorded; their ops are watched. Waits in an evaluation are planned, also
  /// in phases inside of it.
  void beginPhase(std::string_view key);
  void endPhase();
  void mark(std::string_view text);
  /// A marker of a try: see TryBlock.
  void noteTry(std::string_view text);

  /// Offers a knob to the host. Returns why it cannot be shown; empty on success.
  [[nodiscard]] std::string offer(ScriptKnob knob);
  /// Tells the host that the script has given a knob another value. Knobs count from 0, in the
  /// order in which they were offered.
  void knobTurned(std::size_t knob, double value);

  /// The calling thread is the one that trains from now on. Phases that another one has open end
  /// unrecorded.
  void trainHere();

  /// Whether the host takes no more events: nothing need be recorded.
  [[nodiscard]] bool isOver() const { return isOver_.load(std::memory_order_acquire); }
  /// True inside of a phase.
  [[nodiscard]] bool isInPhase() const { return !phases_.empty(); }
  /// True where the device is MPS, real or simulated.
  [[nodiscard]] bool isOnMps() const { return counters_ != nullptr; }
  /// True where the device is the simulated one.
  [[nodiscard]] bool isSimulated() const { return !options_.simulatedDevice.empty(); }
  [[nodiscard]] probe::Recorder& recorder() { return recorder_; }
  [[nodiscard]] ScriptControl& control() { return control_; }

 private:
  ScriptProbe(const ScriptOptions& options, DeviceReport device);
  void startReading();
  void onHostGone();
  /// Nobody takes what is recorded any more, and it would only pile up.
  void endRecording();
  /// Leaves a sign for the host in the folder of its socket, as Window.note() in _attach.py does.
  void leaveSign(const char* sign, const std::string& text) const;
  /// Forgets what was kept for a host, other than marks.
  void forgetKept();
  void sendDescription();
  /// Ends what is recorded of the innermost phase, and samples memory between it and the next.
  void suspendPhase();
  void resumePhase();
  /// Samples the memory counters, and a peak that has risen since the last time.
  void sampleAtBoundary();

  ScriptOptions options_;
  DeviceReport device_;
  ScriptControl control_;
  probe::Recorder recorder_;
  wire::OwnDescriptor socket_;    ///< from connect() on
  std::filesystem::path folder_;  ///< of the host's socket, from connect() on
  std::optional<probe::FrameWriter> writer_;
  std::unique_ptr<probe::CounterSource> counters_;
  std::unique_ptr<probe::PeakSource> peaks_;
  std::optional<probe::RisenPeak> risenPeak_;  ///< where there are counters
  std::unique_ptr<process::CommandReader> reader_;
  std::optional<Outbox> outbox_;
  std::optional<probe::Sender> sender_;
  std::optional<probe::Sampler> sampler_;
  std::optional<HostSampler> hostSampler_;
  std::optional<probe::OpObserver> observer_;

  /// A step whose work has ended, but which lasts.
  struct OpenStep {
    std::int64_t beginNs = 0, workedUntilNs = 0;
    std::uint32_t number = 0, batchSize = 0, sequenceLength = 0, positions = 0;
  };
  /// The open step, if there is one, ends at a time; recordClosedStep() records it.
  void closeStep(std::int64_t endNs);
  /// Records the step that has ended, if it was not.
  void recordClosedStep();
  void noteBatchSize(std::uint32_t step, std::uint32_t batchSize);

  std::atomic<bool> isOver_{false};
  std::optional<OpenStep> open_;
  /// A step that has ended, but whose loss may yet be read: many a script does so after the
  /// evaluation that ended it. Without its loss.
  std::optional<events::StepRecord> closed_;
  /// Where an evaluation, a pause or the end of a notebook's cell has ended a step of which only
  /// the next call tells whether it was complete; 0: nowhere.
  std::int64_t cutNs_ = 0;
  std::mutex knobMutex_;  ///< connecting does not hold the interpreter's lock
  std::vector<ScriptKnob> knobs_;
  RunDescription run_;
  std::optional<RunDescription> described_;  ///< what of it was sent
  std::int64_t beginNs_ = 0, notedBeginNs_ = 0, notedEndNs_ = 0;
  std::uint32_t batchSize_ = 0;      ///< that two steps in a row had last, or the first one
  std::uint32_t lastBatchSize_ = 0;  ///< of the last step
  std::uint32_t stepsDone_ = 0;
  std::uint32_t keptPhases_ = 0;
  /// A phase that has begun and not ended.
  struct OpenPhase {
    events::Phase phase = events::Phase::None;
    NameId name = kNoId;     ///< of an evaluation or a phase of the script's own
    bool evaluates = false;  ///< an evaluation, or within one
    bool begun = false;      ///< recorded in part
  };
  std::vector<OpenPhase> phases_;  ///< the innermost last, which is the one that is recorded
  /// The phase that is recorded, and the lane of the thread on which it has begun.
  struct RecordedPhase {
    std::optional<probe::PhaseScope> phase;
    std::optional<probe::NamedScope> named;
    probe::ThreadLane* lane = nullptr;
  };
  std::unique_ptr<RecordedPhase> recorded_ = std::make_unique<RecordedPhase>();
};

}  // namespace highwater::python
