#include "probe/stream/recorder.h"

#include <algorithm>
#include <utility>

#include "core/names.h"

namespace highwater::probe {
namespace {

/// The calling thread's lane. When the thread ends, the sender drains and forgets the lane.
struct OwnLane {
  std::uint64_t recorder = 0;
  std::shared_ptr<ThreadLane> lane;

  ~OwnLane() {
    if (lane) lane->abandon();
  }
};
thread_local OwnLane ownLane;

std::uint64_t nextRecorderId() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void raise(std::atomic<std::uint64_t>& peak, std::uint64_t value) {
  std::uint64_t seen = peak.load(std::memory_order_relaxed);
  while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

Recorder::Recorder(RunClock clock)
    : clock_(clock), ticks_(TickClock::ofProcess()), id_(nextRecorderId()) {
  lookAtClock();
}

void Recorder::lookAtClock() {
  ticks_.adjust();
}

Recorder::~Recorder() = default;

ThreadLane& Recorder::lane() {
  if (hasLane()) return *ownLane.lane;
  return addLane("");
}

bool Recorder::hasLane() const {
  return ownLane.recorder == id_;
}

void Recorder::nameThread(std::string name) {
  if (!hasLane()) addLane(std::move(name));
}

ThreadLane& Recorder::addLane(std::string name) {
  const std::lock_guard lock(lanesMutex_);
  if (name.empty()) name = "thread " + std::to_string(lanes_.size() + 1);
  if (ownLane.lane) ownLane.lane->abandon();
  ownLane.lane = std::make_shared<ThreadLane>(names_.addThread(std::move(name)));
  ownLane.recorder = id_;
  lanes_.push_back(ownLane.lane);
  return *ownLane.lane;
}

std::vector<std::shared_ptr<ThreadLane>> Recorder::lanes() {
  const std::lock_guard lock(lanesMutex_);
  return lanes_;
}

void Recorder::forget(const ThreadLane* lane) {
  const std::lock_guard lock(lanesMutex_);
  std::erase_if(lanes_, [lane](const auto& l) { return l.get() == lane; });
}

void Recorder::setLevel(events::ProbeLevel level) {
  level_.store(level, std::memory_order_relaxed);
  if (onLevel_) onLevel_(level);
}

ModuleId Recorder::currentModule() {
  const RunningNode running = autograd_.runningNode();
  const ModuleStack& modules = lane().modules();
  if (!running.node || modules.node() == running.node) return modules.current();
  return sequenceModules_.find(running.forwardThread, running.sequence);
}

ModuleId Recorder::currentModule(const void* node) {
  const ModuleStack& modules = lane().modules();
  return !node || modules.node() == node ? modules.current() : currentModule();
}

NameId Recorder::phaseNameId(events::Phase phase) {
  std::atomic<NameId>& known = phaseNames_[static_cast<std::size_t>(phase)];
  NameId id = known.load(std::memory_order_relaxed);
  if (id == kNoId) {
    id = names_.intern(phaseName(phase)).id;
    known.store(id, std::memory_order_relaxed);
  }
  return id;
}

void Recorder::mark(events::MarkerKind kind, std::uint32_t step, double before, double after,
                    std::string_view text) {
  const NameId id = names_.intern(text).id;
  record([&](std::int64_t nowNs) { return events::Marker(nowNs, before, after, step, id, kind); });
}

bool Recorder::beginBlocked(const ThreadLane& lane) {
  const bool trains = lane.id() == trainingThread();
  if (!trains && !autograd_.runningNode().node) return false;
  blocked_.fetch_add(trains ? kOnceBlocked + 1 : 1, std::memory_order_release);
  return true;
}

void Recorder::noteCounters(std::uint64_t currentBytes, std::uint64_t driverBytes) {
  raise(peakCurrent_, currentBytes);
  raise(peakDriver_, driverBytes);
}

void Recorder::resetSeenPeaks() {
  peakCurrent_.store(0, std::memory_order_relaxed);
  peakDriver_.store(0, std::memory_order_relaxed);
}

}  // namespace highwater::probe
