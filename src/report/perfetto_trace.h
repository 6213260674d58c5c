#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/trace_events.h"

namespace highwater::report {

/// Writes a trace as Perfetto's own protobuf messages (TrackEvent), with names written once. Each
/// thread has a track for its steps, its phases, its regions, its ops, its waits and its fallbacks,
/// each counter one of its own. Timestamps are nanoseconds since the trace's epoch, as those of
/// ChromeTrace; a clock snapshot says what time of day that is.
///
/// Fields: perfetto.dev/docs/reference/trace-packet-proto.
class PerfettoTrace final : public TraceFormat {
 public:
  explicit PerfettoTrace(Write write);

  /// Whether a file that begins so was written here.
  [[nodiscard]] static bool isHead(std::string_view head);

  void thread(const TraceRun& run, ThreadId thread, const TraceText& name) override;
  void event(const TraceRun& run, const TraceEvent& event) override;
  void endBatch() override;
  void finish(const TraceRun& run) override;

 private:
  using Literals = std::map<std::string_view, std::uint64_t>;  ///< by id, from 1 on
  /// A span that has not been written: its two packets stand in `spanBytes_`.
  struct Span {
    std::int64_t beginNs, endNs;
    std::size_t first, size;
    std::uint16_t depth;
    std::optional<ThreadId> heldOn;  ///< by an op of this thread that may be yet to come
  };

  void writeHead(const TraceRun& run);
  void writeSpans(bool all);
  void describeProcess(const TraceRun& run);
  std::uint64_t trackOfThread(const TraceRun& run, ThreadId thread);
  std::uint64_t trackOf(const TraceRun& run, TraceLane lane, ThreadId thread);
  std::uint64_t trackOfCounter(const TraceEvent& event, std::string_view key);
  void span(const TraceEvent& event, std::uint64_t track);
  void counters(const TraceEvent& event);
  /// Writes what a packet refers to and no earlier one has defined.
  void defineTexts(const TraceEvent& event);
  void flush(std::size_t least);

  Write write_;
  std::string out_;
  std::string spanBytes_;
  std::vector<Span> spans_;
  std::map<ThreadId, std::int64_t> outerEndNs_;  ///< the last end of an op that no other holds
  std::map<std::pair<TraceLane, ThreadId>, std::uint64_t> tracks_;
  std::map<ThreadId, std::uint64_t> threads_;
  std::map<std::string, std::uint64_t> counters_;
  Literals categories_, keys_;
  std::vector<bool> names_, values_;  ///< whether the text of that id was written, as which
  std::uint64_t lastTrack_ = 0;
  bool isBegun_ = false, isNamed_ = false;
};

}  // namespace highwater::report
