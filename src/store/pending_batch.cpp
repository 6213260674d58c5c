#include "store/pending_batch.h"

#include <algorithm>
#include <ctime>
#include <locale>
#include <sstream>
#include <type_traits>

#include "core/knobs.h"
#include "core/names.h"

namespace highwater::store {
namespace {

std::string utcText(std::int64_t unixEpochNs) {
  const auto seconds = static_cast<std::time_t>(unixEpochNs / 1'000'000'000);
  std::tm parts{};
  char text[32] = "";
  if (gmtime_r(&seconds, &parts)) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

/// std::to_string(), which writes the decimal comma of some locales, with a point.
std::string fixedText(double value) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::fixed << value;
  return text.str();
}

template <typename T>
void append(std::vector<T>& target, const std::vector<T>& source) {
  target.insert(target.end(), source.begin(), source.end());
}

template <typename T>
void append(std::vector<T>& target, std::span<const T> source) {
  target.insert(target.end(), source.begin(), source.end());
}

}  // namespace

void PendingBatch::add(std::span<const std::uint8_t> frame, const Message& message) {
  frames.insert(frames.end(), frame.begin(), frame.end());
  ++frameCount;
  kinds |= std::uint64_t{1} << (kFirstMessageBit + message.index());
  std::visit(
      [this](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, EventBatch>) {
          addEvents(value);
        } else if constexpr (std::is_same_v<T, Definitions>) {
          addDefinitions(value);
        } else if constexpr (std::is_same_v<T, Hello>) {
          addHello(value);
        } else if constexpr (std::is_same_v<T, RunDescription>) {
          addDescription(value);
        } else if constexpr (std::is_same_v<T, RunEnd>) {
          addEnd(value);
        } else if constexpr (std::is_same_v<T, FallbackAcceptance>) {
          acceptances.push_back(value);
        } else if constexpr (std::is_same_v<T, Note>) {
          notes.push_back(value);
        }
      },
      message);
}

bool PendingBatch::hasStepOrPhase() const {
  return (kinds & kStepOrPhaseKinds) != 0;
}

void PendingBatch::addEvents(const EventBatch& batch) {
  batch.forEachKind([this]<typename Event>(std::span<const Event> events) {
    for (const Event& e : events) {
      kinds |= kindBit(EventTraits<Event>::kKind);
      firstNs = std::min(firstNs.value_or(beginNsOf(e)), beginNsOf(e));
      lastNs = std::max(lastNs.value_or(endNsOf(e)), endNsOf(e));
    }
  });
  for (const auto& e : batch.drops) dropped += e.count();
  append(phaseMemory, batch.phaseMemory);
  append(steps, batch.steps);
  append(deviceSpans, batch.deviceSpans);
  append(markers, batch.markers);
  append(fallbacks, batch.fallbacks);
  append(syncPoints, batch.syncPoints);
  append(hostSamples, batch.hostSamples);
}

void PendingBatch::addDefinitions(const Definitions& more) {
  append(definitions.names, more.names);
  append(definitions.modules, more.modules);
  append(definitions.callSites, more.callSites);
}

void PendingBatch::addHello(const Hello& hello) {
  const auto put = [this](std::string key, std::string value) {
    runValues.emplace_back(std::move(key), std::move(value));
  };
  put("started_utc", utcText(hello.clock.unixEpochNs));
  put("device", hello.device.selected);
  put("device_requested", hello.device.requested);
  put("device_reason", hello.device.reason);
  put("simulated", hello.device.simulated ? "true" : "false");
  put("torch_version", hello.torchVersion);
  put("worker_version", hello.workerVersion);
  put("platform", hello.platform);
  put("process_id", std::to_string(hello.processId));
  put("recommended_bytes", std::to_string(hello.limits.recommendedBytes));
  put("low_watermark_ratio", fixedText(hello.limits.lowWatermarkRatio));
  put("high_watermark_ratio", fixedText(hello.limits.highWatermarkRatio));
  put("system_bytes", std::to_string(hello.limits.systemBytes));
  for (const EnvironmentEntry& entry : hello.environment) {
    if (entry.value) put("environment." + entry.name, *entry.value);
  }
}

void PendingBatch::addDescription(const RunDescription& run) {
  const auto put = [this](std::string key, std::string value) {
    runValues.emplace_back(std::move(key), std::move(value));
  };
  put("workload", run.workload);
  put("preset", run.preset);
  put("dtype", run.dtype);
  put("dataset", run.dataset);
  put("train_rows", std::to_string(run.trainRows));
  put("held_out_rows", std::to_string(run.heldOutRows));
  put("vocabulary_size", std::to_string(run.vocabularySize));
  put("width", std::to_string(run.width));
  put("layers", std::to_string(run.layers));
  put("heads", std::to_string(run.heads));
  put("parameters", std::to_string(run.parameters));
  put("batch_size", std::to_string(run.knobs.batchSize));
  put("sequence_length", std::to_string(run.knobs.sequenceLength));
  put("loss_every", std::to_string(run.knobs.lossEvery));
  for (const Knob& knob : allKnobs()) {
    const bool isNew = knob.kind > events::MarkerKind::LossInterval;
    if (isNew && !run.ownScript) {
      put(std::string(markerKindKey(knob.kind)), knobText(knob, knob.value(run.knobs)));
    }
  }
  put("planned_steps", std::to_string(run.plannedSteps));
  if (!run.scenario.empty()) put("scenario", run.scenario);
  put("probe_level", std::string(probeLevelKey(run.probeLevel)));
  if (!run.ownScript) return;
  put("own_script", "true");
  put("model", run.model);
  put("optimizer", run.optimizer);
  put("steps_are", std::string(stepsAreKey(run.stepsAre)));
  if (run.firstStep > 0) put("first_step", std::to_string(run.firstStep));
}

void PendingBatch::addEnd(const RunEnd& end) {
  runValues.emplace_back("ended", runEndKey(end.reason));
  runValues.emplace_back("end_message", end.message);
  runValues.emplace_back("exit_code", std::to_string(end.exitCode));
  runValues.emplace_back("signal", std::to_string(end.signal));
}

}  // namespace highwater::store
