#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <type_traits>
#include <vector>

#include "core/messages.h"
#include "probe/observer/module_scope.h"
#include "probe/observer/op_observer.h"
#include "probe/readings/system_readings.h"
#include "process/work_start.h"
#include "worker/checks/self_test.h"
#include "worker/checks/self_test_tools.h"

namespace highwater::worker {
namespace {

double orMinusOne(std::int64_t bytes) {
  return static_cast<double>(bytes);
}

CheckResult systemIsRead() {
  const auto reader = probe::makeSystemReader();
  const probe::SystemReadings first = reader->read();
  const auto physical = static_cast<double>(probe::physicalMemoryBytes());
  // Touched, so that the footprint must grow by it.
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const std::vector<char> touched(kBytes, 1);
  const probe::SystemReadings then = reader->read();
  const double grown = orMinusOne(then.footprintBytes - first.footprintBytes);
  const std::vector<Measure> measures = {
      {"footprint", orMinusOne(first.footprintBytes), "bytes"},
      {"footprint grew by", grown, "bytes"},
      {"touched", static_cast<double>(touched.size()), "bytes"},
      {"available", orMinusOne(first.availableBytes), "bytes"},
      {"swap used", orMinusOne(first.swapUsedBytes), "bytes"},
      {"physical", physical, "bytes"},
      {"GPU", static_cast<double>(first.gpuPercent), "%"},
      {"pressure", static_cast<double>(first.pressure), ""},
      {"compressor", orMinusOne(first.compressorBytes), "bytes"},
      {"swapped in", orMinusOne(first.swappedInBytes), "bytes"},
      {"swapped out", orMinusOne(first.swappedOutBytes), "bytes"},
      {"GPU memory", orMinusOne(first.gpuBytes), "bytes"},
      {"thermal state", static_cast<double>(first.power.thermal), ""},
      {"power mode", static_cast<double>(first.power.mode), ""}};
  if (first.footprintBytes <= 0) return failed("the footprint is not known", measures);
  if (first.availableBytes < 0) return failed("the available memory is not known", measures);
  if (first.swapUsedBytes < 0) return failed("the used swap is not known", measures);
  if (physical <= 0) return failed("the physical memory is not known", measures);
  if (orMinusOne(first.availableBytes) > physical) {
    return failed("more memory is available than the machine has", measures);
  }
  if (grown < static_cast<double>(kBytes) / 2) {
    return unknown("the footprint did not grow by the memory that was touched", measures);
  }
  std::string missing;
  if (first.gpuPercent < 0) missing += ", no GPU use";
  if (first.pressure == events::Pressure::Unknown) missing += ", no memory pressure";
  if (first.compressorBytes < 0) missing += ", no compressor";
  if (first.swappedInBytes < 0 || first.swappedOutBytes < 0) missing += ", no swap traffic";
  if (first.gpuBytes < 0) missing += ", no GPU memory";
  if (first.power.thermal == events::ThermalState::Unknown) missing += ", no thermal state";
  if (first.power.mode == events::PowerMode::Unknown) missing += ", no power mode";
  return passed("footprint, available memory and swap are plausible" + missing, measures);
}

/// What the probe recorded of a scalar read in the module encoder.layer.
struct ReadInModule {
  int reads = 0;
  std::string module;
  CallSiteId callSite = kNoId;
  Definitions definitions;
};

std::string pathOf(const std::vector<ModuleDefinition>& modules, ModuleId id) {
  const auto found = std::find_if(modules.begin(), modules.end(),
                                  [id](const ModuleDefinition& each) { return each.id == id; });
  if (found == modules.end()) return {};
  const std::string parent = pathOf(modules, found->parent);
  return parent.empty() ? found->name : parent + '.' + found->name;
}

ReadInModule readInModule() {
  probe::Recorder recorder(RunClock::startingNow());
  {
    const probe::OpObserver observer(recorder);
    const probe::ModuleScope outer(&recorder, "encoder");
    const probe::ModuleScope inner(&recorder, "layer");
    (void)at::full({4}, 0.5, onMps()).sum().item<float>();
  }
  ReadInModule read;
  ModuleId module = kNoId;
  const auto count = [&](const events::SyncPoint& each) {
    if (each.kind() != events::SyncKind::ScalarRead) return;
    ++read.reads;
    module = each.module_id();
    read.callSite = each.call_site();
  };
  for (const auto& lane : recorder.lanes()) {
    lane->drain([&](const probe::EventRecord& record) {
      record.visit([&](const auto& event) {
        if constexpr (std::is_same_v<decltype(event), const events::SyncPoint&>) count(event);
      });
    });
  }
  while (recorder.modules().takeNew(read.definitions)) {
  }
  while (recorder.callSites().takeNew(read.definitions)) {
  }
  read.module = pathOf(read.definitions.modules, module);
  return read;
}

CheckResult modulesAreNamed() {
  const ReadInModule read = readInModule();
  const std::vector<Measure> measures = {{"reads", double(read.reads), ""},
                                         {"modules", double(read.definitions.modules.size()), ""}};
  if (read.reads != 1) return failed("a read in a module is not seen once", measures);
  if (read.module != "encoder.layer") {
    return failed("the read belongs to module \"" + read.module + "\"", measures);
  }
  return passed("a read belongs to \"" + read.module + "\"", measures);
}

CheckResult callSitesAreNamed() {
  const ReadInModule read = readInModule();
  const auto& sites = read.definitions.callSites;
  const std::vector<Measure> measures = {{"reads", double(read.reads), ""},
                                         {"frames", double(sites.size()), ""}};
  if (read.reads != 1) return failed("a read is not seen once", measures);
  const auto found = std::find_if(sites.begin(), sites.end(), [&](const CallSiteDefinition& each) {
    return each.id == read.callSite;
  });
  if (read.callSite == kNoId || found == sites.end()) {
    return failed("a read has no call site", measures);
  }
  const std::string place =
      found->function + " at " + found->file + ':' + std::to_string(found->line);
  if (found->function.empty()) return failed("the call site has no function", measures);
  if (found->file.empty() || found->line == 0) {
    return unknown("no file and line: \"" + found->function + "\"", measures);
  }
  if (found->function.find("readInModule") == std::string::npos) {
    return unknown("another function: " + place, measures);
  }
  return passed(place, measures);
}

std::atomic<bool> gNamed{false};
std::array<char, 64> gThreadName{};

CheckResult autogradThreadIsNamed() {
  gNamed = false;
  const at::Tensor weight = at::full({8, 8}, 0.5, onMps()).set_requires_grad(true);
  at::Tensor product = at::mm(weight, weight);
  product.register_hook([](const at::Tensor&) {
    gThreadName.fill('\0');
    ::pthread_getname_np(::pthread_self(), gThreadName.data(), gThreadName.size());
    gNamed = true;
  });
  product.sum().backward();
  synchronizeMps();
  if (!gNamed) return failed("a hook in backward did not run");
  const std::string name = gThreadName.data();
  if (name.empty()) return unknown("the thread of backward has no name");
  if (name.find("autograd") == std::string::npos) {
    return unknown("the thread of backward is called \"" + name + "\"");
  }
  return passed("the thread of backward is called \"" + name + "\"");
}

CheckResult workStartIsClear() {
  const process::WorkStartMeasurement found = process::measureWorkStart();
  const std::vector<Measure> measures = {
      {"work", found.loadMs, "ms"},
      {"synchronize() after it had time to run", found.restMs, "ms"},
      {"products", static_cast<double>(found.products), ""},
      {"trials", static_cast<double>(found.trials), ""},
      {"work start", static_cast<double>(found.start), ""}};
  switch (found.start) {
    case WorkStart::kEager:
      return passed("eager: queued work starts at once", measures);
    case WorkStart::kDeferred:
      return passed("deferred: queued work starts when it is committed", measures);
    case WorkStart::kUnknown:
      break;
  }
  return unknown("a part of the queued work had run when the host began to wait", measures);
}

}  // namespace

std::vector<SelfCheck> hostChecks() {
  return {
      {"system-readings",
       "The system tells this process's footprint, the available memory, the used swap and the "
       "physical memory.",
       "probe/readings/system_readings",
       {},
       &systemIsRead,
       {}},
      {"module-names",
       "A wait belongs to the module in which it happens, with its path of names.",
       "probe/observer/module_scope, probe/observer/module_table",
       {},
       &modulesAreNamed,
       {}},
      {"call-sites",
       "The stack of a wait leads to the function, file and line of the program.",
       "probe/call_sites",
       {},
       &callSitesAreNamed,
       {}},
      {"autograd-thread-name",
       "PyTorch names the thread of backward.",
       "probe/stream/thread_lane (names of lanes)",
       {},
       &autogradThreadIsNamed,
       {}},
      {"work-start",
       "It can be measured whether queued work starts at once or when it is committed.",
       "process/work_start, analysis/device/idle_parts",
       {},
       &workStartIsClear,
       {}},
  };
}

}  // namespace highwater::worker
