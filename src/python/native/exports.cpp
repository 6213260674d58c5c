#include "python/native/exports.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/names.h"
#include "core/units.h"
#include "probe/observer/kept_values.h"
#include "probe/observer/loss_reads.h"
#include "probe/observer/module_scope.h"
#include "probe/observer/tried_waits.h"
#include "probe/observer/watched_thread.h"
#include "probe/readings/mps_device.h"
#include "python/native/interpreter.h"
#include "python/native/script_probe.h"
#include "python/native/waiting_calls.h"

using namespace highwater;
using namespace highwater::python;

namespace {

ScriptOptions preparedOptions;
/// Never destroyed: see ScriptProbe.
std::atomic<ScriptProbe*> running{nullptr};
/// The probe of the process that this one was forked from.
ScriptProbe* forgotten = nullptr;
std::atomic<std::thread::id> trainingThread;

/// The open modules of a thread, and its watching.
struct ThreadState {
  std::deque<probe::ModuleScope> modules;
  /// Of the open modules and, to keep their memory, of some that were open.
  std::vector<std::string> paths;
  std::optional<probe::WatchedThread> watched;

  void enter(ScriptProbe& probe, std::string_view path) {
    const std::size_t depth = modules.size();
    if (paths.size() <= depth) paths.resize(depth + 1);
    modules.emplace_back(&probe.recorder(), depth == 0 ? path : below(path, paths[depth - 1]));
    // The root's own name is its class, which is no part of the paths below it.
    paths[depth] = depth == 0 ? std::string_view() : path;
  }

 private:
  /// "0" for the path "body.0" in "body"; the whole path where it is not below `parent`.
  static std::string_view below(std::string_view path, std::string_view parent) {
    const bool isBelow = !parent.empty() && path.size() > parent.size() + 1 &&
                         path.starts_with(parent) && path[parent.size()] == '.';
    return isBelow ? path.substr(parent.size() + 1) : path;
  }
};
ThreadState& ofThread() {
  thread_local ThreadState state;
  return state;
}

bool isTrainingThread() {
  return std::this_thread::get_id() == trainingThread;
}

/// The probe while somebody takes what it records.
ScriptProbe* recording() {
  ScriptProbe* probe = running;
  return probe && !probe->isOver() ? probe : nullptr;
}

/// The same, where the calling thread is the one that trains.
ScriptProbe* ofTrainingThread() {
  ScriptProbe* probe = recording();
  return probe && isTrainingThread() ? probe : nullptr;
}

/// The probe that broke off; its threads run until hw_stop().
std::atomic<ScriptProbe*> broken{nullptr};

/// Has the calling thread wait as ever.
void endTry() {
  probe::tryNoWaits();
  probe::forgetKeptValues();
}

void forgetInChild() {
  endTry();
  ScriptProbe* probe = running.exchange(nullptr);
  if (!probe) probe = broken.exchange(nullptr);
  if (!probe) return;
  probe->forget();
  forgotten = probe;
}

/// Calls `f` with the probe, if there is one. Nothing that is thrown there leaves this library: it
/// ends the watching, and the script trains on. Anything but an exception of C++, such as the
/// unwinding of a thread that Python ends, passes.
template <typename F>
void withProbe(ScriptProbe* probe, F&& f) {
  if (!probe) return;
  try {
    f(*probe);
  } catch (const std::exception& error) {
    try {
      if (running.exchange(nullptr) == probe) broken = probe;
      probe->breakOff(error.what());
    } catch (const std::exception&) {  // no memory to say it
    }
  }
}

/// The text that `f` returns, or what it throws; valid until the next call with the same `kept`.
template <typename F>
const char* textFrom(std::string& kept, F&& f) {
  try {
    kept = f();
  } catch (const std::exception& error) {
    try {
      kept = error.what();
    } catch (const std::exception&) {
      return "out of memory";
    }
  }
  return kept.c_str();
}

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// As hw_describe() takes them.
std::vector<CodeSign> signsOf(std::string_view text) {
  std::vector<CodeSign> signs;
  for (const std::string& line : linesOf(text)) {
    std::array<std::string_view, 4> parts;
    std::string_view rest = line;
    for (std::string_view& part : parts) {
      part = rest.substr(0, rest.find('\t'));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    }
    CodeSign sign{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
    if (const auto share = parseNumber(parts[3])) sign.share = share->value;
    signs.push_back(std::move(sign));
  }
  return signs;
}

std::uint32_t clamped(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(value, kMost));
}

/// The shortest text that reads as the same number.
std::string jsonNumber(double value) {
  std::array<char, 32> text{};
  const auto done = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), done.ptr};
}

/// The text between the quotes of a JSON string.
std::string jsonText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return escaped;
}

std::string knobJson(std::size_t knob, double value) {
  return '[' + std::to_string(knob) + ", " + jsonNumber(value) + ']';
}

