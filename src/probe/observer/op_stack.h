#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/ids.h"
#include "probe/call_sites/call_sites.h"
#include "probe/observer/name_table.h"
#include "probe/observer/shape_texts.h"
#include "probe/stream/recorder.h"

namespace highwater::probe {

/// Classifies ops by name: those that may make the host wait have a tag other than kOther.
enum class OpTag : std::uint8_t {
  kOther = 0,
  kScalarRead,         ///< aten::_local_scalar_dense: item(), bool(tensor)
  kCopy,               ///< aten::copy_(self, src, non_blocking)
  kCopyFrom,           ///< aten::_copy_from(self, dst, non_blocking)
  kCopyFromAndResize,  ///< aten::_copy_from_and_resize(self, dst): always waits
  kNonzero,            ///< aten::nonzero, aten::masked_select
  kIndex,              ///< aten::index, aten::_index_put_impl_: waits where an index is a mask
  kEqual,              ///< aten::equal
  kUnique,             ///< aten::_unique2 and its variants
  kBincount,           ///< aten::bincount
  kRepeats,            ///< aten::repeat_interleave: waits where it must add up the counts
  kToCpu,              ///< aten::_to_cpu: called by fallbacks only
};
/// Returns the tag of the op with that name, for example kCopy for "aten::copy_".
[[nodiscard]] OpTag opTag(std::string_view name);

/// Whether and why an op makes the host wait, derived from its name and the devices of its tensors.
/// `bytes` is what the host waits for. kind None: the op does not wait.
struct OpWait {
  events::SyncKind kind = events::SyncKind::None;
  std::uint64_t bytes = 0;
  bool blocks = true;  ///< false for a non-blocking copy, which does not wait
};

/// Autograd's identity of an op, which links a forward op to its backward node: both have the
/// forward thread and the sequence number that autograd counts on it.
struct OpLink {
  bool isBackwardNode = false;
  std::uint64_t forwardThread = 0;  ///< thread of the forward op, as RecordFunction numbers threads
  std::int64_t sequence = -1;       ///< -1: no number
};

/// Details of an op that are read only at the probe level `ops`.
struct OpDetail {
  NameId shapes = kNoId;           ///< text of the arguments' shapes
  std::int64_t currentBytes = -1;  ///< current allocated when the op began; -1: unknown
};

/// One thread's stack of open ops; decides which of them were sync points or fallbacks.
///
/// An op with a direct `aten::_to_cpu` child fell back to the CPU (native::cpu_fallback; nothing
/// else in PyTorch's MPS code calls it). The fallback is reported once, however often it calls
/// _to_cpu, as the outermost ancestor of that name (functional, then `.out`). Of nested ops that
/// wait, the outermost is reported; waits inside a fallback are part of the fallback. A wait for
/// values is attributed to the op that the user called: a scalar read inside aten::masked_fill is
/// that op's ValueRead, a nonzero inside aten::where is that op's.
///
/// The clock is read only for ops that are recorded, that may wait by their name, or that fell back
/// before. So the first time that an op falls back on a thread, its span begins with the copies to
/// the CPU, some microseconds late. The open spans of all other ops begin at Recorder::recentNs(),
/// some ms early.
///
/// A forward op belongs to its thread's current module. A backward node belongs to the module whose
/// op created it, and so does everything that runs in the node.
class OpStack {
 public:
  /// The number of nested ops that the stack keeps; deeper ones are counted only.
  static constexpr std::uint32_t kMaxDepth = 64;

  /// Makes the stack of the thread that owns `lane`. Both arguments must outlive it.
  OpStack(Recorder& recorder, ThreadLane& lane);

  /// Returns the cached entry of an op's name. Valid until the next call.
  [[nodiscard]] NameCache::Entry& name(std::string_view text) { return cache_.find(text); }
  /// Returns the cached entry of an op's name by its address; `isPermanent()` says whether the name
  /// stays there, as in NameCache::find(). Valid until the next call.
  template <typename F>
  [[nodiscard]] NameCache::Entry& name(const char* text, F&& isPermanent) {
    return cache_.find(text, std::forward<F>(isPermanent));
  }
  /// Returns the cached entry of a permanent name at this address; nullptr where it is not known.
  [[nodiscard]] NameCache::Entry* nameByAddress(const char* text) const {
    return cache_.findByAddress(text);
  }
  /// Returns true for an ordinary op: one that cannot wait by its name and has not fallen back to
  /// the CPU before. Of such an op, only its name and that it is open matter.
  [[nodiscard]] static bool isOrdinary(const NameCache::Entry& name) {
    return !isTagged(name) && !name.marked;
  }
  /// Forgets the addresses of all names. Call it when an operator was deregistered, because another
  /// name may then be at the same address. Ops may be open.
  void forgetNameAddresses() { cache_.forgetAddresses(); }
  /// This thread's cache of shape texts.
  [[nodiscard]] ShapeTexts& shapeTexts() { return shapeTexts_; }

