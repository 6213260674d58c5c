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
  kStaged,             ///< aten::_linalg_svd, aten::_linalg_eigh: since 2.14 some MPS kernels copy
                       ///< large matrices to the CPU by themselves
  kReader,             ///< an op made of others that reads values, such as aten::where(mask):
                       ///< it does not wait itself, but gives the wait its name
};
/// Returns the tag of the op with that name, for example kCopy for "aten::copy_".
[[nodiscard]] OpTag opTag(std::string_view name);
/// Returns whether the overload of an op can make the host wait, itself or by an op that it calls:
/// of the ops with a tag, all but some overloads of kReader.
[[nodiscard]] bool mayWait(std::string_view name, std::string_view overload);
/// Returns the name without the underscore of an in-place op: "aten::add_" and "aten::add" are one
/// op to the user.
[[nodiscard]] std::string_view baseName(std::string_view name);

/// Whether and why an op makes the host wait, derived from its name and the devices of its tensors.
/// `bytes` is what the host waits for. kind None: the op does not wait. For kToCpu, the kind is
/// Fallback and the bytes are those moved to the CPU. For kStaged, the kind is Fallback where its
/// matrix is on the CPU, and the bytes are the matrix's, 0 where it is on neither device.
struct OpWait {
  events::SyncKind kind = events::SyncKind::None;
  std::uint64_t bytes = 0;
  bool blocks = true;  ///< false for a non-blocking copy, which does not wait
};

/// Where an op is observed on its way through PyTorch, from the outside in. The first one that sees
/// an op begins and ends it, and the other lets it pass.
enum class OpLayer : std::uint8_t {
  kCallback,  ///< a RecordFunction callback, at the probe level `ops`
  kDispatch,  ///< a kernel of WatchedOps
};

/// Details of an op that are read only at the probe level `ops`.
struct OpDetail {
  NameId shapes = kNoId;           ///< text of the arguments' shapes
  std::int64_t currentBytes = -1;  ///< current allocated when the op began; -1: unknown
};