std::string jsonOf(const ScriptControl::Order& order) {
  using Kind = ScriptControl::Order::Kind;
  switch (order.kind) {
    case Kind::kPause:
      return R"(["pause", null])";
    case Kind::kResume:
      return R"(["resume", null])";
    case Kind::kEmptyCache:
      return R"(["empty_cache", null])";
    case Kind::kLevel:
      return R"(["level", ")" + std::string(probeLevelKey(order.level)) + R"("])";
    case Kind::kTell:
      return R"(["tell", ")" + jsonText(order.text) + R"("])";
    case Kind::kTry: {
      std::string sites;
      for (const CallSiteId each : order.tries.callSites) {
        sites += (sites.empty() ? "" : ", ") + std::to_string(each);
      }
      const bool hasKnob = !order.tries.knob.empty();
      return R"(["try", [[)" + sites + "], " + std::to_string(static_cast<int>(order.tries.part)) +
             ", " + (hasKnob ? knobJson(order.knob, order.tries.value) : "null") + "]]";
    }
    case Kind::kKnob:
      return R"(["set_knob", )" + knobJson(order.knob, order.value) + ']';
    case Kind::kStop:
      break;
  }
  return R"(["stop", null])";
}

}  // namespace

void hw_prepare(const char* script, const char* library_folders, const char* simulated_device,
                const char* level, std::uint64_t host_sample_hz) {
  static std::string ignored;
  (void)textFrom(ignored, [&] {
    preparedOptions.script = script;
    preparedOptions.simulatedDevice = simulated_device;
    const events::ProbeLevel known = probeLevelFromKey(level);
    if (known != events::ProbeLevel::None) preparedOptions.level = known;
    preparedOptions.hostSampleHz = std::min(clamped(host_sample_hz), kMostHostSampleHz);
    setLibraryFolders(linesOf(library_folders));
    return std::string();
  });
}

const char* hw_start() {
  static std::string problem;
  return textFrom(problem, [] {
    if (running) return std::string("a probe runs in this process already");
    if (ScriptProbe* parents = std::exchange(forgotten, nullptr)) parents->stopObserving();
    trainingThread = std::this_thread::get_id();
    auto probe = ScriptProbe::start(preparedOptions);
    if (!probe) return probe.error().message;
    running = probe->release();
    static const int registered = ::pthread_atfork(nullptr, nullptr, &forgetInChild);
    (void)registered;
    return std::string();
  });
}

const char* hw_connect(const char* socket, const char* token_file) {
  static std::string problem;
  ScriptProbe* probe = running;
  if (!probe) return "no probe runs in this process";
  problem = "out of memory";
  withProbe(probe, [&](ScriptProbe& it) {
    // An open phase ends on the thread that began it.
    if (it.isInPhase() && !isTrainingThread()) it.trainHere();
    trainingThread = std::this_thread::get_id();
    try {
      const auto connected = it.connect({socket, token_file});
      problem = connected ? std::string() : connected.error().message;
    } catch (const std::exception& error) {
      problem = std::string("Highwater's threads cannot run: ") + error.what();
      throw;
    }
  });
  return problem.c_str();
}

void hw_stop(bool interrupted, const char* error, bool in_evaluation, std::uint64_t limit_ms) {
  endTry();
  ScriptProbe* probe = running.exchange(nullptr);
  if (!probe) probe = broken.exchange(nullptr);
  withProbe(probe, [&](ScriptProbe& it) {
    ofThread().modules.clear();
    ofThread().watched.reset();
    it.stop(interrupted, {Failure::Kind::kFailed, error, in_evaluation},
            std::chrono::milliseconds(limit_ms));
  });
}

bool hw_is_running() {
  return recording() != nullptr;
}

const char* hw_watch_waiting_calls(_object* torch, std::uint64_t head_bytes) {
  static std::string missed;
  return textFrom(missed, [&] {
    ScriptProbe* probe = running;
    if (!probe || !probe->isOnMps()) return std::string();
    return waits::watchWaitingCalls(torch, head_bytes, probe->isSimulated());
  });
}

void hw_enter_module(const char* name) {
  withProbe(recording(), [name](ScriptProbe& probe) { ofThread().enter(probe, name); });
}

void hw_leave_module() {
  withProbe(running, [](ScriptProbe&) {
    if (!ofThread().modules.empty()) ofThread().modules.pop_back();
  });
}

void hw_begin_phase(const char* key) {
  withProbe(ofTrainingThread(), [key](ScriptProbe& probe) { probe.beginPhase(key); });
}

void hw_end_phase() {
  // Also where nothing is recorded any more: it ends what is open.
  if (isTrainingThread()) withProbe(running, [](ScriptProbe& probe) { probe.endPhase(); });
}

void hw_begin_step(std::uint64_t step, bool late) {
  withProbe(ofTrainingThread(), [&](ScriptProbe& probe) { probe.beginStep(clamped(step), late); });
}

void hw_end_step(std::uint64_t step, std::uint64_t batch, std::uint64_t length,
                 std::uint64_t micro_steps, bool late) {
  withProbe(ofTrainingThread(), [&](ScriptProbe& probe) {
    probe.endStep(clamped(step), clamped(batch), clamped(length), clamped(micro_steps), late);
  });
}

