#include "analysis/live_store.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "analysis/growing.h"
#include "core/knobs.h"
#include "core/names.h"
#include "core/out_of_memory.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// How many of the newest steps may still await their device span, which is sent once the device
/// has finished: the queue holds the work of one or two steps.
constexpr std::size_t kMostAwaited = 16;

Span spanOf(std::int64_t beginNs, std::int64_t durationNs, std::size_t payload,
            std::uint8_t category) {
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  durationNs = std::max<std::int64_t>(durationNs, 0);
  const std::int64_t endNs = beginNs > kEnd - durationNs ? kEnd : beginNs + durationNs;
  return {beginNs, endNs, static_cast<std::uint32_t>(payload), category};
}

/// The row for a new time. Events of two threads interleave, so it is near the end.
std::size_t placeFor(const std::vector<std::int64_t>& timesNs, std::int64_t timeNs) {
  if (timesNs.empty() || timesNs.back() <= timeNs) return timesNs.size();
  return static_cast<std::size_t>(std::upper_bound(timesNs.begin(), timesNs.end(), timeNs) -
                                  timesNs.begin());
}

template <typename T>
void insertAt(std::vector<T>& column, std::size_t index, T value) {
  reserveOneMore(column);
  column.insert(column.begin() + static_cast<std::ptrdiff_t>(index), value);
}

double readingOrNaN(std::int64_t reading) {
  return reading < 0 ? kNaN : static_cast<double>(reading);
}

/// See MachineColumns::swapRate.
double swapRateAt(const MachineColumns& columns, std::size_t row) {
  constexpr std::int64_t kWindowNs = 1'000'000'000;
  const auto& times = columns.timesNs;
  const auto end = times.begin() + static_cast<std::ptrdiff_t>(row);
  const auto after = std::upper_bound(times.begin(), end, times[row] - kWindowNs);
  // A burst within less than a second would look like more than it is.
  if (after == times.begin()) return kNaN;
  const auto before = static_cast<std::size_t>(after - times.begin()) - 1;
  const std::int64_t ns = times[row] - times[before];
  const double bytes = columns.swappedIn[row] - columns.swappedIn[before] +
                       columns.swappedOut[row] - columns.swappedOut[before];
  return bytes < 0 ? kNaN : bytes / (static_cast<double>(ns) / kNsPerS);
}

std::uint8_t lookOf(const events::SyncPoint& sync) {
  return isUnplanned(sync) ? OpLook::kUnplannedWait : OpLook::kPlannedWait;
}

/// Sets the knob that a marker is about, unless the value is out of range.
void setKnob(Knobs& knobs, const events::Marker& marker) {
  const double value = marker.value_after();
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) return;
  if (const Knob* knob = knobOf(marker.kind())) knob->put(knobs, value);
}

bool isWithin(const events::StepRecord& step, std::int64_t ns) {
  return ns >= step.begin_ns() && ns < step.begin_ns() + step.duration_ns();
}

}  // namespace

bool isUnplanned(const events::SyncPoint& sync) {
  return sync.deliberate() == 0 && sync.kind() != events::SyncKind::Fallback;
}

void LiveStore::take(std::span<const std::uint8_t> /*frame*/, const Message& message) {
  apply(message);
}

void LiveStore::apply(const Message& message) {
  const bool changed = std::visit(
      [this](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Hello>) {
          hello_ = value;
        } else if constexpr (std::is_same_v<T, RunDescription>) {
          // A script's is sent again with more facts; the knobs then are those of the stream so
          // far.
          if (!run_) {
            knobs_ = value.knobs;
            probeLevel_ = value.probeLevel;
          } else if (value.ownScript) {
            knobs_.memoryFraction = value.knobs.memoryFraction;  // which no event tells of
          }
          run_ = value;
          if (run_->stepsAre != StepsAre::kIterations) addIterations(run_->firstStep);
        } else if constexpr (std::is_same_v<T, Definitions>) {
          definitions_.add(value);
          for (const auto& thread : value.threads) threadNames_[thread.id] = thread.name;
        } else if constexpr (std::is_same_v<T, EventBatch>) {
          addBatch(value);
        } else if constexpr (std::is_same_v<T, Failure>) {
          failedInEvaluation_ = value.inEvaluation;
        } else if constexpr (std::is_same_v<T, RunEnd>) {
          end_ = value;
          addIterations(0);
          stopAwaitingRates(0);
        } else if constexpr (std::is_same_v<T, FallbackAcceptance>) {
          acceptances_[value.op] = value;
        } else if constexpr (std::is_same_v<T, ScriptKnob>) {
          addScriptKnob(value);
        } else if constexpr (std::is_same_v<T, Note>) {
          addNote(value);
        } else {
          return false;
        }
        return true;
      },
      message);
  if (changed) ++revision_;
}

