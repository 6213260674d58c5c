#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "analysis/span_index.h"
#include "core/events_generated.h"
#include "core/ids.h"

namespace highwater::analysis {

/// The category of an op's span: its phase in the low bits, and whether the op loses time.
struct OpLook {
  /// The bits that hold the events::Phase of the op.
  static constexpr std::uint8_t kPhaseMask = 0x07;
  /// The bit of an op that ran on the CPU instead of the device.
  static constexpr std::uint8_t kFallback = 0x08;
  /// The bit of an op that waited for the device without being meant to.
  static constexpr std::uint8_t kUnplannedWait = 0x10;
  /// The bit of an op that waited for the device as intended by the training loop.
  static constexpr std::uint8_t kPlannedWait = 0x20;  ///< also the wait of a fallback
};

/// The ops recorded at ProbeLevel Ops, in the order in which they ended, with a lane for each
/// thread and depth. The payload of a lane is the row. An op takes some 90 bytes, so beyond
/// `most` the oldest are dropped; the rows of the others do not change. The recording keeps them:
/// those of a range of time can be shown again with showReadBack().
struct OpColumns {
  /// The key of a lane of ops: the thread, and the nesting depth of the ops in it.
  using LaneKey = std::pair<ThreadId, std::uint16_t>;
  /// The most ops that are kept in any case, and the fewest: beyond `most` the oldest are dropped.
  static constexpr std::size_t kMostOps = std::size_t{4} << 20, kFewestOps = std::size_t{1} << 16;
  /// The most ops that showReadBack() takes.
  static constexpr std::size_t kMostReadBack = std::size_t{1} << 20;
  /// What an op takes, in bytes, with its span and spare room.
  static constexpr std::size_t kBytesAnOp = sizeof(events::OpSpan) * 9 / 8 + SpanIndex::kBytesASpan;
  /// The deepest nesting that markLostTime() searches. The probe does not record deeper ops, but a
  /// recording may claim 65,535 depths.
  static constexpr std::uint16_t kDeepestMarked = 64;

  /// records[0] is row `firstRow`. In blocks: a vector of a million ops takes 30 ms to grow, in
  /// which the window stands still.
  std::deque<events::OpSpan> records;
  std::map<LaneKey, SpanIndex> lanes;
  std::size_t firstRow = 0;
  std::int64_t forgottenUpToNs = 0;  ///< ops that ended before this time may be missing; 0: none is
  std::size_t most = kMostOps;

  [[nodiscard]] bool empty() const { return records.empty(); }
  /// One past the row number of the newest op: the rows are [firstRow, endRow()).
  [[nodiscard]] std::size_t endRow() const { return firstRow + records.size(); }
  /// Returns the op with the row number `row`, also of one that was read back; nullptr if it was
  /// dropped or does not exist yet.
  [[nodiscard]] const events::OpSpan* at(std::size_t row) const;
  /// Returns the lane of the op's thread and depth; an empty one if no such op was added.
  [[nodiscard]] const SpanIndex& laneOf(const events::OpSpan& op) const;
  /// The op's duration without that of its direct children, in ns. Final once the op has arrived.
  [[nodiscard]] std::int64_t selfNs(const events::OpSpan& op) const;

  /// Adds an op as the newest row. `look` holds bits of OpLook for lost time. At `most` it first
  /// drops the older half.
  void add(const events::OpSpan& op, std::uint8_t look);
  /// Adds the bits `look` to the op of `thread` that began at `beginNs`, for a wait or fallback
  /// that arrives after its op. Ignores ops deeper than kDeepestMarked.
  void markLostTime(ThreadId thread, std::int64_t beginNs, std::uint8_t look);
  /// Drops the oldest ops until at most `count` are left, and those that were read back.
  void forgetDownTo(std::size_t count);

  /// Dropped ops that were read back from the recording: all that touch [beginNs, endNs), or more.
  struct ReadBack {
    std::vector<events::OpSpan> records;
    std::int64_t beginNs = 0, endNs = 0;
  };
  /// Shows dropped ops in their lanes again, in the place of those that were read back before.
  /// Leaves out those that were not dropped. The ops get rows of their own, which no op had before.
  /// `lookOf` gives the bits of OpLook for an op's lost time. Precondition: no more than
  /// kMostReadBack.
  void showReadBack(ReadBack ops, const std::function<std::uint8_t(const events::OpSpan&)>& lookOf);
  /// Whether ops of [beginNs, endNs) were dropped and have not been read back.
  [[nodiscard]] bool isMissing(std::int64_t beginNs, std::int64_t endNs) const;
  /// The range of the ops that were read back; empty if there are none.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> readBackRange() const {
    return {readBack_.beginNs, readBack_.endNs};
  }

 private:
  /// Rows from here on are of ops that were read back.
  static constexpr std::size_t kReadBackRows = std::size_t{1} << 31;

  void dropReadBack();

  ReadBack readBack_;
  std::size_t firstReadBackRow_ = kReadBackRows;  ///< of readBack_.records[0]
};

}  // namespace highwater::analysis
