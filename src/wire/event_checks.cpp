#include "wire/event_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ids.h"
#include "core/knobs.h"
#include "wire/limits.h"

namespace highwater::wire {
namespace {

// An event may be later than its batch's completeUpToNs, which the sender reads before it drains
// the rings, and which waits for call sites.
constexpr std::int64_t kSlackNs = std::int64_t{60} * 1'000'000'000;

/// Of the whole machine since it was started; -1: unknown.
bool isSwapTraffic(std::int64_t bytes) {
  return bytes >= -1 && bytes <= kMaxSwapTrafficBytes;
}

/// Checks the fields of one event and keeps the first rule that it breaks.
class EventCheck {
 public:
  EventCheck(const char* event, const EventContext& context) : event_(event), context_(context) {}

  EventCheck& time(std::int64_t ns) {
    return require(isTime(ns), Violation::kTimeOutOfRange, "time");
  }
  EventCheck& span(std::int64_t beginNs, std::int64_t durationNs) {
    return require(isTime(beginNs) && durationNs >= 0 && durationNs <= kMaxRunNs &&
                       isTime(beginNs + durationNs),
                   Violation::kTimeOutOfRange, "begin or duration");
  }
  EventCheck& bytes(std::uint64_t value, const char* field) {
    return require(value <= kMaxPlausibleBytes, Violation::kNumberOutOfRange, field);
  }
  EventCheck& optionalBytes(std::int64_t value, const char* field) {
    return require(value >= -1 && value <= static_cast<std::int64_t>(kMaxPlausibleBytes),
                   Violation::kNumberOutOfRange, field);
  }
  EventCheck& number(bool inRange, const char* field) {
    return require(inRange, Violation::kNumberOutOfRange, field);
  }
  EventCheck& flag(std::uint8_t value, const char* field) {
    return require(value <= 1, Violation::kNumberOutOfRange, field);
  }
  EventCheck& name(std::uint32_t id) {
    return require(isDefined(context_.names, id), Violation::kUndefinedId, "name");
  }
  EventCheck& module(std::uint32_t id) {
    return require(isDefined(context_.modules, id), Violation::kUndefinedId, "module");
  }
  EventCheck& callSite(std::uint32_t id) {
    return require(isDefined(context_.callSites, id), Violation::kUndefinedId, "call site");
  }
  EventCheck& thread(std::uint16_t id) {
    const bool known = id == 0 || (id < context_.threads.size() && context_.threads[id]);
    return require(known, Violation::kUndefinedId, "thread");
  }
  /// An enum's value; `allowNone` where 0 is valid.
  template <typename E>
  EventCheck& value(E e, bool allowNone, const char* field) {
    const auto raw = static_cast<int>(e);
    return require(raw >= (allowNone ? 0 : 1) && raw <= static_cast<int>(E::MAX),
                   Violation::kUnknownEnum, field);
  }

  [[nodiscard]] BrokenRule result() { return std::move(broken_); }

 private:
  bool isTime(std::int64_t ns) const {
    return ns >= 0 && ns <= kMaxRunNs && ns <= context_.completeUpToNs + kSlackNs;
  }
  EventCheck& require(bool fine, Violation violation, const char* field) {
    if (!fine) fail(violation, field);
    return *this;
  }
  void fail(Violation violation, const char* field) {
    if (broken_.violation != Violation::kNone) return;
    broken_ = {violation, std::string("the ") + field + " of a " + event_};
  }