void LiveStore::clear() {
  // Views compare revisions, so the empty store needs one that they have not seen.
  const std::uint64_t revision = revision_ + 1;
  const std::size_t budget = memoryBudget_;
  *this = LiveStore();
  revision_ = revision;
  setMemoryBudget(budget);
}

void LiveStore::prepareForDrawing() const {
  for (const SpanIndex* lane :
       {&steps_.lane, &phaseLane_, &namedLane_, &syncLane_, &fallbackLane_}) {
    lane->prepare();
  }
  for (const auto& [key, lane] : ops_.lanes) lane.prepare();
  const DeviceTimeline& device = deviceTimeline();
  device.activity().prepare();
  device.stepSpans().prepare();
}

const ScriptKnob* LiveStore::scriptKnob(std::string_view name) const {
  const auto found = std::find_if(scriptKnobs_.begin(), scriptKnobs_.end(),
                                  [name](const ScriptKnob& each) { return each.name == name; });
  return found == scriptKnobs_.end() ? nullptr : &*found;
}

void LiveStore::addScriptKnob(const ScriptKnob& knob) {
  const auto known = std::find_if(scriptKnobs_.begin(), scriptKnobs_.end(),
                                  [&](const ScriptKnob& each) { return each.name == knob.name; });
  if (known == scriptKnobs_.end()) {
    scriptKnobs_.push_back(knob);
    return;
  }
  if (known->value != knob.value) {
    scriptKnobChanges_.push_back(
        {completeUpToNs_, knob.name, valueText(*known, known->value), valueText(knob, knob.value)});
  }
  *known = knob;
}

void LiveStore::addNote(const Note& note) {
  markers_.emplace_back(note.timeNs, 0., 0., note.step, definitions_.addOwnText(note.text),
                        events::MarkerKind::Note);
  noteTry(markers_.back());
}

std::uint32_t LiveStore::stepAt(std::int64_t timeNs) const {
  const auto& records = steps_.records;
  const auto after = std::upper_bound(
      records.begin(), records.end(), timeNs,
      [](std::int64_t t, const events::StepRecord& step) { return t < step.begin_ns(); });
  if (after == records.begin()) return records.empty() ? runningStep_ : 0;
  const events::StepRecord& step = *(after - 1);
  const bool past = after == records.end() && timeNs >= step.begin_ns() + step.duration_ns();
  return past ? std::max(runningStep_, step.step()) : step.step();
}

std::size_t LiveStore::noteCount() const {
  return static_cast<std::size_t>(std::count_if(
      markers_.begin(), markers_.end(),
      [](const events::Marker& marker) { return marker.kind() == events::MarkerKind::Note; }));
}

MemoryLimits LiveStore::limits() const {
  MemoryLimits limits = hello_ ? hello_->limits : MemoryLimits();
  if (knobs_.memoryFraction > 0) limits.highWatermarkRatio = knobs_.memoryFraction;
  return limits;
}

std::string_view LiveStore::rateUnit() const {
  return ownScript() && run_->knobs.sequenceLength == 0 ? "samples/s" : "tokens/s";
}

std::string LiveStore::rateText(double perS) const {
  if (std::isnan(perS)) return "\u2013";
  return formatRate(perS) + ' ' + std::string(rateUnit());
}

std::string LiveStore::batchText(const events::StepRecord& step) const {
  if (step.batch_size() == 0) return "batch size unknown";
  std::string text = "batch size " + std::to_string(step.batch_size());
  if (step.sequence_length() != 0) {
    text += ", sequence length " + std::to_string(step.sequence_length());
  }
  return ownScript() ? text + " (guessed)" : text;
}

