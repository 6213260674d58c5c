#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/ids.h"
#include "core/messages.h"
#include "probe/event_record.h"

namespace highwater::probe {

/// Gathers what was drained and cuts it into batches that fit into a frame.
class BatchCollector {
 public:
  void add(const EventRecord& record);
  void add(const events::OpenSpan& e) { openSpans_.push_back(e); }
  void add(const events::Heartbeat& e) { heartbeats_.push_back(e); }
  void add(const events::DropRecord& e) { drops_.push_back(e); }

  /// Calls `send` once or more with what was added, and forgets it. Memory samples come from more
  /// than one thread: they leave in the order of their time, and those after `completeUpToNs` wait
  /// for the next call. So do sync points and fallbacks from the first one whose call site is not
  /// defined yet, which `isDefined` tells: the batches are then complete up to that one. Does
  /// nothing where there is nothing to say.
  void flush(std::int64_t completeUpToNs, const std::function<bool(CallSiteId)>& isDefined,
             const std::function<void(const EventBatch&)>& send);

 private:
  // Well under kMaxFrameBytes, so that a frame's own fields fit as well.
  static constexpr std::size_t kMaxEventBytes = std::size_t{1} << 20;

  /// What stays for the next call.
  struct Waiting {
    std::vector<events::MemorySample> memorySamples;
    std::vector<events::SyncPoint> syncPoints;
    std::vector<events::FallbackEvent> fallbacks;
  };

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] std::vector<events::MemorySample> takeLaterSamples(std::int64_t completeUpToNs);

  std::vector<events::MemorySample> memorySamples_;
  std::vector<events::SystemSample> systemSamples_;
  std::vector<events::StepRecord> steps_;
  std::vector<events::PhaseSpan> phases_;
  std::vector<events::SyncPoint> syncPoints_;
  std::vector<events::FallbackEvent> fallbacks_;
  std::vector<events::Marker> markers_;
  std::vector<events::Evaluation> evaluations_;
  std::vector<events::OpenSpan> openSpans_;
  std::vector<events::Heartbeat> heartbeats_;
  std::vector<events::DropRecord> drops_;
  std::vector<events::DeviceSpan> deviceSpans_;
  std::vector<events::OpSpan> ops_;
  std::vector<events::PhaseMemory> phaseMemory_;
  std::int64_t sentUpToNs_ = 0;
};

}  // namespace highwater::probe
