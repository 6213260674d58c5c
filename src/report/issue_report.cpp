#include "report/issue_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/names.h"
#include "core/plain_text.h"
#include "core/units.h"

namespace highwater::report {

using analysis::LiveStore;

namespace {

constexpr std::size_t kMostShapes = 5, kMostPlaces = 3;

/// The calls of one op that fell back.
struct Calls {
  std::uint64_t count = 0;
  std::set<std::uint32_t> steps;
  std::set<NameId> names;
  std::int64_t ns = 0, waitNs = 0;
  std::uint64_t toCpu = 0, toDevice = 0;
  std::map<std::string, std::uint64_t> places;
};

/// Text of the recording within Markdown: nothing in it is markup.
std::string code(std::string text) {
  text = plainText(text);
  std::replace(text.begin(), text.end(), '`', '\'');
  return '`' + text + '`';
}

/// The most frequent ones first.
std::vector<std::string> mostFrequent(const std::map<std::string, std::uint64_t>& counts,
                                      std::size_t most) {
  std::vector<std::pair<std::string, std::uint64_t>> all(counts.begin(), counts.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (all.size() > most) all.resize(most);
  std::vector<std::string> names;
  names.reserve(all.size());
  for (auto& [name, count] : all) names.push_back(std::move(name));
  return names;
}

std::string codes(const std::map<std::string, std::uint64_t>& counts, std::size_t most) {
  std::string line;
  for (const std::string& each : mostFrequent(counts, most)) {
    line += (line.empty() ? "" : ", ") + code(each);
  }
  if (counts.size() > most) line += " and " + std::to_string(counts.size() - most) + " more";
  return line;
}

Calls callsOf(const LiveStore& store, const std::string& op) {
  Calls calls;
  for (const events::FallbackEvent& e : store.fallbacks()) {
    if (!calls.names.contains(e.op())) {
      if (store.name(e.op()) != op) continue;
      calls.names.insert(e.op());
    }
    ++calls.count;
    if (e.step() != 0) calls.steps.insert(e.step());
    calls.ns += e.duration_ns();
    calls.waitNs += e.wait_ns();
    calls.toCpu += e.bytes_to_cpu();
    calls.toDevice += e.bytes_to_device();
    std::string place = store.callSite(e.call_site());
    if (place.empty()) place = std::string(phaseName(e.phase()));
    ++calls.places[place];
  }
  return calls;
}

/// The shapes of the op's arguments, as far as its calls were recorded.
std::map<std::string, std::uint64_t> shapesOf(const LiveStore& store,
                                              const std::set<NameId>& names) {
  std::map<NameId, std::uint64_t> byId;
  const analysis::OpColumns& ops = store.ops();
  for (std::size_t row = ops.firstRow; row < ops.endRow(); ++row) {
    const auto* op = ops.at(row);
    if (op && op->shapes() != kNoId && names.contains(op->op())) ++byId[op->shapes()];
  }
  std::map<std::string, std::uint64_t> shapes;
  for (const auto& [id, count] : byId) shapes[store.name(id)] += count;
  return shapes;
}

std::string systemText(const LiveStore& store) {
  const std::string platform = plainText(store.hello()->platform);
  return store.simulated() ? platform + ", simulated MPS device" : platform;
}

std::string timesText(std::uint64_t count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

}  // namespace

std::string fallbackIssue(const LiveStore& store, const std::string& op,
                          const std::string& version) {
  const Calls calls = callsOf(store, op);
  if (calls.count == 0 || !store.hello()) return {};
  const auto each = static_cast<std::int64_t>(calls.count);
  std::string text = "### " + code(op) + " falls back to the CPU on MPS\n\n";
  text += "It ran on the CPU " + timesText(calls.count);
  if (!calls.steps.empty()) {
    text += " in " + std::to_string(calls.steps.size()) +
            (calls.steps.size() == 1 ? " training step" : " training steps");
  }
  text +=
      ". Each time its inputs were copied to the CPU and its results back, and the host waited "
      "for the device.\n\n";
  const auto add = [&text](const std::string& name, const std::string& value) {
    if (!value.empty()) text += "- **" + name + ":** " + value + '\n';
  };
  add("Op", code(op));
  const auto shapes = shapesOf(store, calls.names);
  add("Shapes", shapes.empty() ? "not recorded" : codes(shapes, kMostShapes));
  const std::string dtype = store.run() ? store.run()->dtype : std::string();
  add("dtype of the model", dtype.empty() ? "not known" : code(dtype));
  add("Time a call", formatDuration(calls.ns / each) + ", of it " +
                         formatDuration(calls.waitNs / each) + " waiting for queued device work");
  add("Copied a call", formatBytes(calls.toCpu / calls.count) + " to the CPU, " +
                           formatBytes(calls.toDevice / calls.count) + " back");
  add("Called at", codes(calls.places, kMostPlaces));
  add("PyTorch", plainText(store.hello()->torchVersion));
  add("System", systemText(store));
  for (const EnvironmentEntry& entry : store.hello()->environment) {
    if (entry.name == "PYTORCH_ENABLE_MPS_FALLBACK" && entry.value) {
      add("Environment", code(entry.name + '=' + *entry.value));
    }
  }
  add("Measured with", "Highwater " + plainText(version));
  if (store.simulated()) {
    text +=
        "\nThe device is simulated: check on a Mac that the op falls back there before you "
        "report it.\n";
  }
  return text;
}

}  // namespace highwater::report