std::string LiveStore::placeText(events::Phase phase, ModuleId module, CallSiteId site) const {
  std::string place(phaseName(phase));
  if (const std::string path = modulePath(module); !path.empty()) place += ", " + path;
  if (!ownScript() || site == kNoId) return place;
  const CallSiteParts parts = callSiteParts(site);
  // Of "transformers/trainer.py:1911 Trainer.train" the file's name and the line.
  std::string library = parts.library.substr(0, parts.library.find(' '));
  library.erase(0, library.rfind('/') + 1);
  const std::string line = parts.line + (library.empty() ? "" : ", " + library);
  // Most of a script's waits are in no phase, and the line says where they are.
  const bool inNoPhase = phase == events::Phase::None && modulePath(module).empty();
  return inNoPhase ? line : line + ", " + place;
}

void LiveStore::addBatch(const EventBatch& batch) {
  for (const auto& sample : batch.memorySamples) addMemorySample(sample);
  for (const auto& sample : batch.systemSamples) addSystemSample(sample);
  for (const auto& sample : batch.machineSamples) addMachineSample(sample);
  for (const auto& sample : batch.hostSamples) addHostSample(sample);
  for (const events::OpWork& each : batch.opWork) addOpWork(each);
  for (const auto& phase : batch.phases) addPhase(phase);
  for (const auto& span : batch.namedSpans) addNamedSpan(span);
  for (const auto& sync : batch.syncPoints) addSyncPoint(sync);
  for (const auto& fallback : batch.fallbacks) addFallback(fallback);
  for (const auto& marker : batch.markers) addMarker(marker);
  const bool iterates = run_ && run_->stepsAre == StepsAre::kIterations && !end_;
  for (const auto& step : batch.steps) {
    if (iterates) {
      iterations_.push_back(step);
    } else if (!run_ || step.step() >= run_->firstStep) {
      addStep(step);
    }
  }
  for (const auto& span : batch.deviceSpans) addDeviceSpan(span);
  evaluations_.insert(evaluations_.end(), batch.evaluations.begin(), batch.evaluations.end());
  phaseMemory_.insert(phaseMemory_.end(), batch.phaseMemory.begin(), batch.phaseMemory.end());
  for (const auto& op : batch.ops) addOp(op);
  openSpans_.add(batch);
  for (const auto& heartbeat : batch.heartbeats) addHeartbeat(heartbeat);
  for (const auto& drop : batch.drops) addDrop(drop);
  completeUpToNs_ = std::max(completeUpToNs_, batch.completeUpToNs);
  eventCount_ +=
      batch.size() - batch.openSpans.size() - batch.heartbeats.size() - batch.drops.size();
}

bool LiveStore::mayMove(std::size_t rows, events::EventKind kind) {
  if (rows > kMostMovedRows - movedRows_) {
    ++droppedByKind_[kind];
    return false;
  }
  movedRows_ += rows;
  return true;
}

void LiveStore::addMemorySample(const events::MemorySample& sample) {
  const std::size_t row = placeFor(memory_.timesNs, sample.time_ns());
  if (!mayMove(memory_.timesNs.size() - row, events::EventKind::MemorySample)) return;
  insertAt(memory_.timesNs, row, sample.time_ns());
  memory_.current.insert(row, static_cast<double>(sample.current_bytes()));
  memory_.driver.insert(row, static_cast<double>(sample.driver_bytes()));
  memory_.recommended.insert(row, static_cast<double>(sample.recommended_bytes()));
}

void LiveStore::addSystemSample(const events::SystemSample& sample) {
  const std::size_t row = placeFor(system_.timesNs, sample.time_ns());
  if (!mayMove(system_.timesNs.size() - row, events::EventKind::SystemSample)) return;
  insertAt(system_.timesNs, row, sample.time_ns());
  system_.footprint.insert(row, readingOrNaN(sample.footprint_bytes()));
  system_.available.insert(row, readingOrNaN(sample.available_bytes()));
  system_.swapUsed.insert(row, readingOrNaN(sample.swap_used_bytes()));
  system_.gpuPercent.insert(row, sample.gpu_percent() < 0 ? kNaN : sample.gpu_percent());
  insertAt(system_.pressure, row, sample.pressure());
}

