#pragma once

#include <cstdint>
#include <memory>
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
#include "python/native/script_control.h"

namespace highwater::python {

/// How a script attaches.
struct ScriptOptions {
  std::string socket;
  std::string tokenFile;
  std::string simulatedDevice;  ///< the library of the simulated device, loaded already; "": none
  std::string script;           ///< what runs, for the user: "train.py"
  events::ProbeLevel level = events::ProbeLevel::Monitor;
};

/// The probe of a script that trains, from the connection to the host to its end. Steps and phases
/// are those of the thread that constructs it. Never destroyed: the threads of the script may
/// outlive it.
class ScriptProbe {
 public:
  /// Connects to the host, and observes once the host has accepted. Fails with the errors of
  /// process::openConnection(), and with kEnded where the host does not accept within 10 s.
  [[nodiscard]] static Result<std::unique_ptr<ScriptProbe>> start(const ScriptOptions& options);
  /// Sends what is left and how the script ended, by an interrupt or an error ("": by neither), and
  /// ends the probe's threads. A host that does not read is given up after a second.
  void stop(bool interrupted, std::string_view error);
  /// After fork(), in the child: nothing is observed, and the connection is closed.
  void forget() noexcept;

  /// What is known of the model; sent once, with the first step at the latest.
  struct Model {
    std::string name;       ///< its class
    std::string optimizer;  ///< the class of its optimizer
    std::string dtype;      ///< of its parameters: "float32"
    std::uint64_t parameters = 0;
    std::uint32_t batchSize = 0;       ///< 0: not known
    std::uint32_t sequenceLength = 0;  ///< 0: not known
  };
  void describe(Model model);

  /// A step begins: now, or where noteStepBegin() was called if `late`.
  void beginStep(std::uint32_t step, bool late);
  /// The step ended: now, or where noteStepEnd() was called if `late`. Sizes are guesses of one
  /// of its `microSteps` batches; 0: not known.
  void endStep(std::uint32_t step, std::uint32_t batchSize, std::uint32_t sequenceLength,
               std::uint32_t microSteps, bool late);
  void noteStepBegin() { notedBeginNs_ = recorder_.now(); }
  void noteStepEnd() { notedEndNs_ = recorder_.now(); }

  /// A phase begins on the calling thread, and suspends the one around it. `key` is that of a
  /// phase of a step, "evaluation", or a name of the script's own. Waits in an evaluation count as
  /// planned, and so do those that follow it before the training goes on: what is read of its
  /// results. Phases of other threads than the training's are not recorded; their ops are watched.
  void beginPhase(std::string_view key);
  void endPhase();
  void mark(std::string_view text);

  /// Offers a knob to the host. Returns why it cannot be shown; empty on success.
  [[nodiscard]] std::string offer(ScriptKnob knob);
  /// Tells the host that the script has given a knob another value. Knobs count from 0, in the
  /// order in which they were offered.
  void knobTurned(std::size_t knob, double value);

  [[nodiscard]] probe::Recorder& recorder() { return recorder_; }
  [[nodiscard]] ScriptControl& control() { return control_; }

 private:
  ScriptProbe(const ScriptOptions& options, process::Connection connection, DeviceReport device);
  [[nodiscard]] bool sendHello(const std::string& token);
  void startReading();
  void sendDescription();
  /// A phase that has begun and not ended.
  struct OpenPhase {
    events::Phase phase = events::Phase::None;
    NameId name = kNoId;  ///< of an evaluation or a phase of the script's own
    bool evaluates = false;
    bool begun = false;
  };
  void suspendPhase();
  void resumePhase();

  ScriptOptions options_;
  process::Connection connection_;
  DeviceReport device_;
  ScriptControl control_;
  probe::Recorder recorder_;
  probe::FrameWriter writer_;
  std::unique_ptr<probe::CounterSource> counters_;
  std::unique_ptr<process::CommandReader> reader_;
  std::optional<probe::Sender> sender_;
  std::optional<probe::Sampler> sampler_;
  std::optional<probe::OpObserver> observer_;

  std::vector<ScriptKnob> knobs_;
  Model model_;
  bool described_ = false;
  std::int64_t beginNs_ = 0, notedBeginNs_ = 0, notedEndNs_ = 0;
  std::uint32_t batchSize_ = 0;  ///< of the last step
  std::uint32_t stepsDone_ = 0;
  std::vector<OpenPhase> phases_;  ///< the innermost last, which is the one that is recorded
  std::optional<probe::PhaseScope> phase_;
  std::optional<probe::NamedScope> named_;
};

}  // namespace highwater::python
