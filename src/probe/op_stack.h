#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/ids.h"
#include "probe/call_sites.h"
#include "probe/name_table.h"
#include "probe/recorder.h"
#include "probe/shape_texts.h"

namespace highwater::probe {

/// What an op is to us, by its name alone.
enum class OpTag : std::uint8_t {
  kOther = 0,
  kScalarRead,         ///< aten::_local_scalar_dense: item(), bool(tensor)
  kCopy,               ///< aten::copy_(self, src, non_blocking)
  kCopyFrom,           ///< aten::_copy_from(self, dst, non_blocking)
  kCopyFromAndResize,  ///< aten::_copy_from_and_resize(self, dst): always waits
  kNonzero,            ///< aten::nonzero, aten::masked_select
  kIndex,              ///< aten::index, aten::_index_put_impl_: waits where an index is a mask
  kEqual,              ///< aten::equal
  kUnique,             ///< aten::_unique2 and its kin
  kBincount,           ///< aten::bincount
  kRepeats,            ///< aten::repeat_interleave: waits where it must add up the counts
  kToCpu,              ///< aten::_to_cpu: only a fallback calls it
};
[[nodiscard]] OpTag opTag(std::string_view name);

/// Why an op makes the host wait for the device, from its name and where its tensors live.
struct OpWait {
  events::SyncKind kind = events::SyncKind::None;
  std::uint64_t bytes = 0;
  bool blocks = true;  ///< false for a non-blocking copy: bytes move, but nobody waits
};

/// What links a forward op to its node of backward: autograd's number on the thread of forward.
struct OpLink {
  bool isBackwardNode = false;
  std::uint64_t forwardThread = 0;  ///< the op's own thread, as RecordFunction numbers threads
  std::int64_t sequence = -1;       ///< -1: none
};

/// What is looked at only where every op is recorded.
struct OpDetail {
  NameId shapes = kNoId;           ///< the text of its arguments' shapes
  std::int64_t currentBytes = -1;  ///< current allocated before it began, -1 where it is not known
};

/// The ops that one thread is in, and the judgement which of them was a sync point or a fallback.
///
/// An op with a direct `aten::_to_cpu` child fell back to the CPU (native::cpu_fallback; nothing
/// else in PyTorch's MPS code calls it). It is reported as the outermost of the ancestors that have
/// its name (functional, then `.out`), once, however often it calls _to_cpu. Of ops that wait the
/// outermost is reported; a fallback's own waits are part of the fallback. A wait for values goes
/// by the name of the op that the user called: a scalar read inside of aten::masked_fill is that
/// op's ValueRead, a nonzero inside of aten::where is that op's.
///
/// The clock is looked at only where the time is wanted: of an op that is recorded, that may wait
/// by its name, or that fell back before. So the first time that an op falls back on a thread, its
/// time begins with the copies to the CPU, some microseconds late; and the open spans of other ops
/// begin with Recorder::recentNs(), some ms early.
///
/// An op of forward belongs to the module that its thread is in. A node of backward belongs to the
/// module whose op made it, and so does what runs in the node.
class OpStack {
 public:
  static constexpr std::uint32_t kMaxDepth = 64;

  OpStack(Recorder& recorder, ThreadLane& lane);

  /// The id and tag of an op's name. Good until the next call.
  [[nodiscard]] NameCache::Entry& name(std::string_view text) { return cache_.find(text); }
  /// The same; `lasting` as in NameCache::find().
  template <typename F>
  [[nodiscard]] NameCache::Entry& name(const char* text, F&& lasting) {
    return cache_.find(text, std::forward<F>(lasting));
  }
  /// As NameCache::findLasting().
  [[nodiscard]] NameCache::Entry* lastingName(const char* text) const {
    return cache_.findLasting(text);
  }
  /// An op that is not judged by its name and did not fall back before: all that it may need later
  /// is its name and that it is open.
  [[nodiscard]] static bool isOrdinary(const NameCache::Entry& name) {
    return !isJudged(name) && !name.marked;
  }
  /// Some operator is gone, and another's name may be where its name was. Ops may be open.
  void forgetNameAddresses() { cache_.forgetAddresses(); }
  [[nodiscard]] ShapeTexts& shapeTexts() { return shapeTexts_; }