void hw_note_loss(std::uint64_t tensor) {
  withProbe(ofTrainingThread(), [&](ScriptProbe& probe) {
    if (probe.isOnMps()) probe::noteLoss(static_cast<std::uintptr_t>(tensor));
  });
}

void hw_note_step_begin() {
  withProbe(ofTrainingThread(), [](ScriptProbe& probe) { probe.noteStepBegin(); });
}

void hw_note_step_end() {
  withProbe(ofTrainingThread(), [](ScriptProbe& probe) { probe.noteStepEnd(); });
}

void hw_watch_thread() {
  withProbe(recording(), [](ScriptProbe& probe) {
    if (!ofThread().watched) ofThread().watched.emplace(probe.recorder());
  });
}

void hw_describe(const char* model, const char* optimizer, const char* dtype,
                 std::uint64_t parameters, std::uint64_t batch, std::uint64_t length, int steps_are,
                 std::uint64_t first_step, int loader_workers, bool persistent_workers,
                 bool device_data, std::uint64_t open_batch, std::uint64_t open_length,
                 bool open_in_optimizer, double memory_fraction, std::uint64_t epoch_samples,
                 const char* signs) {
  withProbe(running, [&](ScriptProbe& probe) {
    RunDescription run;
    run.model = model;
    run.optimizer = optimizer;
    run.dtype = dtype;
    run.parameters = parameters;
    run.knobs.batchSize = clamped(batch);
    run.knobs.sequenceLength = clamped(length);
    run.knobs.memoryFraction = memory_fraction;
    run.stepsAre = static_cast<StepsAre>(steps_are);
    run.firstStep = clamped(first_step);
    if (loader_workers >= 0) {
      run.loader = {static_cast<std::uint32_t>(loader_workers), persistent_workers, device_data};
    }
    run.openBatchSize = clamped(open_batch);
    run.openSequenceLength = clamped(open_length);
    run.openInOptimizer = open_in_optimizer;
    run.epochSamples = clamped(epoch_samples);
    run.signs = signsOf(signs);
    probe.describe(std::move(run));
  });
}

void hw_mark(const char* text) {
  withProbe(recording(), [text](ScriptProbe& probe) { probe.mark(text); });
}

const char* hw_offer_knob(const char* name, int kind, double value, double minimum, double maximum,
                          const char* choices, const char* declared_at, const char* warning) {
  static std::string problem;
  ScriptProbe* probe = running;
  if (!probe) return "";
  return textFrom(problem, [&] {
    const auto kindOfKnob = static_cast<ScriptKnob::Kind>(kind);
    return probe->offer(
        {name, kindOfKnob, value, minimum, maximum, linesOf(choices), declared_at, warning});
  });
}

void hw_knob_turned(std::uint64_t knob, double value) {
  withProbe(running,
            [&](ScriptProbe& probe) { probe.knobTurned(static_cast<std::size_t>(knob), value); });
}

void hw_cut_step() {
  withProbe(ofTrainingThread(), [](ScriptProbe& probe) { probe.cutStep(); });
}

void hw_set_paused(bool paused) {
  withProbe(ofTrainingThread(), [paused](ScriptProbe& probe) { probe.setPaused(paused); });
}

void hw_set_level(const char* level) {
  withProbe(ofTrainingThread(), [level](ScriptProbe& probe) {
    const events::ProbeLevel known = probeLevelFromKey(level);
    probe::Recorder& recorder = probe.recorder();
    if (known == events::ProbeLevel::None || known == recorder.level()) return;
    recorder.mark(events::MarkerKind::ProbeLevel, recorder.step() + 1,
                  static_cast<double>(recorder.level()), static_cast<double>(known));
    recorder.setLevel(known);
  });
}

void hw_empty_cache() {
  withProbe(running, [](ScriptProbe& probe) {
    if (probe.isOnMps()) probe::emptyDeviceCache();
  });
}

void hw_try_block(const std::uint32_t* call_sites, std::uint64_t count, int part) {
  if (!isTrainingThread()) return;
  const auto which = static_cast<TryBlock::Part>(part);
  if (which == TryBlock::Part::kOver) endTry();
  withProbe(recording(), [=](ScriptProbe& probe) {
    if (probe.isOnMps()) probe::waitForDevice();
    if (count > 0) {
      probe::tryWaits(probe.recorder(), {call_sites, call_sites + count},
                      which == TryBlock::Part::kChanged, &mayLeaveOutHere);
    }
    probe.noteTry(noteOfBlock(which, count == 0));
  });
}

const char* hw_poll_commands() {
  static std::string text;
  // A probe that broke off still has to say so.
  ScriptProbe* probe = running.load();
  if (!probe) probe = broken.load();
  if (!probe || !isTrainingThread()) return nullptr;
  text.clear();
  withProbe(probe, [](ScriptProbe& it) {
    for (const ScriptControl::Order& each : it.control().take()) {
      text += (text.empty() ? "[" : ", ") + jsonOf(each);
    }
    if (!text.empty()) text += "]";
  });
  return text.empty() ? nullptr : text.c_str();
}
