#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/messages.h"
#include "store/format.h"

namespace highwater::store {

/// Frames (encoded messages) that wait to be written to the recording, with the values for the
/// columns of `batches` and for the other tables. The thread that receives messages fills it; the
/// writer's thread writes it.
struct PendingBatch {
  /// The bits of `kinds` that hasStepOrPhase() looks for.
  static constexpr std::uint64_t kStepOrPhaseKinds =
      kindBit(events::EventKind::StepRecord) | kindBit(events::EventKind::PhaseSpan);

  std::vector<std::uint8_t> frames;
  std::uint32_t frameCount = 0;
  std::uint64_t kinds = 0;  ///< see kCreateBatches
  std::optional<std::int64_t> firstNs, lastNs;

  std::uint64_t dropped = 0;  ///< events that the probe dropped

  Definitions definitions;
  std::vector<events::StepRecord> steps;
  std::vector<events::DeviceSpan> deviceSpans;
  std::vector<events::Marker> markers;
  std::vector<events::PhaseMemory> phaseMemory;
  std::vector<FallbackAcceptance> acceptances;
  std::vector<Note> notes;
  std::vector<events::FallbackEvent> fallbacks;
  std::vector<events::SyncPoint> syncPoints;
  std::vector<events::HostSample> hostSamples;
  std::vector<std::pair<std::string, std::string>> runValues;  ///< for the table `run`

  /// Appends a frame and keeps what the tables need of it. `message` is the decoded frame.
  void add(std::span<const std::uint8_t> frame, const Message& message);
  /// True if the batch holds a step or a phase, which shows that training has begun. Until then a
  /// run may still fail to start.
  [[nodiscard]] bool hasStepOrPhase() const;

 private:
  void addEvents(const EventBatch& batch);
  void addDefinitions(const Definitions& more);
  void addHello(const Hello& hello);
  void addDescription(const RunDescription& run);
  void addEnd(const RunEnd& end);
};

}  // namespace highwater::store
