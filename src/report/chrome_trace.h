#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/trace_events.h"

namespace highwater::report {

/// Writes a trace in Chrome's Trace Event Format, as PyTorch's own profiler does: Perfetto,
/// chrome://tracing and what reads PyTorch's traces open it. Times are microseconds since
/// "baseTimeNanoseconds", as kineto's.
class ChromeTrace final : public TraceFormat {
 public:
  explicit ChromeTrace(Write write);

  void thread(const TraceRun& run, ThreadId thread, const TraceText& name) override;
  void event(const TraceRun& run, const TraceEvent& event) override;
  void finish(const TraceRun& run) override;

 private:
  /// Begins an event: phase of the format, category, thread and time.
  void begin(const TraceRun& run, char phase, std::string_view category, ThreadId thread,
             std::int64_t ns);
  void writeMetadata(const TraceRun& run, std::string_view name, ThreadId thread,
                     std::string_view key, std::string_view value);
  void argument(const TraceArgument& argument);
  void time(std::int64_t ns);
  void flush(std::size_t least);
  /// The text as JSON. That of one with an id is made once.
  void text(const TraceText& text);

  Write write_;
  std::string out_;
  bool isFirst_ = true;
  std::vector<std::string> texts_;  ///< as JSON, by id
};

}  // namespace highwater::report