  /// An op begins. `wait` as far as its tensors tell; for kToCpu, bytes are those it moves. Looked
  /// at only where the name has a tag.
  void begin(NameCache::Entry& name, const OpWait& wait = {}, const OpLink& link = {}) {
    if (open(name, link, false) && isJudged(name)) judge(wait);
  }
  /// The same as begin() of an ordinary op of forward whose name is a lasting one: next to all are.
  void beginOrdinary(NameCache::Entry& name, std::uint64_t thread, std::int64_t sequence) {
    if (Frame* frame = push(name, recorder_.recentNs(), kNotTimed)) {
      frame->module = enterModule({false, thread, sequence});
    }
  }
  /// The same of one that is to be recorded.
  void beginOrdinary(NameCache::Entry& name, std::uint64_t thread, std::int64_t sequence,
                     const OpDetail& detail) {
    const std::int64_t beginNs = recorder_.now();
    if (Frame* frame = push(name, beginNs, beginNs)) {
      frame->module = enterModule({false, thread, sequence});
      frame->detail = detail;
    }
  }
  /// The same as begin() of an op that is to be recorded.
  void begin(NameCache::Entry& name, const OpWait& wait, const OpLink& link,
             const OpDetail& detail) {
    Frame* frame = open(name, link, true);
    if (!frame) return;
    frame->detail.shapes = detail.shapes;
    frame->detail.currentBytes = detail.currentBytes;
    if (isJudged(name)) judge(wait);
  }
  /// The innermost op ends.
  void end() {
    const Frame* frame = close();
    if (!frame) return;
    reportIfItCounts(*frame);
    leave(*frame);
  }
  /// The innermost op ends and is recorded as an op. `currentBytes` is current allocated now, -1
  /// where it is not known.
  void end(std::int64_t currentBytes) {
    const Frame* frame = close();
    if (!frame) return;
    recordOp(*frame, currentBytes);
    reportIfItCounts(*frame);
    leave(*frame);
  }

  [[nodiscard]] std::uint32_t depth() const { return depth_; }

 private:
  /// What an op is; the lower ones hold for all that runs inside of it too.
  enum Flag : std::uint8_t {
    kInsideWait = 1,      // it is in an op that waits already
    kInsideFallback = 2,  // it is in an op that fell back already
    kWaits = 4,
    kFellBack = 8,
    kBackwardNode = 16,
  };

  struct alignas(64) Frame {
    NameCache::Entry* name = nullptr;
    std::int64_t beginNs = 0;  // of an op that is neither judged nor recorded: kNotTimed
    ModuleId module = kNoId;
    std::uint8_t flags = 0;
    std::uint8_t inner = 0;  // the flags of what runs inside
    OpDetail detail;         // only of an op that is recorded
    // Only of an op that waits or fell back:
    OpWait wait;
    std::int64_t fallbackWaitNs = 0;
    std::uint64_t bytesToCpu = 0;
    std::uint64_t bytesToDevice = 0;
    NameCache::Entry ownName;  // where the cache could not keep it
  };
  static constexpr std::int64_t kNotTimed = -1;

  [[nodiscard]] static bool isJudged(const NameCache::Entry& name) {
    return name.tag != static_cast<std::uint8_t>(OpTag::kOther);
  }
  /// A new frame, open for others to see since `openSinceNs`; nullptr where the stack is too deep
  /// to keep it.
  Frame* push(NameCache::Entry& name, std::int64_t openSinceNs, std::int64_t beginNs);
  /// The same of any op.
  Frame* open(NameCache::Entry& name, const OpLink& link, bool recorded);
  [[nodiscard]] ModuleId enterModule(const OpLink& link);
  void findRing(std::uint64_t thread);
  /// The op that ends, off the stack; nullptr where there is none, or none that was kept.
  [[nodiscard]] const Frame* close() {
    // Began before we looked: the innermost open span is then not an op's but a phase's.
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
  /// The innermost op is one whose name says that it may wait.
  void judge(const OpWait& wait);
  [[nodiscard]] Frame* fallbackOf(std::uint32_t depth);
  void noteFallback(std::uint32_t depth);
  /// A copy there or back: where a fallback waits for the device.
  [[nodiscard]] static bool isWaitOfFallback(const Frame& frame);
  /// The op that the user called: the outermost above `depth` within the same node of backward.
  [[nodiscard]] const Frame& calledOp(std::uint32_t depth) const;
  void report(const Frame& frame);
  void pushFallback(const Frame& frame, std::int64_t lengthNs, CallSiteId site);
  void pushSyncPoint(const Frame& frame, std::int64_t lengthNs, CallSiteId site);
  void recordOp(const Frame& frame, std::int64_t currentBytes);

  // What each op looks at comes first, in one cache line with the begin of the names.
  alignas(64) Recorder& recorder_;
  ThreadLane& lane_;
  SequenceModules::Ring* sequences_ = nullptr;  // from the first op in a module on
  std::uint32_t depth_ = 0;
  std::uint32_t backwardNodes_ = 0;  // of the frames
  NameCache cache_;
  std::array<Frame, kMaxDepth> frames_{};
  ShapeTexts shapeTexts_;
  CallSiteCache callSites_;
};

// What runs at every op is here, for the compiler to put in line.

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
  // Outside of any module too: a number may have been seen in one that made no node.
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
  if (cache_.isPassing(name)) frame->name = &(frame->ownName = name);
  return frame;
}

}  // namespace highwater::probe