/// One thread's stack of open ops; decides which of them were sync points or fallbacks. At the
/// probe level `monitor` only watched ops are on it (see WatchedOps), at `ops` all are. Both find
/// the same waits and fallbacks under the same names, because ops that are not watched never
/// matter.
///
/// An op with a direct `aten::_to_cpu` child fell back to the CPU (native::cpu_fallback; nothing
/// else in PyTorch's MPS code calls it). The fallback is reported once, however often it calls
/// _to_cpu, as the outermost ancestor of that name (functional, then `.out`). An op tagged kStaged
/// also fell back if it calls itself on CPU tensors. Of nested ops that wait, the outermost is
/// reported; waits inside a fallback are part of the fallback. A wait for values is attributed to
/// the outermost watched op that the user called: a scalar read inside aten::masked_fill is that
/// op's ValueRead, a nonzero inside aten::where is that op's.
///
/// A forward op belongs to its thread's current module. A backward node belongs to the module whose
/// op created it, and so does everything that runs in the node: Recorder::currentModule().
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
  /// Returns true for an op that cannot wait by its name.
  [[nodiscard]] static bool isOrdinary(const NameCache::Entry& name) {
    return name.tag == static_cast<std::uint8_t>(OpTag::kOther);
  }
  /// Forgets the addresses of all names. Call it when an operator was deregistered, because another
  /// name may then be at the same address. Ops may be open.
  void forgetNameAddresses() { cache_.forgetAddresses(); }
  /// This thread's cache of shape texts.
  [[nodiscard]] ShapeTexts& shapeTexts() { return shapeTexts_; }

  /// Returns true where an op of this name that a kernel of WatchedOps sees now is the innermost
  /// open op, begun by a callback: it must not begin again. Notes that it has come to the kernel.
  /// `from` is as for begin().
  [[nodiscard]] bool passes(const NameCache::Entry& name, const void* from);

  /// Begins a watched op, which is not recorded itself; only a wait or a fallback is. `wait` is
  /// what its tensors tell, and is ignored for ops tagged kOther. `mayFallBack` is true for an op
  /// that PyTorch may run on the CPU: only such an op is the parent of an `aten::_to_cpu`. `from`
  /// is the return address of the kernel that observes the op: the user's frames are outside of it.
  void begin(NameCache::Entry& name, OpLayer layer, const OpWait& wait, bool mayFallBack,
             const void* from = nullptr) {
    Frame* frame = push(name, layer);
    if (!frame) return;
    frame->from = from;
    if (mayFallBack) frame->flags |= kMayFallBack;
    if (!isOrdinary(name)) handleTagged(wait);
  }
  /// Begins a forward op for which isOrdinary() is true and whose name is permanent, and whose own
  /// span end(currentBytes) is to record, with `detail`: the fast path that nearly all ops take at
  /// the probe level `ops`. An op nested deeper than kMaxDepth is not recorded.
  void beginOrdinary(NameCache::Entry& name, const OpDetail& detail) {
    if (Frame* frame = push(name, OpLayer::kCallback)) {
      frame->flags |= kMayFallBack | kByCallback;
      frame->module = lane_.modules().current();
      frame->detail = detail;
    }
  }
  /// Begins a call that is no op and makes the host wait, such as torch.mps.synchronize(). end()
  /// ends and records it; waits inside it are part of it.
  void beginCall(NameCache::Entry& name, events::SyncKind kind);
  /// Begins an op or a backward node whose own span end(currentBytes) is to record, with `detail`
  /// (probe level `ops`). `wait` is what its tensors tell, and is ignored for ops tagged kOther.
  void beginRecorded(NameCache::Entry& name, const OpWait& wait, bool isBackwardNode,
                     const OpDetail& detail);
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
    kMayFallBack = 32,
    kStagedOnDevice = 64,  // tagged kStaged, with its matrix on the device
    kByCallback = 128,     // begun by a callback, which also ends it
  };

  struct alignas(64) Frame {
    NameCache::Entry* name = nullptr;
    std::int64_t beginNs = 0;
    ModuleId module = kNoId;  // recorded ops only
    std::uint8_t flags = 0;
    std::uint8_t inner = 0;              // flags that the ops inside it inherit
    OpLayer layer = OpLayer::kCallback;  // the innermost that the op has come to
    OpDetail detail;                     // recorded ops only
    const void* from = nullptr;          // return address of the observing kernel
    // Only for an op that waits, fell back or is staged:
    OpWait wait;
    std::int64_t fallbackWaitNs = 0;
    std::uint64_t bytesToCpu = 0;
    std::uint64_t bytesToDevice = 0;
    NameCache::Entry ownName;  // copy of a transient cache entry
  };

  /// Pushes a frame; nullptr where the stack is too deep to keep it.
  Frame* push(NameCache::Entry& name, OpLayer layer);
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
    if (blockedBy_ > depth_) endBlocked();
    if ((frame.flags & kBackwardNode) == 0) return;
    lane_.modules().leave();
    --backwardNodes_;
  }
  /// The op at `depth` makes its thread wait, or runs on the CPU.
  void beginBlocked(std::uint32_t depth) {
    if (blockedBy_ == 0 && recorder_.beginBlocked(lane_)) blockedBy_ = depth + 1;
  }
  void endBlocked() {
    blockedBy_ = 0;
    recorder_.endBlocked();
  }
  /// Handles a tagged op that has just begun.
  void handleTagged(const OpWait& wait);
  void handleStaged(const OpWait& wait);
  /// Where the copies of a fallback at `depth` are counted: the frame of the innermost op around it
  /// that fell back or may still turn out to have.
  [[nodiscard]] Frame* fallbackOf(std::uint32_t depth);
  void noteFallback(std::uint32_t depth);
  /// True for a copy between CPU and device inside a fallback: the part of it that waits.
  [[nodiscard]] static bool isWaitOfFallback(const Frame& frame);
  /// The op that the user called: the outermost watched one around the frame at `depth`, or that
  /// frame itself, within the same backward node.
  [[nodiscard]] const Frame& calledOp(std::uint32_t depth) const;
  /// Counts the wait of an inner op as one of the staged op around it, if there is one.
  void noteWaitOfStaged(const Frame& frame);
  /// The return address of the outermost observing kernel that runs now, within the same backward
  /// node: of the op at `depth`, which ends, or of one around it. nullptr where there is none.
  [[nodiscard]] const void* outermostKernel(std::uint32_t depth) const;
  void report(const Frame& frame);
  void pushFallback(const Frame& frame, std::int64_t lengthNs, CallSiteId site);
  void pushSyncPoint(const Frame& frame, std::int64_t lengthNs, CallSiteId site);
  void recordOp(const Frame& frame, std::int64_t currentBytes);

  // What every op reads comes first, in one cache line with the start of the name cache.
  alignas(64) Recorder& recorder_;
  ThreadLane& lane_;
  std::uint32_t depth_ = 0;
  std::uint32_t backwardNodes_ = 0;  // how many frames are backward nodes
  std::uint32_t blockedBy_ = 0;      // 1 + the depth of the op that beginBlocked() named; 0: none
  NameCache cache_;
  std::array<Frame, kMaxDepth> frames_{};
  ShapeTexts shapeTexts_;
  CallSiteCache callSites_;
};

// The code that runs at every op is here, so that the compiler can inline it.

[[gnu::always_inline]] inline OpStack::Frame* OpStack::push(NameCache::Entry& name, OpLayer layer) {
  const std::int64_t beginNs = recorder_.now();
  lane_.openSpans().push(beginNs, name.id);
  const std::uint32_t depth = depth_++;
  if (depth >= kMaxDepth) return nullptr;
  Frame& frame = frames_[depth];
  frame.name = cache_.isTransient(name) ? &(frame.ownName = name) : &name;
  frame.beginNs = beginNs;
  frame.flags = frame.inner = depth > 0 ? frames_[depth - 1].inner : std::uint8_t{0};
  frame.layer = layer;
  frame.from = nullptr;
  return &frame;
}

}  // namespace highwater::probe