  /// Begins an op that is not recorded itself; only a wait or a fallback is. `wait` is what its
  /// tensors tell, and is ignored for ops tagged kOther. For kToCpu, its bytes are those moved to
  /// the CPU.
  void begin(NameCache::Entry& name, const OpWait& wait = {}, const OpLink& link = {}) {
    if (open(name, link, false) && isTagged(name)) handleTagged(wait);
  }
  /// Begins a forward op for which isOrdinary() is true and whose name is permanent: the fast path
  /// that nearly all ops take. The op is not recorded. `thread` and `sequence` are RecordFunction's
  /// number of the thread and autograd's sequence number (-1: none).
  void beginOrdinary(NameCache::Entry& name, std::uint64_t thread, std::int64_t sequence) {
    if (Frame* frame = push(name, recorder_.recentNs(), kNotTimed)) {
      frame->module = enterModule({false, thread, sequence});
    }
  }
  /// Begins a forward op for which isOrdinary() is true and whose name is permanent, and whose own
  /// span end(currentBytes) is to record, with `detail` (probe level `ops`). `thread` and
  /// `sequence` are RecordFunction's number of the thread and autograd's sequence number (-1:
  /// none). Reads the clock, so that the begin is exact. An op nested deeper than kMaxDepth is not
  /// recorded.
  void beginOrdinary(NameCache::Entry& name, std::uint64_t thread, std::int64_t sequence,
                     const OpDetail& detail) {
    const std::int64_t beginNs = recorder_.now();
    if (Frame* frame = push(name, beginNs, beginNs)) {
      frame->module = enterModule({false, thread, sequence});
      frame->detail = detail;
    }
  }
  /// Begins an op whose own span end(currentBytes) is to record, with `detail` (probe level `ops`).
  /// `wait` is what its tensors tell, and is ignored for ops tagged kOther.
  void begin(NameCache::Entry& name, const OpWait& wait, const OpLink& link,
             const OpDetail& detail) {
    Frame* frame = open(name, link, true);
    if (!frame) return;
    frame->detail.shapes = detail.shapes;
    frame->detail.currentBytes = detail.currentBytes;
    if (isTagged(name)) handleTagged(wait);
  }
  /// Ends the innermost op. Records a sync point or a fallback if the op was one.
  void end() {
    const Frame* frame = close();
    if (!frame) return;
    reportIfItCounts(*frame);
    leave(*frame);
  }
  /// Ends the innermost op and records its span, and a sync point or a fallback if the op was one.
  /// `currentBytes` is the memory currently allocated on the device; -1 where unknown.
  void end(std::int64_t currentBytes) {
    const Frame* frame = close();
    if (!frame) return;
    recordOp(*frame, currentBytes);
    reportIfItCounts(*frame);
    leave(*frame);
  }

  /// The number of open ops on this thread, also those too deep to keep.
  [[nodiscard]] std::uint32_t depth() const { return depth_; }

 private:
  /// Properties of an op. The first two are inherited by the ops that run inside it.
  enum Flag : std::uint8_t {
    kInsideWait = 1,      // inside an op that waits
    kInsideFallback = 2,  // inside an op that fell back
    kWaits = 4,
    kFellBack = 8,
    kBackwardNode = 16,
  };

  struct alignas(64) Frame {
    NameCache::Entry* name = nullptr;
    std::int64_t beginNs = 0;  // kNotTimed for an op that is neither tagged nor recorded
    ModuleId module = kNoId;
    std::uint8_t flags = 0;
    std::uint8_t inner = 0;  // flags that the ops inside it inherit
    OpDetail detail;         // recorded ops only
    // Only for an op that waits or fell back:
    OpWait wait;
    std::int64_t fallbackWaitNs = 0;
    std::uint64_t bytesToCpu = 0;
    std::uint64_t bytesToDevice = 0;
    NameCache::Entry ownName;  // copy of a transient cache entry
  };
  static constexpr std::int64_t kNotTimed = -1;

