#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/messages.h"

namespace highwater::store {

/// Minimum, maximum and last of a series within a batch.
struct SeriesSummary {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double last = 0;

  [[nodiscard]] bool empty() const { return min > max; }
  void add(double value) {
    min = std::min(min, value);
    max = std::max(max, value);
    last = value;
  }
};

/// Frames on their way to the file, with what their row, its summaries and the tables for people
/// will say. Filled on the stream's thread, written on the writer's.
struct PendingBatch {
  std::vector<std::uint8_t> frames;
  std::uint32_t frameCount = 0;
  std::uint64_t kinds = 0;  ///< see kCreateBatches
  std::optional<std::int64_t> firstNs, lastNs;

  SeriesSummary current, driver, recommended, footprint, stepMs, tokensPerS;
  std::int64_t phasesNs = 0, syncNs = 0, fallbackNs = 0;  ///< busy time of the lanes
  std::int64_t fromNs = 0;  ///< what the batch before was complete up to
  std::int64_t completeUpToNs = 0;
  std::uint64_t dropped = 0;

  Definitions definitions;
  std::vector<events::StepRecord> steps;
  std::vector<events::DeviceSpan> deviceSpans;
  std::vector<events::Marker> markers;
  std::vector<events::PhaseMemory> phaseMemory;
  std::vector<FallbackAcceptance> acceptances;
  std::vector<events::FallbackEvent> fallbacks;
  std::vector<events::SyncPoint> syncPoints;
  std::vector<std::pair<std::string, std::string>> runValues;  ///< for the table `run`

  void add(std::span<const std::uint8_t> frame, const Message& message);
  /// True where a step has begun: the run is more than an attempt.
  [[nodiscard]] bool hasStepOrPhase() const;

 private:
  void addEvents(const EventBatch& batch);
  void addDefinitions(const Definitions& more);
  void addHello(const Hello& hello);
  void addDescription(const RunDescription& run);
  void addEnd(const RunEnd& end);
};

}  // namespace highwater::store
