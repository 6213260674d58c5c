#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "core/events_generated.h"
#include "core/ids.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Adds up what the ops of a step or an evaluation have the device do, by op and place, for
/// events::OpWork. Any thread may call a method unless its comment says otherwise.
class OpCensus {
 public:
  /// Ops that belong together: calls of one op at one place.
  struct Key {
    NameId op = kNoId;
    ModuleId module = kNoId;
    CallSiteId site = kNoId;
    events::Phase phase = events::Phase::None;
    bool isBackward = false;
    auto operator<=>(const Key&) const = default;
  };
  /// What one call works on: bytes that it reads and writes, and floating-point operations.
  struct Work {
    std::uint64_t bytes = 0;
    std::uint64_t flops = 0;
  };
  /// A thread, as RecordFunction numbers threads, with the number that autograd gives to a node of
  /// its forward.
  using NodeNumber = std::pair<std::uint64_t, std::int64_t>;

  /// Notes that the gradient of `node` belongs to what was called at `site`.
  void noteForward(NodeNumber node, CallSiteId site);
  /// Returns the call site of the forward op with that node; kNoId where it is not known.
  [[nodiscard]] CallSiteId forwardSite(NodeNumber node) const;

  /// Adds one call. `shapes` is the id of the text of its arguments' shapes.
  void add(const Key& key, Work work, NameId shapes);
  /// What is added from now on may be the next step's. What was added since the last call is not.
  void nextMayBegin();
  /// Forgets what was added: all of it, or all before the last nextMayBegin() if `keepNext`.
  void dropBefore(bool keepNext);
  /// Records what was added as the work of `step`, or of an evaluation (0), the largest first and
  /// up to kMostRows; the last of these is what is left, with the op kOtherId. What was added since
  /// nextMayBegin() counts only `withNext`. Then begins anew.
  void record(Recorder& recorder, std::uint32_t step, bool withNext);

  static constexpr std::size_t kMostRows = 256;

 private:
  struct Row {
    Work sum;
    std::uint32_t calls = 0;
    NameId shapes = kNoId;  ///< of the largest call
    double largest = 0;

    void add(const Row& other);
  };

  using Rows = std::map<Key, Row>;

  /// Adds the rows of next_ to rows_. Precondition: mutex_ is locked.
  void joinNext();

  mutable std::mutex mutex_;
  Rows rows_;
  Rows next_;  ///< since nextMayBegin()
  bool isNext_ = false;
  std::map<NodeNumber, CallSiteId> sites_;
};

}  // namespace highwater::probe
