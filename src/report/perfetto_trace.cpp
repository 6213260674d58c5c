#include "report/perfetto_trace.h"

#include <algorithm>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <tuple>
#include <utility>
#include <variant>

#include "core/names.h"
#include "core/plain_text.h"
#include "core/version.h"

namespace highwater::report {
namespace {

using Fields = protozero::pbf_writer;  ///< of a message

constexpr std::uint32_t kSequence = 1;  ///< all packets come from one writer
/// Flags of a packet: it begins anew with what texts and ids mean, or needs what was defined.
constexpr std::uint32_t kIsCleared = 1, kNeedsTexts = 2;
constexpr std::uint64_t kProcessTrack = 1;
constexpr std::size_t kMostHeld = std::size_t{16} << 20;  ///< bytes of spans that wait for others
constexpr std::uint32_t kRealtime = 1, kBoottime = 6;     ///< BuiltinClock
constexpr std::int32_t kExplicitOrder = 3;                ///< ChildTracksOrdering
constexpr std::int32_t kSizeBytes = 3;                    ///< CounterDescriptor.Unit

/// The fields' numbers in Perfetto's messages.
namespace field {
constexpr unsigned kPacket = 1;
namespace packet {
constexpr unsigned kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
                   kInterned = 12, kFlags = 13, kTrackDescriptor = 60;
}
namespace track {
constexpr unsigned kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8,
                   kOrder = 11, kRank = 12;
}
namespace process {
constexpr unsigned kPid = 1, kName = 6, kLabels = 8;
}
namespace thread {
constexpr unsigned kPid = 1, kTid = 2, kName = 5;
}
namespace counter {
constexpr unsigned kUnit = 3, kUnitName = 6;
}
namespace event {
constexpr unsigned kCategoryIds = 3, kAnnotations = 4, kType = 9, kNameId = 10, kTrack = 11,
                   kName = 23, kCounterValue = 30, kDoubleCounterValue = 44;
}
namespace annotation {
constexpr unsigned kNameId = 1, kUint = 3, kDouble = 5, kText = 6, kTextId = 17;
}
namespace interned {
constexpr unsigned kCategories = 1, kNames = 2, kKeys = 3, kTexts = 29, kId = 1, kText = 2;
}
namespace clocks {
constexpr unsigned kClocks = 1, kId = 1, kTimestamp = 2;
}
}  // namespace field

enum class EventType : std::int32_t { kSpanBegin = 1, kSpanEnd = 2, kInstant = 3, kCounter = 4 };

const char* nameOf(TraceLane lane) {
  switch (lane) {
    case TraceLane::kSteps:
      return "steps";
    case TraceLane::kPhases:
      return "phases";
    case TraceLane::kRegions:
      return "regions";
    case TraceLane::kOps:
      return "ops";
    case TraceLane::kWaits:
      return "waits";
    case TraceLane::kFallbacks:
      return "fallbacks";
    case TraceLane::kSamples:
      return "samples";
    case TraceLane::kMarkers:
      return "markers";
    case TraceLane::kCounters:
      return "counters";
  }
  return "events";
}

/// A message within another, which ends where its scope does.
template <typename Fill>
void nested(Fields& in, unsigned number, Fill&& fill) {
  Fields message(in, number);
  fill(message);
}

/// Perfetto has no time before its clock's begin.
std::uint64_t timestamp(std::int64_t ns) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
}

/// A packet with its time, if it has one.
template <typename Fill>
void packet(std::string& to, std::optional<std::int64_t> ns, std::uint32_t flags, Fill&& fill) {
  Fields trace(to);
  nested(trace, field::kPacket, [&](Fields& fields) {
    if (ns) fields.add_uint64(field::packet::kTimestamp, timestamp(*ns));
    fields.add_uint32(field::packet::kSequenceId, kSequence);
    if (flags != 0) fields.add_uint32(field::packet::kFlags, flags);
    fill(fields);
  });
}

/// A packet that describes a track below another.
template <typename Fill>
void describeTrack(std::string& to, std::uint64_t track, std::uint64_t parent, Fill&& fill) {
  packet(to, std::nullopt, 0, [&](Fields& fields) {
    nested(fields, field::packet::kTrackDescriptor, [&](Fields& descriptor) {
      descriptor.add_uint64(field::track::kUuid, track);
      if (parent != 0) descriptor.add_uint64(field::track::kParent, parent);
      fill(descriptor);
    });
  });
}

/// Says what text an id means from now on.
void define(Fields& interned, unsigned kind, std::uint64_t id, std::string_view text) {
  nested(interned, kind, [&](Fields& entry) {
    entry.add_uint64(field::interned::kId, id);
    entry.add_bytes(field::interned::kText, text.data(), text.size());
  });
}

/// Whether the id is new to `known`, which has it from now on.
bool isNew(std::vector<bool>& known, std::uint32_t id) {
  if (id == 0) return false;
  if (known.size() <= id) known.resize(id + std::size_t{1});
  if (known[id]) return false;
  known[id] = true;
  return true;
}

void addHead(Fields& event, EventType type, std::uint64_t track) {
  event.add_enum(field::event::kType, static_cast<std::int32_t>(type));
  event.add_uint64(field::event::kTrack, track);
}

void addValue(Fields& annotation, const TraceArgument& argument) {
  if (const auto* number = std::get_if<std::uint64_t>(&argument.value)) {
    annotation.add_uint64(field::annotation::kUint, *number);
  } else if (const auto* real = std::get_if<double>(&argument.value)) {
    annotation.add_double(field::annotation::kDouble, *real);
  } else {
    const auto& text = std::get<TraceText>(argument.value);
    if (text.id != 0) {
      annotation.add_uint64(field::annotation::kTextId, text.id);
    } else {
      annotation.add_string(field::annotation::kText, text.text.data(), text.text.size());
    }
  }
}

}  // namespace

