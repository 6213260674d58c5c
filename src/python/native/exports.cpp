#include "python/native/exports.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/names.h"
#include "probe/observer/module_scope.h"
#include "probe/observer/watched_thread.h"
#include "python/native/interpreter.h"
#include "python/native/script_probe.h"

using namespace highwater;
using namespace highwater::python;

namespace {

ScriptOptions preparedOptions;
/// Never destroyed: see ScriptProbe.
std::atomic<ScriptProbe*> running{nullptr};
std::thread::id trainingThread;

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

/// The probe where it runs and the calling thread is the one that trains.
ScriptProbe* ofTrainingThread() {
  ScriptProbe* probe = running;
  return probe && isTrainingThread() ? probe : nullptr;
}

void forgetInChild() {
  if (ScriptProbe* probe = running.exchange(nullptr)) probe->forget();
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

std::uint32_t clamped(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(value, kMost));
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
    case Kind::kLevel: {
      const auto level = static_cast<events::ProbeLevel>(order.value);
      return R"(["level", ")" + std::string(probeLevelKey(level)) + R"("])";
    }
    case Kind::kBatchSize:
      return R"(["set_knob", ["batch_size", )" + std::to_string(order.value) + "]]";
    case Kind::kStop:
      break;
  }
  return R"(["stop", null])";
}

}  // namespace

void hw_prepare(const char* script, const char* library_folders, const char* simulated_device,
                const char* level) {
  preparedOptions.script = script;
  preparedOptions.simulatedDevice = simulated_device;
  const events::ProbeLevel known = probeLevelFromKey(level);
  if (known != events::ProbeLevel::None) preparedOptions.level = known;
  setLibraryFolders(linesOf(library_folders));
}

const char* hw_start(const char* socket, const char* token_file) {
  static std::string problem;
  if (running) return "a probe runs in this process already";
  preparedOptions.socket = socket;
  preparedOptions.tokenFile = token_file;
  trainingThread = std::this_thread::get_id();
  auto probe = ScriptProbe::start(preparedOptions);
  problem = probe ? std::string() : probe.error().message;
  if (!probe) return problem.c_str();
  running = probe->release();
  static const int registered = ::pthread_atfork(nullptr, nullptr, &forgetInChild);
  (void)registered;
  return "";
}

void hw_stop(bool interrupted, const char* error) {
  ScriptProbe* probe = running.exchange(nullptr);
  if (!probe) return;
  ofThread().modules.clear();
  ofThread().watched.reset();
  probe->stop(interrupted, error);
}

bool hw_is_running() {
  return running != nullptr;
}

void hw_enter_module(const char* name) {
  if (ScriptProbe* probe = running) ofThread().enter(*probe, name);
}

void hw_leave_module() {
  if (running && !ofThread().modules.empty()) ofThread().modules.pop_back();
}

void hw_begin_phase(const char* key) {
  if (ScriptProbe* probe = ofTrainingThread()) probe->beginPhase(key);
}

void hw_end_phase() {
  if (ScriptProbe* probe = ofTrainingThread()) probe->endPhase();
}

void hw_begin_step(std::uint64_t step, bool late) {
  if (ScriptProbe* probe = ofTrainingThread()) probe->beginStep(clamped(step), late);
}

void hw_end_step(std::uint64_t step, std::uint64_t batch, std::uint64_t length,
                 std::uint64_t micro_steps, bool late) {
  if (ScriptProbe* probe = ofTrainingThread()) {
    probe->endStep(clamped(step), clamped(batch), clamped(length), clamped(micro_steps), late);
  }
}

void hw_note_step_begin() {
  if (ScriptProbe* probe = ofTrainingThread()) probe->noteStepBegin();
}

void hw_note_step_end() {
  if (ScriptProbe* probe = ofTrainingThread()) probe->noteStepEnd();
}

void hw_watch_thread() {
  ScriptProbe* probe = running;
  if (probe && !ofThread().watched) ofThread().watched.emplace(probe->recorder());
}

void hw_describe(const char* model, std::uint64_t parameters, std::uint64_t batch,
                 std::uint64_t length) {
  if (ScriptProbe* probe = running) {
    probe->describe({model, parameters, clamped(batch), clamped(length)});
  }
}

void hw_mark(const char* text) {
  if (ScriptProbe* probe = running) probe->mark(text);
}

void hw_offer_batch_size() {
  if (ScriptProbe* probe = running) probe->control().offerBatchSize();
}

void hw_set_level(const char* level) {
  ScriptProbe* probe = ofTrainingThread();
  const events::ProbeLevel known = probeLevelFromKey(level);
  if (!probe || known == events::ProbeLevel::None) return;
  probe::Recorder& recorder = probe->recorder();
  if (known == recorder.level()) return;
  recorder.mark(events::MarkerKind::ProbeLevel, recorder.step() + 1,
                static_cast<double>(recorder.level()), static_cast<double>(known));
  recorder.setLevel(known);
}

const char* hw_poll_commands() {
  static std::string text;
  ScriptProbe* probe = ofTrainingThread();
  if (!probe) return nullptr;
  text.clear();
  for (const ScriptControl::Order& each : probe->control().take()) {
    text += (text.empty() ? "[" : ", ") + jsonOf(each);
  }
  if (text.empty()) return nullptr;
  text += "]";
  return text.c_str();
}
