#include "probe/python/probe_library.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/names.h"
#include "probe/observer/module_scope.h"
#include "probe/observer/op_observer.h"
#include "probe/observer/watched_ops.h"

using namespace highwater;
using namespace highwater::probe;

namespace {

struct Probe {
  // Times are the system's own.
  Recorder recorder{RunClock{}};
  OpObserver observer{recorder};
  std::vector<std::unique_ptr<ModuleScope>> scopes;
  std::map<NameId, std::string> names;
  std::map<ThreadId, std::string> threads;
  std::map<ModuleId, std::string> modules;

  void takeDefinitions() {
    Definitions definitions;
    recorder.names().takeNew(definitions);
    recorder.modules().takeNew(definitions);
    for (const NameDefinition& each : definitions.names) names[each.id] = each.text;
    for (const ThreadDefinition& each : definitions.threads) threads[each.id] = each.name;
    for (const ModuleDefinition& each : definitions.modules) {
      const std::string& parent = modules[each.parent];
      modules[each.id] = parent.empty() ? each.name : parent + "." + each.name;
    }
  }
};
std::unique_ptr<Probe> running;

/// A begin, to sort by, with the line's text.
using Line = std::pair<std::int64_t, std::string>;

template <typename Event>
Line lineOf(const Event& event, std::string_view kind) {
  std::string line;
  const auto add = [&line](std::string_view field) {
    if (!line.empty()) line += '\t';
    line += field;
  };
  add(std::to_string(event.begin_ns()));
  add(std::to_string(event.begin_ns() + event.duration_ns()));
  add(running->threads[event.thread()]);
  add(kind);
  add(running->names[event.op()]);
  add(phaseKey(event.phase()));
  add(running->modules[event.module_id()]);
  add(std::to_string(event.call_site()));
  return {event.begin_ns(), line + "\n"};
}

void addLine(std::vector<Line>& lines, const EventRecord& record) {
  record.visit([&lines](const auto& event) {
    using Event = std::remove_cvref_t<decltype(event)>;
    if constexpr (std::is_same_v<Event, events::SyncPoint>) {
      lines.push_back(lineOf(event, syncKindKey(event.kind())));
    } else if constexpr (std::is_same_v<Event, events::FallbackEvent>) {
      lines.push_back(lineOf(event, "fallback"));
    }
  });
}

}  // namespace

int probe_begin() {
  if (running) return 1;
  running = std::make_unique<Probe>();
  return 0;
}

void probe_end() {
  running.reset();
}

int probe_level(const char* level) {
  const events::ProbeLevel known = probeLevelFromKey(level);
  if (known == events::ProbeLevel::None) return 1;
  running->recorder.setLevel(known);
  return 0;
}

void probe_enter(const char* module) {
  running->scopes.push_back(std::make_unique<ModuleScope>(module));
}

void probe_leave() {
  running->scopes.pop_back();
}

int probe_phase(const char* phase) {
  for (const events::Phase each : kPhases) {
    if (phaseKey(each) != phase) continue;
    running->recorder.setPhase(each);
    return 0;
  }
  return 1;
}

std::uint64_t probe_watched() {
  return WatchedOps::count();
}

const char* probe_take() {
  static std::string text;
  running->takeDefinitions();
  std::vector<Line> lines;
  for (const auto& lane : running->recorder.lanes()) {
    lane->drain([&lines](const EventRecord& record) { addLine(lines, record); });
  }
  std::sort(lines.begin(), lines.end());
  text.clear();
  for (const Line& each : lines) text += each.second;
  return text.c_str();
}