void LiveStore::addMachineSample(const events::MachineSample& sample) {
  MachineColumns& columns = machine_;
  const std::size_t row = placeFor(columns.timesNs, sample.time_ns());
  if (!mayMove(columns.timesNs.size() - row, events::EventKind::MachineSample)) return;
  insertAt(columns.timesNs, row, sample.time_ns());
  columns.compressor.insert(row, readingOrNaN(sample.compressor_bytes()));
  columns.gpuBytes.insert(row, readingOrNaN(sample.gpu_bytes()));
  columns.swappedIn.insert(row, readingOrNaN(sample.swapped_in_bytes()));
  columns.swappedOut.insert(row, readingOrNaN(sample.swapped_out_bytes()));
  columns.swapRate.insert(row, swapRateAt(columns, row));
  insertAt(columns.thermal, row, sample.thermal());
  insertAt(columns.power, row, sample.power());
}

void LiveStore::addOpWork(const events::OpWork& work) {
  if (work.step() == 0) return evaluationWork_.push_back(work);
  if (opWork_.empty() || opWork_.front().step() == work.step()) return opWork_.push_back(work);
  const bool isNewer = !laterOpWork_.empty() && laterOpWork_.front().step() != work.step();
  if (isNewer) laterOpWork_.clear();
  laterOpWork_.push_back(work);
}

void LiveStore::addHostSample(const events::HostSample& sample) {
  const auto after = std::upper_bound(
      hostSamples_.begin(), hostSamples_.end(), sample.time_ns(),
      [](std::int64_t ns, const events::HostSample& each) { return ns < each.time_ns(); });
  const auto row = static_cast<std::size_t>(after - hostSamples_.begin());
  if (!mayMove(hostSamples_.size() - row, events::EventKind::HostSample)) return;
  insertAt(hostSamples_, row, sample);
}

void LiveStore::addStep(const events::StepRecord& step) {
  const auto takePending = [&step](PendingLostTime& pending) {
    const auto found = pending.find(step.step());
    std::int64_t ns = 0;
    if (found != pending.end()) {
      for (const LostTime& lost : found->second) ns += isWithin(step, lost.beginNs) ? lost.ns : 0;
    }
    pending.erase(pending.begin(), pending.upper_bound(step.step()));
    return toMs(ns);
  };
  steps_.lane.append(spanOf(step.begin_ns(), step.duration_ns(), steps_.records.size(), 0));
  // A loss that diverged has no place on a value axis.
  const bool lossKnown = step.loss_read() != 0 && std::isfinite(step.loss());
  if (lossKnown) steps_.lastLossRow = steps_.records.size();
  steps_.records.push_back(step);
  steps_.durationMs.append(toMs(step.duration_ns()));
  // The host may only have queued the step, in a hundredth of the time that it takes: where device
  // spans arrive, its rate is that of the device or not known yet.
  const std::size_t row = steps_.records.size() - 1;
  const bool awaitsSpan = step.device_ns() < 0 && lastEnd_ && row <= *lastEnd_ + kMostAwaited;
  steps_.tokensPerS.append(awaitsSpan ? kNaN : hostRateOf(row));
  stopAwaitingRates(kMostAwaited);
  steps_.deviceMs.append(step.device_ns() < 0 ? kNaN : toMs(step.device_ns()));
  steps_.loss.append(lossKnown ? static_cast<double>(step.loss()) : kNaN);
  steps_.deviceEndNs.push_back(-1);
  steps_.fallbackMs.append(takePending(pendingFallbacks_));
  steps_.unplannedSyncMs.append(takePending(pendingSyncs_));
  stepReached(step.step());
}

void LiveStore::addIterations(std::uint32_t first) {
  for (const events::StepRecord& each : std::exchange(iterations_, {})) {
    if (each.step() >= first) addStep(each);
  }
}