PerfettoTrace::PerfettoTrace(Write write) : write_(std::move(write)), lastTrack_(kProcessTrack) {}

bool PerfettoTrace::isHead(std::string_view head) {
  // The first packet: tag and length, the writer, the flag that all begins, and the tag of clocks.
  constexpr std::string_view kFirst = "\x50\x01\x68\x01\x32";
  return head.starts_with('\x0a') && head.substr(1).find(kFirst) == 1;
}

void PerfettoTrace::thread(const TraceRun& run, ThreadId thread, const TraceText& name) {
  writeHead(run);
  std::uint64_t& track = threads_[thread];
  if (track == 0) track = ++lastTrack_;
  describeTrack(out_, track, kProcessTrack, [&](Fields& descriptor) {
    descriptor.add_enum(field::track::kOrder, kExplicitOrder);
    nested(descriptor, field::track::kThread, [&](Fields& of) {
      of.add_int32(field::thread::kPid, static_cast<std::int32_t>(run.hello.processId));
      of.add_int64(field::thread::kTid, std::int64_t{thread});
      of.add_string(field::thread::kName, name.text.data(), name.text.size());
    });
  });
}

void PerfettoTrace::event(const TraceRun& run, const TraceEvent& event) {
  writeHead(run);
  if (event.kind == TraceEvent::Kind::kCounter) {
    counters(event);
    return;
  }
  const std::uint64_t track = trackOf(run, event.lane, event.thread);
  defineTexts(event);
  span(event, track);
}

