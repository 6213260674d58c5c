#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "analysis/time_range.h"
#include "core/definition_table.h"
#include "core/event_kinds.h"
#include "core/message_sink.h"

namespace highwater::report {

/// Takes the next piece of a file.
using Write = std::function<void(std::string_view)>;

/// Bytes of a trace that are written at once.
inline constexpr std::size_t kTracePiece = std::size_t{1} << 20;

/// A text of a trace, safe to show: no control characters, valid UTF-8. Equal texts of the run's
/// definitions have equal ids from 1 on, so that a format may write each once; 0: a text that is
/// written where it stands.
struct TraceText {
  std::uint32_t id = 0;
  std::string_view text;  ///< valid during the call
};

/// What a trace tells of an event beside its name and its times.
struct TraceArgument {
  std::string_view key;  ///< a literal
  std::variant<std::uint64_t, double, TraceText> value;
};

/// A line of a trace on which events of a kind lie: one for each thread, or one of the process.
enum class TraceLane : std::uint8_t {
  kSteps,
  kPhases,
  kRegions,
  kOps,
  kWaits,
  kFallbacks,
  kSamples,
  kMarkers,   ///< the process's
  kCounters,  ///< the process's; each argument is a counter of its own
};

/// One thing that a trace shows.
struct TraceEvent {
  enum class Kind : std::uint8_t { kSpan, kInstant, kCounter };
  Kind kind = Kind::kSpan;
  TraceLane lane = TraceLane::kSteps;
  std::string_view category;  ///< a literal
  TraceText name;
  std::string_view unit;  ///< of a counter: "bytes" or "%"
  ThreadId thread = 0;
  std::uint16_t depth = 0;      ///< of an op: how many others of its thread hold it
  std::int64_t beginNs = 0;     ///< since the trace's epoch
  std::int64_t durationNs = 0;  ///< of a span
  std::span<const TraceArgument> arguments = {};
};

/// The run that a trace is of, as far as is known at the end.
struct TraceRun {
  Hello hello;
  std::string program;        ///< empty where it is unknown
  std::int64_t epochNs = 0;   ///< the trace's epoch, since 1970
  std::uint64_t dropped = 0;  ///< events that were lost under load
};

/// A format of traces. Each call writes what it can, so that memory does not grow with the run.
class TraceFormat {
 public:
  TraceFormat() = default;
  TraceFormat(const TraceFormat&) = delete;
  TraceFormat& operator=(const TraceFormat&) = delete;
  virtual ~TraceFormat() = default;

  /// A thread has this name.
  virtual void thread(const TraceRun& run, ThreadId thread, const TraceText& name) = 0;
  virtual void event(const TraceRun& run, const TraceEvent& event) = 0;
  /// What came together has been given. Spans of one batch come in the order of their ends.
  virtual void endBatch() {}
  /// Nothing more comes.
  virtual void finish(const TraceRun& run) = 0;
};

/// Gives a run's events to a format of traces, as they come.
///
/// Times are nanoseconds since `TraceRun::epochNs`, kineto's own base (a multiple of 7,889,238 s
/// since 1970; seen in traces of PyTorch 2.13), so that a trace of torch.profiler from the same
/// machine lines up with it. A step is a span "ProfilerStep#12", as of torch.profiler.
class TraceEvents final : public MessageSink {
 public:
  /// Gives only events that touch `range`, all without one. `format` must outlive this.
  explicit TraceEvents(TraceFormat& format,
                       std::optional<analysis::TimeRange> range = std::nullopt);

  void take(std::span<const std::uint8_t> frame, const Message& message) override;
  /// Ends the trace. Call it once, after the last message.
  void finish();

  /// The number of events that were written. Heartbeats, open spans, amounts of work and readings
  /// of phases are not, nor are device spans, whose begin is not known.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  /// The number of events that the recording lacks, since they were lost under load.
  [[nodiscard]] std::uint64_t dropped() const { return run_.dropped; }

 private:
  using Arguments = std::vector<TraceArgument>;
  using Texts = std::unordered_map<std::uint32_t, TraceText>;

  void takeBatch(const EventBatch& batch);
  template <typename Event>
  void giveAll(std::span<const Event> events);
  void give(const events::StepRecord& step);
  void give(const events::PhaseSpan& phase);
  void give(const events::NamedSpan& span);
  void give(const events::OpSpan& op);
  void give(const events::SyncPoint& sync);
  void give(const events::FallbackEvent& fallback);
  void give(const events::Marker& marker);
  void give(const events::Evaluation& evaluation);
  void give(const events::HostSample& sample);
  void give(const events::MemorySample& sample);
  void give(const events::SystemSample& sample);
  void give(const events::MachineSample& sample);
  void giveEvent(TraceEvent event, std::int64_t ns);
  void counter(std::string_view name, std::string_view unit, std::string_view key, std::int64_t ns,
               double value);
  /// Module and line of an event, where it has them.
  void addPlace(ModuleId module, CallSiteId site);

  TraceText intern(std::string_view text);
  TraceText textOfName(NameId id);
  TraceText textOfModule(ModuleId id);
  TraceText textOfSite(CallSiteId id);

  TraceFormat& format_;
  std::optional<analysis::TimeRange> range_;
  TraceRun run_;
  DefinitionTable definitions_;
  std::unordered_map<std::string, std::uint32_t> interned_;
  Texts names_, modules_, sites_;
  Arguments arguments_;  ///< of the event that is given now
  ThreadId training_ = 1;
  std::uint64_t written_ = 0;
};

}  // namespace highwater::report