void LiveStore::addDeviceSpan(const events::DeviceSpan& span) {
  const auto row = rowOf(span.step());
  if (!row) return;
  steps_.deviceMs.set(*row, toMs(span.device_ns()));
  steps_.deviceEndNs[*row] = deviceEndOf(*row);
  if (steps_.deviceEndNs[*row] >= 0) lastEnd_ = std::max(lastEnd_.value_or(0), *row);
  updateRate(*row);
  // The device spans of steps may arrive in any order.
  if (*row + 1 < steps_.records.size() && steps_.deviceEndNs[*row + 1] >= 0) updateRate(*row + 1);
}

std::int64_t LiveStore::deviceEndOf(std::size_t row) const {
  const events::StepRecord& step = steps_.records[row];
  const std::int64_t endNs = step.begin_ns() + step.duration_ns();
  const std::size_t last = phaseLane_.firstFrom(endNs);
  for (std::size_t i = phaseLane_.firstFrom(step.begin_ns()); i < last; ++i) {
    const events::PhaseSpan& phase = phases_[phaseLane_[i].payload];
    if (phase.step() != step.step() || phase.phase() != events::Phase::DeviceMove) continue;
    const std::int64_t movedNs = phase.begin_ns() + phase.duration_ns();
    const std::size_t sync = syncLane_.firstFrom(phase.begin_ns());
    if (sync == syncLane_.size() || syncLane_[sync].endNs > movedNs) return -1;
    return movedNs + static_cast<std::int64_t>(steps_.deviceMs[row] * kNsPerMs);
  }
  return -1;
}

std::optional<std::int64_t> LiveStore::ratedNs(std::size_t row) const {
  const events::StepRecord& step = steps_.records[row];
  const std::int64_t before = row > 0 ? steps_.deviceEndNs[row - 1] : -1;
  const std::int64_t ns = steps_.deviceEndNs[row] - std::max(before, step.begin_ns());
  const bool known = steps_.deviceEndNs[row] >= 0 && (row == 0 || before >= 0) && ns > 0;
  return known && step.tokens() > 0 ? std::optional(ns) : std::nullopt;
}

void LiveStore::updateRate(std::size_t row) {
  const auto ns = ratedNs(row);
  steps_.tokensPerS.set(
      row,
      ns ? steps_.records[row].tokens() / (static_cast<double>(*ns) / kNsPerS) : hostRateOf(row));
}

double LiveStore::hostRateOf(std::size_t row) const {
  const events::StepRecord& step = steps_.records[row];
  const double seconds = static_cast<double>(step.duration_ns()) / kNsPerS;
  return seconds > 0 && step.tokens() > 0 ? step.tokens() / seconds : kNaN;
}

void LiveStore::stopAwaitingRates(std::size_t stillAwaited) {
  for (; awaitedFrom_ + stillAwaited < steps_.records.size(); ++awaitedFrom_) {
    if (std::isnan(steps_.tokensPerS[awaitedFrom_])) updateRate(awaitedFrom_);
  }
}

void LiveStore::addPhase(const events::PhaseSpan& phase) {
  phaseLane_.append(spanOf(phase.begin_ns(), phase.duration_ns(), phases_.size(),
                           static_cast<std::uint8_t>(phase.phase())));
  phases_.push_back(phase);
  stepReached(phase.step());
}

void LiveStore::addNamedSpan(const events::NamedSpan& span) {
  namedLane_.append(spanOf(span.begin_ns(), span.duration_ns(), namedSpans_.size(), 0));
  namedSpans_.push_back(span);
}

bool LiveStore::isChattyRead(const events::SyncPoint& sync) {
  if (sync.deliberate() == 0 || sync.phase() != events::Phase::LossRead || sync.step() == 0) {
    return false;
  }
  if (sync.step() != lossReadStep_) {
    lossReadAgain_ = lossReadStep_ != 0 && sync.step() == lossReadStep_ + 1;
    lossReadStep_ = sync.step();
  }
  return lossReadAgain_;
}

void LiveStore::addSyncPoint(const events::SyncPoint& received) {
  events::SyncPoint sync = received;
  if (isChattyRead(sync)) sync.mutate_deliberate(0);
  const auto kind = static_cast<std::uint8_t>(sync.kind());
  const auto category =
      static_cast<std::uint8_t>(sync.deliberate() != 0 ? kind | kDeliberateBit : kind);
  syncLane_.append(spanOf(sync.begin_ns(), sync.duration_ns(), syncPoints_.size(), category));
  syncPoints_.push_back(sync);
  if (!ops_.empty()) ops_.markLostTime(sync.thread(), sync.begin_ns(), lookOf(sync));
  if (isUnplanned(sync)) {
    addLostTime(sync.step(), {sync.begin_ns(), sync.duration_ns()}, steps_.unplannedSyncMs,
                pendingSyncs_);
  }
}

