#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/time_range.h"
#include "core/definition_table.h"
#include "core/event_kinds.h"
#include "core/message_sink.h"

namespace highwater::report {

/// Writes a run as a trace in Chrome's Trace Event Format, as PyTorch's own profiler does:
/// Perfetto, chrome://tracing and what reads PyTorch's traces open it. Events are written as they
/// come, so that memory does not grow with the recording.
///
/// Times are microseconds since `baseTimeNanoseconds`, kineto's own base (a multiple of 7,889,238 s
/// since 1970; seen in traces of PyTorch 2.13), so that a trace of torch.profiler from the same
/// machine lines up with it. A step is a span "ProfilerStep#12", as of torch.profiler.
class ChromeTrace final : public MessageSink {
 public:
  /// Takes the next piece of the text.
  using Write = std::function<void(std::string_view)>;

  /// Writes only events that touch `range`, all without one.
  explicit ChromeTrace(Write write, std::optional<analysis::TimeRange> range = std::nullopt);

  void take(std::span<const std::uint8_t> frame, const Message& message) override;
  /// Writes the end. Call it once, after the last message.
  void finish();

  /// The number of events that were written. Heartbeats, open spans, amounts of work and readings
  /// of phases are not, nor are device spans, whose begin is not known.
  [[nodiscard]] std::uint64_t written() const { return written_; }
  /// The number of events that the recording lacks, since they were lost under load.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void takeBatch(const EventBatch& batch);
  template <typename Event>
  void writeAll(std::span<const Event> events);
  void write(const events::StepRecord& step);
  void write(const events::PhaseSpan& phase);
  void write(const events::NamedSpan& span);
  void write(const events::OpSpan& op);
  void write(const events::SyncPoint& sync);
  void write(const events::FallbackEvent& fallback);
  void write(const events::Marker& marker);
  void write(const events::Evaluation& evaluation);
  void write(const events::HostSample& sample);
  void write(const events::MemorySample& sample);
  void write(const events::SystemSample& sample);
  void write(const events::MachineSample& sample);

  /// Begins an event: phase of the format, category, name (a JSON string), thread and time.
  void begin(char phase, std::string_view category, std::string_view name, ThreadId thread,
             std::int64_t ns);
  void beginSpan(std::string_view category, std::string_view name, ThreadId thread, std::int64_t ns,
                 std::int64_t durationNs);
  void beginArguments();
  void argument(std::string_view key, std::string_view json);
  void argument(std::string_view key, double value);
  void argument(std::string_view key, std::uint64_t value);
  /// Module and line of an event, where it has them.
  void argumentsOfPlace(ModuleId module, CallSiteId site);
  void counter(std::string_view name, std::string_view key, std::int64_t ns, double value);
  void end();
  void writeMetadata(std::string_view name, ThreadId thread, std::string_view value);
  void time(std::int64_t ns);
  void flush(std::size_t least);

  // Texts as JSON, each made once.
  const std::string& nameJson(NameId id);
  const std::string& moduleJson(ModuleId id);
  const std::string& siteJson(CallSiteId id);

  Write write_;
  std::string out_;
  bool isFirst_ = true, hasArguments_ = false;
  DefinitionTable definitions_;
  std::unordered_map<std::uint32_t, std::string> names_, modules_, sites_;
  Hello hello_;
  std::string program_;
  ThreadId training_ = 1;
  std::optional<analysis::TimeRange> range_;
  std::int64_t baseNs_ = 0;
  std::uint64_t dropped_ = 0, written_ = 0;
};

}  // namespace highwater::report