void PerfettoTrace::span(const TraceEvent& event, std::uint64_t track) {
  const std::size_t first = spanBytes_.size();
  const bool isInstant = event.kind == TraceEvent::Kind::kInstant;
  packet(spanBytes_, event.beginNs, kNeedsTexts, [&](Fields& fields) {
    nested(fields, field::packet::kTrackEvent, [&](Fields& of) {
      addHead(of, isInstant ? EventType::kInstant : EventType::kSpanBegin, track);
      of.add_uint64(field::event::kCategoryIds, categories_[event.category]);
      if (event.name.id != 0) {
        of.add_uint64(field::event::kNameId, event.name.id);
      } else {
        of.add_string(field::event::kName, event.name.text.data(), event.name.text.size());
      }
      for (const TraceArgument& each : event.arguments) {
        nested(of, field::event::kAnnotations, [&](Fields& annotation) {
          annotation.add_uint64(field::annotation::kNameId, keys_[each.key]);
          addValue(annotation, each);
        });
      }
    });
  });
  const std::int64_t endNs = event.beginNs + event.durationNs;
  if (!isInstant) {
    packet(spanBytes_, endNs, 0, [&](Fields& fields) {
      nested(fields, field::packet::kTrackEvent,
             [&](Fields& of) { addHead(of, EventType::kSpanEnd, track); });
    });
  }
  std::optional<ThreadId> heldOn;
  if (event.lane == TraceLane::kOps) {
    std::int64_t& outerEndNs = outerEndNs_.try_emplace(event.thread, INT64_MIN).first->second;
    if (event.depth == 0) outerEndNs = std::max(outerEndNs, endNs);
    if (event.depth > 0) heldOn = event.thread;
  }
  spans_.push_back({event.beginNs, endNs, first, spanBytes_.size() - first, event.depth, heldOn});
}

void PerfettoTrace::counters(const TraceEvent& event) {
  for (const TraceArgument& each : event.arguments) {
    const std::uint64_t track = trackOfCounter(event, each.key);
    packet(out_, event.beginNs, 0, [&](Fields& fields) {
      nested(fields, field::packet::kTrackEvent, [&](Fields& of) {
        addHead(of, EventType::kCounter, track);
        if (const auto* number = std::get_if<double>(&each.value)) {
          of.add_double(field::event::kDoubleCounterValue, *number);
        } else if (const auto* bytes = std::get_if<std::uint64_t>(&each.value)) {
          of.add_int64(field::event::kCounterValue, static_cast<std::int64_t>(*bytes));
        }
      });
    });
  }
}

void PerfettoTrace::endBatch() {
  writeSpans(spanBytes_.size() > kMostHeld);
  flush(kTracePiece);
}

/// An op comes when it ends, so those inside it come before. Where both begin in the same
/// nanosecond Perfetto takes them in the order of the file, and would give each the other's end:
/// an op that others hold waits until the outermost of these has come.
void PerfettoTrace::writeSpans(bool all) {
  std::stable_sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
    return std::tuple(a.beginNs, b.endNs, a.depth) < std::tuple(b.beginNs, a.endNs, b.depth);
  });
  std::string heldBytes;
  std::vector<Span> held;
  for (Span& each : spans_) {
    const bool isHeld = !all && each.heldOn && outerEndNs_[*each.heldOn] < each.endNs;
    std::string& to = isHeld ? heldBytes : out_;
    const std::size_t first = to.size();
    to.append(spanBytes_, each.first, each.size);
    each.first = first;
    if (isHeld) held.push_back(each);
  }
  spans_ = std::move(held);
  spanBytes_ = std::move(heldBytes);
}

void PerfettoTrace::finish(const TraceRun& run) {
  writeHead(run);
  writeSpans(true);
  if (!isNamed_ && !run.program.empty()) {
    isNamed_ = true;
    describeProcess(run);  // once more: what trains is known by now
  }
  flush(0);
}

void PerfettoTrace::writeHead(const TraceRun& run) {
  if (isBegun_) return;
  isBegun_ = true;
  const std::int64_t startNs = run.hello.clock.unixEpochNs;
  packet(out_, std::nullopt, kIsCleared, [&](Fields& fields) {
    nested(fields, field::packet::kClockSnapshot, [&](Fields& snapshot) {
      for (const auto& [clock, ns] :
           {std::pair{kBoottime, startNs - run.epochNs}, std::pair{kRealtime, startNs}}) {
        nested(snapshot, field::clocks::kClocks, [&](Fields& reading) {
          reading.add_uint32(field::clocks::kId, clock);
          reading.add_uint64(field::clocks::kTimestamp, timestamp(ns));
        });
      }
    });
  });
  isNamed_ = !run.program.empty();
  describeProcess(run);
}