  const char* event_;
  const EventContext& context_;
  BrokenRule broken_;
};

/// Whether a marker's value is one that the kind can have; any other kind has any.
bool isValueOf(events::MarkerKind kind, double value) {
  const bool isWhole = value == std::floor(value);
  switch (kind) {
    case events::MarkerKind::Precision:
    case events::MarkerKind::OutOfMemoryPolicy:
      return isWhole && value >= 0 && value <= 3;
    case events::MarkerKind::KeepEffectiveBatch:
      return value == 0 || value == 1;
    case events::MarkerKind::BatchSize:
    case events::MarkerKind::SequenceLength:
    case events::MarkerKind::LossInterval:
    case events::MarkerKind::Accumulation:
    case events::MarkerKind::Recovered:
      return value >= 0 && value <= std::numeric_limits<std::uint32_t>::max();
    case events::MarkerKind::LearningRate:
    case events::MarkerKind::MemoryFraction:
    case events::MarkerKind::OutOfMemory:
      return value >= 0;
    default:
      return true;
  }
}

bool isLevel(double value) {
  return value == std::floor(value) && value >= 1 &&
         value <= static_cast<double>(events::ProbeLevel::MAX);
}

}  // namespace

bool isDefined(const std::vector<bool>& known, std::uint32_t id) {
  return id <= kOtherId || (id < known.size() && known[id]);
}

BrokenRule checkEvent(const events::MemorySample& e, const EventContext& context) {
  return EventCheck("memory sample", context)
      .time(e.time_ns())
      .bytes(e.current_bytes(), "current")
      .bytes(e.driver_bytes(), "driver")
      .bytes(e.recommended_bytes(), "recommended")
      .value(e.origin(), false, "origin")
      .result();
}

BrokenRule checkEvent(const events::SystemSample& e, const EventContext& context) {
  return EventCheck("system sample", context)
      .time(e.time_ns())
      .optionalBytes(e.footprint_bytes(), "footprint")
      .optionalBytes(e.available_bytes(), "available memory")
      .optionalBytes(e.swap_used_bytes(), "swap")
      .number(e.gpu_percent() == -1 || (e.gpu_percent() >= 0 && e.gpu_percent() <= 100),
              "GPU utilization")
      .value(e.pressure(), true, "pressure")
      .result();
}

BrokenRule checkEvent(const events::MachineSample& e, const EventContext& context) {
  return EventCheck("machine sample", context)
      .time(e.time_ns())
      .optionalBytes(e.compressor_bytes(), "compressor")
      .number(isSwapTraffic(e.swapped_in_bytes()), "bytes read from swap")
      .number(isSwapTraffic(e.swapped_out_bytes()), "bytes written to swap")
      .optionalBytes(e.gpu_bytes(), "GPU's memory")
      .value(e.thermal(), true, "thermal state")
      .value(e.power(), true, "power mode")
      .result();
}

BrokenRule checkEvent(const events::HostSample& e, const EventContext& context) {
  return EventCheck("host sample", context)
      .time(e.time_ns())
      .callSite(e.call_site())
      .thread(e.thread())
      .value(e.phase(), true, "phase")
      .result();
}

BrokenRule checkEvent(const events::OpWork& e, const EventContext& context) {
  return EventCheck("work of an op", context)
      .time(e.time_ns())
      .bytes(e.bytes(), "bytes")
      .number(e.flops() <= kMaxFlops, "floating-point operations")
      .number(e.calls() >= 1, "calls")
      .name(e.op())
      .module(e.module_id())
      .callSite(e.call_site())
      .name(e.shapes())
      .value(e.phase(), true, "phase")
      .flag(e.backward(), "backward flag")
      .result();
}

BrokenRule checkEvent(const events::StepRecord& e, const EventContext& context) {
  return EventCheck("step", context)
      .span(e.begin_ns(), e.duration_ns())
      .bytes(e.peak_current_bytes(), "peak of current")
      .bytes(e.peak_driver_bytes(), "peak of driver")
      .number(e.device_ns() >= -1 && e.device_ns() <= kMaxRunNs, "device span")
      .number(e.step() >= 1, "number")
      .number(e.batch_size() <= kMaxBatchSize, "batch size")
      .number(e.sequence_length() <= kMaxSequenceLength, "sequence length")
      .flag(e.loss_read(), "loss flag")
      .flag(e.peak_current_exact(), "flag of the peak")
      .result();
}

BrokenRule checkEvent(const events::PhaseSpan& e, const EventContext& context) {
  return EventCheck("phase", context)
      .span(e.begin_ns(), e.duration_ns())
      .value(e.phase(), false, "phase")
      .thread(e.thread())
      .result();
}

BrokenRule checkEvent(const events::NamedSpan& e, const EventContext& context) {
  return EventCheck("named span", context)
      .span(e.begin_ns(), e.duration_ns())
      .name(e.name())
      .thread(e.thread())
      .flag(e.continued(), "continued flag")
      .result();
}

BrokenRule checkEvent(const events::SyncPoint& e, const EventContext& context) {
  return EventCheck("sync point", context)
      .span(e.begin_ns(), e.duration_ns())
      .bytes(e.bytes(), "size")
      .name(e.op())
      .module(e.module_id())
      .callSite(e.call_site())
      .thread(e.thread())
      .value(e.kind(), false, "kind")
      .value(e.phase(), true, "phase")
      .flag(e.deliberate(), "deliberate flag")
      .result();
}

BrokenRule checkEvent(const events::FallbackEvent& e, const EventContext& context) {
  return EventCheck("fallback", context)
      .span(e.begin_ns(), e.duration_ns())
      .number(e.wait_ns() >= 0 && e.wait_ns() <= e.duration_ns(), "wait")
      .bytes(e.bytes_to_cpu(), "size to the CPU")
      .bytes(e.bytes_to_device(), "size to the device")
      .name(e.op())
      .module(e.module_id())
      .callSite(e.call_site())
      .thread(e.thread())
      .value(e.phase(), true, "phase")
      .result();
}

BrokenRule checkEvent(const events::Marker& e, const EventContext& context) {
  return EventCheck("marker", context)
      .time(e.time_ns())
      .number(std::isfinite(e.value_before()) && std::isfinite(e.value_after()), "value")
      .number(e.kind() != events::MarkerKind::ProbeLevel ||
                  (isLevel(e.value_before()) && isLevel(e.value_after())),
              "probe level")
      .number(isValueOf(e.kind(), e.value_before()) && isValueOf(e.kind(), e.value_after()),
              "value")
      .name(e.text())
      .value(e.kind(), false, "kind")
      .result();
}

BrokenRule checkEvent(const events::Evaluation& e, const EventContext& context) {
  return EventCheck("evaluation", context)
      .time(e.time_ns())
      .number(e.accuracy() >= 0 && e.accuracy() <= 1, "accuracy")
      .number(e.samples() >= 1, "number of samples")
      .result();
}

BrokenRule checkEvent(const events::OpenSpan& e, const EventContext& context) {
  return EventCheck("open span", context)
      .time(e.begin_ns())
      .time(e.seen_ns())
      .number(e.seen_ns() >= e.begin_ns(), "time")
      .name(e.name())
      .thread(e.thread())
      .value(e.phase(), true, "phase")
      .result();
}

BrokenRule checkEvent(const events::Heartbeat& e, const EventContext& context) {
  return EventCheck("heartbeat", context)
      .time(e.time_ns())
      .flag(e.paused(), "paused flag")
      .result();
}

BrokenRule checkEvent(const events::DropRecord& e, const EventContext& context) {
  return EventCheck("drop record", context)
      .time(e.time_ns())
      .number(e.count() >= 1, "count")
      .value(e.kind(), false, "kind")
      .result();
}

BrokenRule checkEvent(const events::DeviceSpan& e, const EventContext& context) {
  return EventCheck("device span", context)
      .time(e.time_ns())
      .number(e.device_ns() >= 0 && e.device_ns() <= e.time_ns(), "length")
      .number(e.step() >= 1, "step")
      .result();
}

BrokenRule checkEvent(const events::OpSpan& e, const EventContext& context) {
  return EventCheck("op", context)
      .span(e.begin_ns(), e.duration_ns())
      .optionalBytes(e.current_bytes(), "current")
      .bytes(e.grown_bytes(), "growth of current")
      .name(e.op())
      .module(e.module_id())
      .name(e.shapes())
      .thread(e.thread())
      .value(e.phase(), true, "phase")
      .flag(e.backward(), "backward flag")
      .result();
}

BrokenRule checkEvent(const events::PhaseMemory& e, const EventContext& context) {
  return EventCheck("phase's memory", context)
      .time(e.time_ns())
      .bytes(e.peak_current_bytes(), "peak of current")
      .bytes(e.peak_reserved_bytes(), "peak of reserved")
      .bytes(e.current_bytes(), "current")
      .number(e.step() >= 1, "step")
      .value(e.phase(), false, "phase")
      .result();
}

BrokenRule checkScriptKnob(const ScriptKnob& knob) {
  const auto tooLong = [](const std::string& text) { return text.size() > kMaxNameBytes; };
  if (knob.name.empty()) return {Violation::kTextTooLong, "a knob without a name"};
  if (tooLong(knob.name) || tooLong(knob.declaredAt) || knob.warning.size() > kMaxTextBytes ||
      std::any_of(knob.choices.begin(), knob.choices.end(), tooLong)) {
    return {Violation::kTextTooLong,
            "a name of more than " + std::to_string(kMaxNameBytes) + " bytes"};
  }
  const auto kind = static_cast<int>(knob.kind);
  if (kind < 1 || kind > 3) return {Violation::kUnknownEnum, "knob kind " + std::to_string(kind)};
  if (knob.choices.size() > kMaxChoices) {
    return {Violation::kNumberOutOfRange, "more than " + std::to_string(kMaxChoices) + " choices"};
  }
  if (!(knob.minimum <= knob.maximum)) {
    return {Violation::kNumberOutOfRange, "the minimum is not below the maximum"};
  }
  if (!isValueOf(knob, knob.value)) {
    return {Violation::kNumberOutOfRange, "its value is none of those it allows"};
  }
  return {};
}

}  // namespace highwater::wire