void LiveStore::addFallback(const events::FallbackEvent& fallback) {
  fallbackLane_.append(spanOf(fallback.begin_ns(), fallback.duration_ns(), fallbacks_.size(),
                              static_cast<std::uint8_t>(fallback.phase())));
  fallbacks_.push_back(fallback);
  if (!ops_.empty()) {
    ops_.markLostTime(fallback.thread(), fallback.begin_ns(), OpLook::kFallback);
  }
  addLostTime(fallback.step(), {fallback.begin_ns(), fallback.duration_ns()}, steps_.fallbackMs,
              pendingFallbacks_);
}

void LiveStore::addLostTime(std::uint32_t step, const LostTime& lost, SeriesPyramid& column,
                            PendingLostTime& pending) {
  if (step == 0) return;  // outside of any step
  const auto& records = steps_.records;
  if (records.empty() || records.back().step() < step) {
    pending[step].push_back(lost);
    return;
  }
  const auto row = rowOf(step);
  if (row && isWithin(records[*row], lost.beginNs)) column.set(*row, column[*row] + toMs(lost.ns));
}

std::size_t StepColumns::firstRowFrom(std::uint32_t step) const {
  const auto found = std::partition_point(
      records.begin(), records.end(),
      [step](const events::StepRecord& record) { return record.step() < step; });
  return static_cast<std::size_t>(found - records.begin());
}

std::optional<std::size_t> LiveStore::rowOf(std::uint32_t step) const {
  const auto& records = steps_.records;
  const auto found = records.begin() + static_cast<std::ptrdiff_t>(steps_.firstRowFrom(step));
  if (found == records.end() || found->step() != step) return std::nullopt;
  return static_cast<std::size_t>(found - records.begin());
}

bool LiveStore::isTried(std::uint32_t step) const {
  return std::any_of(tried_.begin(), tried_.end(), [step](const auto& each) {
    return each.first <= step && step <= each.second;
  });
}

void LiveStore::noteTry(const events::Marker& marker) {
  constexpr std::uint32_t kOpen = std::numeric_limits<std::uint32_t>::max();
  const std::string text = name(marker.text());
  const bool isOpen = tries();
  if (isOpen && text == kTriedEnough) {
    tried_.back().second = marker.step();
    beforeTry_.reset();
  }
  const bool begins = text.starts_with(kTryBlockPrefix);
  if (begins && !isOpen) {
    tried_.emplace_back(marker.step() + 1, kOpen);
    beforeTry_ = knobs_;
  }
}

void LiveStore::addMarker(const events::Marker& marker) {
  markers_.push_back(marker);
  if (marker.kind() == events::MarkerKind::Note) noteTry(marker);
  setKnob(knobs_, marker);
  switch (marker.kind()) {
    case events::MarkerKind::Paused:
      setPaused(true, marker.time_ns());
      break;
    case events::MarkerKind::Resumed:
      setPaused(false, marker.time_ns());
      break;
    case events::MarkerKind::ProbeLevel:
      probeLevel_ = static_cast<events::ProbeLevel>(static_cast<int>(marker.value_after()));
      break;
    default:
      break;
  }
}

void LiveStore::addOp(const events::OpSpan& op) {
  constexpr std::size_t kOpsBetween = OpColumns::kFewestOps / 4;
  if (ops_.endRow() % kOpsBetween == 0) limitOps();
  ops_.add(op, lostTimeLook(op));
}

bool LiveStore::isStepOutOfMemory(const events::Marker& marker) const {
  return marker.kind() == events::MarkerKind::OutOfMemory &&
         !name(marker.text()).starts_with(kInEvaluation);
}

void LiveStore::setMemoryBudget(std::size_t bytes) {
  memoryBudget_ = bytes;
  limitOps();
  if (ops_.records.size() <= ops_.most) return;
  ops_.forgetDownTo(ops_.most);
  ops_.records.shrink_to_fit();
  ++revision_;
}