  [[nodiscard]] static bool isTagged(const NameCache::Entry& name) {
    return name.tag != static_cast<std::uint8_t>(OpTag::kOther);
  }
  /// Pushes a frame whose open span begins at `openSinceNs`; nullptr where the stack is too deep to
  /// keep it.
  Frame* push(NameCache::Entry& name, std::int64_t openSinceNs, std::int64_t beginNs);
  /// Pushes a frame for any op.
  Frame* open(NameCache::Entry& name, const OpLink& link, bool recorded);
  [[nodiscard]] ModuleId enterModule(const OpLink& link);
  void findRing(std::uint64_t thread);
  /// Pops the op that ends; nullptr where there is none, or where it was too deep to keep.
  [[nodiscard]] const Frame* close() {
    // The op began before we observed: the innermost open span is a phase, not an op.
    if (depth_ == 0) return nullptr;
    lane_.openSpans().pop();
    return --depth_ < kMaxDepth ? &frames_[depth_] : nullptr;
  }
  void reportIfItCounts(const Frame& frame) {
    if ((frame.flags & (kWaits | kFellBack)) != 0) report(frame);
  }
  void leave(const Frame& frame) {
    if ((frame.flags & kBackwardNode) == 0) return;
    lane_.modules().leave();
    --backwardNodes_;
  }
  /// Handles a tagged op that has just begun.
  void handleTagged(const OpWait& wait);
  [[nodiscard]] Frame* fallbackOf(std::uint32_t depth);
  void noteFallback(std::uint32_t depth);
  /// True for a copy between CPU and device inside a fallback: the part of it that waits.
  [[nodiscard]] static bool isWaitOfFallback(const Frame& frame);
  /// The op that the user called: the outermost one above `depth` within the same backward node.
  [[nodiscard]] const Frame& calledOp(std::uint32_t depth) const;
  void report(const Frame& frame);
  void pushFallback(const Frame& frame, std::int64_t lengthNs, CallSiteId site);
  void pushSyncPoint(const Frame& frame, std::int64_t lengthNs, CallSiteId site);
  void recordOp(const Frame& frame, std::int64_t currentBytes);

  // What every op reads comes first, in one cache line with the start of the name cache.
  alignas(64) Recorder& recorder_;
  ThreadLane& lane_;
  SequenceModules::Ring* sequences_ = nullptr;  // set at the first op in a module
  std::uint32_t depth_ = 0;
  std::uint32_t backwardNodes_ = 0;  // how many frames are backward nodes
  NameCache cache_;
  std::array<Frame, kMaxDepth> frames_{};
  ShapeTexts shapeTexts_;
  CallSiteCache callSites_;
};

// The code that runs at every op is here, so that the compiler can inline it.

inline ModuleId OpStack::enterModule(const OpLink& link) {
  ModuleStack& modules = lane_.modules();
  if (link.isBackwardNode) {
    modules.enter(recorder_.sequenceModules().find(link.forwardThread, link.sequence));
    return modules.current();
  }
  const ModuleId module = modules.current();
  if (link.sequence < 0) return module;
  if (!sequences_ && module != kNoId) [[unlikely]] {
    findRing(link.forwardThread);
  }
  // Also outside of modules: an earlier op with this number may have noted a module and created no
  // node.
  if (sequences_) sequences_->note(link.sequence, module);
  return module;
}

[[gnu::always_inline]] inline OpStack::Frame* OpStack::push(NameCache::Entry& name,
                                                            std::int64_t openSinceNs,
                                                            std::int64_t beginNs) {
  lane_.openSpans().push(openSinceNs, name.id);
  const std::uint32_t depth = depth_++;
  if (depth >= kMaxDepth) return nullptr;
  Frame& frame = frames_[depth];
  frame.name = &name;
  frame.beginNs = beginNs;
  frame.flags = frame.inner = depth > 0 ? frames_[depth - 1].inner : std::uint8_t{0};
  return &frame;
}

[[gnu::always_inline]] inline OpStack::Frame* OpStack::open(NameCache::Entry& name,
                                                            const OpLink& link, bool recorded) {
  const bool timed = recorded || !isOrdinary(name);
  const std::int64_t beginNs = timed ? recorder_.now() : recorder_.recentNs();
  Frame* frame = push(name, beginNs, timed ? beginNs : kNotTimed);
  if (!frame) return nullptr;
  if (link.isBackwardNode) {
    frame->flags |= kBackwardNode;
    ++backwardNodes_;
  }
  frame->module = enterModule(link);
  if (cache_.isTransient(name)) frame->name = &(frame->ownName = name);
  return frame;
}

}  // namespace highwater::probe