void PerfettoTrace::describeProcess(const TraceRun& run) {
  describeTrack(out_, kProcessTrack, 0, [&](Fields& descriptor) {
    nested(descriptor, field::track::kProcess, [&](Fields& process) {
      process.add_int32(field::process::kPid, static_cast<std::int32_t>(run.hello.processId));
      // Perfetto keeps the first name that it is told.
      if (isNamed_) process.add_string(field::process::kName, plainText(run.program));
      for (const std::string& label :
           {std::string(deviceLabel(run.hello.device)), "Highwater " + std::string(kVersion),
            "PyTorch " + plainText(run.hello.torchVersion)}) {
        process.add_string(field::process::kLabels, label);
      }
    });
  });
}

std::uint64_t PerfettoTrace::trackOfThread(const TraceRun& run, ThreadId thread) {
  if (!threads_.contains(thread)) {
    const std::string name = "thread " + std::to_string(thread);
    this->thread(run, thread, {0, name});
  }
  return threads_[thread];
}

std::uint64_t PerfettoTrace::trackOf(const TraceRun& run, TraceLane lane, ThreadId thread) {
  const bool isOfProcess = lane == TraceLane::kMarkers;
  std::uint64_t& track = tracks_[{lane, isOfProcess ? ThreadId{0} : thread}];
  if (track != 0) return track;
  track = ++lastTrack_;
  const std::uint64_t parent = isOfProcess ? kProcessTrack : trackOfThread(run, thread);
  describeTrack(out_, track, parent, [&](Fields& descriptor) {
    descriptor.add_string(field::track::kName, nameOf(lane));
    descriptor.add_int32(field::track::kRank, static_cast<std::int32_t>(lane));
  });
  return track;
}

std::uint64_t PerfettoTrace::trackOfCounter(const TraceEvent& event, std::string_view key) {
  std::string name(event.name.text);
  name += event.arguments.size() == 1 ? " " : ", ";
  name += key;
  std::uint64_t& track = counters_[name];
  if (track != 0) return track;
  track = ++lastTrack_;
  describeTrack(out_, track, kProcessTrack, [&](Fields& descriptor) {
    descriptor.add_string(field::track::kName, name);
    nested(descriptor, field::track::kCounter, [&](Fields& counter) {
      if (event.unit == "bytes") {
        counter.add_enum(field::counter::kUnit, kSizeBytes);
      } else {
        counter.add_string(field::counter::kUnitName, event.unit.data(), event.unit.size());
      }
    });
  });
  return track;
}

void PerfettoTrace::defineTexts(const TraceEvent& event) {
  std::string defined;
  Fields interned(defined);
  const auto literal = [&](Literals& known, std::string_view text, unsigned kind) {
    const auto [found, isNewOne] = known.try_emplace(text, known.size() + 1);
    if (isNewOne) define(interned, kind, found->second, text);
  };
  literal(categories_, event.category, field::interned::kCategories);
  if (isNew(names_, event.name.id)) {
    define(interned, field::interned::kNames, event.name.id, event.name.text);
  }
  for (const TraceArgument& each : event.arguments) {
    literal(keys_, each.key, field::interned::kKeys);
    const auto* text = std::get_if<TraceText>(&each.value);
    if (text && isNew(values_, text->id)) {
      define(interned, field::interned::kTexts, text->id, text->text);
    }
  }
  if (defined.empty()) return;
  packet(out_, std::nullopt, kNeedsTexts,
         [&](Fields& fields) { fields.add_message(field::packet::kInterned, defined); });
}

void PerfettoTrace::flush(std::size_t least) {
  if (out_.size() < least) return;
  write_(out_);
  out_.clear();
}

}  // namespace highwater::report