void LiveStore::showReadBack(OpColumns::ReadBack ops) {
  ops_.showReadBack(std::move(ops), [this](const events::OpSpan& op) { return lostTimeLook(op); });
  ++revision_;
}

void LiveStore::limitOps() {
  // Ops that are read back come on top.
  const std::size_t taken = bytesBesideOps() + mostReadBack() * OpColumns::kBytesAnOp;
  const std::size_t left = memoryBudget_ > taken ? memoryBudget_ - taken : 0;
  ops_.most = std::clamp(left / OpColumns::kBytesAnOp, OpColumns::kFewestOps, OpColumns::kMostOps);
}

std::size_t LiveStore::bytesBesideOps() const {
  constexpr std::size_t kSeries = sizeof(double) * 9 / 8, kTime = sizeof(std::int64_t);
  const auto rows = [](const auto& column) { return column.size() * sizeof(column[0]); };
  std::size_t bytes =
      memory_.timesNs.size() * (kTime + 3 * kSeries) +
      system_.timesNs.size() * (kTime + 4 * kSeries + sizeof(events::Pressure)) +
      machine_.timesNs.size() *
          (kTime + 5 * kSeries + sizeof(events::ThermalState) + sizeof(events::PowerMode)) +
      rows(steps_.records) + steps_.records.size() * (kTime + 6 * kSeries) + rows(phases_) +
      rows(syncPoints_) + rows(fallbacks_) + rows(markers_) + rows(phaseMemory_) +
      rows(namedSpans_) + rows(hostSamples_) + rows(opWork_) + rows(laterOpWork_) +
      rows(evaluationWork_) + rows(iterations_) + rows(evaluations_) + rows(drops_);
  for (const SpanIndex* lane :
       {&phaseLane_, &namedLane_, &syncLane_, &fallbackLane_, &steps_.lane}) {
    bytes += lane->size() * SpanIndex::kBytesASpan;
  }
  return bytes + bytes / 8;  // spare room of the columns
}

std::uint8_t LiveStore::lostTimeLook(const events::OpSpan& op) const {
  // The probe gives an op and its wait or fallback the same begin. Stops after more events with one
  // begin than threads could produce: a recording may claim any number.
  constexpr std::size_t kMostAtOnce = 64;
  const auto here = [&op](const SpanIndex& lane, const auto& events) {
    auto found = decltype(events.data()){};
    std::size_t seen = 0;
    lane.eachAt(op.begin_ns(), [&](const Span& span) {
      const auto& event = events[span.payload];
      if (event.thread() == op.thread()) found = &event;
      return found || ++seen == kMostAtOnce;
    });
    return found;
  };
  if (here(fallbackLane_, fallbacks_)) return OpLook::kFallback;
  const events::SyncPoint* sync = here(syncLane_, syncPoints_);
  return sync ? lookOf(*sync) : std::uint8_t{0};
}

std::string LiveStore::threadName(ThreadId id) const {
  const auto found = threadNames_.find(id);
  return found != threadNames_.end() && !found->second.empty() ? found->second
                                                               : "thread " + std::to_string(id);
}

const FallbackAcceptance* LiveStore::acceptanceOf(const std::string& op) const {
  const auto found = acceptances_.find(op);
  return found != acceptances_.end() && found->second.accepted ? &found->second : nullptr;
}

void LiveStore::addHeartbeat(const events::Heartbeat& heartbeat) {
  stepReached(heartbeat.step());
  setPaused(heartbeat.paused() != 0, heartbeat.time_ns());
}

void LiveStore::addDrop(const events::DropRecord& drop) {
  drops_.push_back(drop);
  droppedByKind_[drop.kind()] += drop.count();
}

void LiveStore::setPaused(bool paused, std::int64_t timeNs) {
  if (timeNs < pausedAsOfNs_) return;
  pausedAsOfNs_ = timeNs;
  paused_ = paused;
}

std::uint64_t LiveStore::dropped() const {
  std::uint64_t sum = 0;
  for (const auto& [kind, count] : droppedByKind_) sum += count;
  return sum;
}

}  // namespace highwater::analysis
