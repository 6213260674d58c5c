#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/ids.h"
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
  NameId shapes = kNoId;  ///< the text of its arguments' shapes
  bool onDevice = false;  ///< one of its arguments is on `mps`
};

/// What is known of an op only when it has returned.
struct OpResult {
  std::int64_t currentBytes = -1;  ///< current allocated, -1 where it is not known
  std::uint64_t outputBytes = 0;   ///< the largest tensor that it returned
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
/// An op of forward belongs to the module that its thread is in. A node of backward belongs to the
/// module whose op made it, and so does what runs in the node.
class OpStack {
 public:
  static constexpr std::uint32_t kMaxDepth = 64;

  OpStack(Recorder& recorder, ThreadLane& lane);

  /// The id and tag of an op's name.
  [[nodiscard]] NameCache::Entry name(const char* text) { return cache_.find(text); }
  [[nodiscard]] ShapeTexts& shapeTexts() { return shapeTexts_; }

  /// An op begins. `wait` as far as its tensors tell; for kToCpu, bytes are those it moves.
  void begin(const NameCache::Entry& name, OpWait wait, const OpLink& link = {},
             const OpDetail& detail = {});
  /// The innermost op ends.
  void end() { end(nullptr); }
  /// The innermost op ends and is recorded as an op.
  void end(const OpResult& result) { end(&result); }

  /// OpDetail::onDevice of the innermost op.
  [[nodiscard]] bool onDevice() const {
    return depth_ > 0 && depth_ <= kMaxDepth && frames_[depth_ - 1].detail.onDevice;
  }
  [[nodiscard]] std::uint32_t depth() const { return depth_; }

 private:
  struct Frame {
    NameCache::Entry name;
    std::int64_t beginNs = 0;
    ModuleId module = kNoId;
    OpDetail detail;
    OpWait wait;
    bool isBackwardNode = false;
    bool insideWait = false;      // an ancestor waits already
    bool insideFallback = false;  // an ancestor fell back already
    bool fellBack = false;
    std::int64_t fallbackWaitNs = 0;
    std::uint64_t bytesToCpu = 0;
    std::uint64_t bytesToDevice = 0;
  };

  [[nodiscard]] ModuleId enterModule(const OpLink& link);
  [[nodiscard]] Frame* fallbackOf(std::uint32_t depth);
  void noteFallback(const Frame& toCpu);
  /// A copy there or back: where a fallback waits for the device.
  [[nodiscard]] static bool isWaitOfFallback(const Frame& frame);
  void end(const OpResult* result);
  /// The op that the user called: the outermost above `depth` within the same node of backward.
  [[nodiscard]] const Frame& calledOp(std::uint32_t depth) const;
  void report(const Frame& frame);
  void recordOp(const Frame& frame, const OpResult& result);

  Recorder& recorder_;
  ThreadLane& lane_;
  NameCache cache_;
  ShapeTexts shapeTexts_;
  std::array<Frame, kMaxDepth> frames_{};
  std::uint32_t depth_ = 0;
  std::uint32_t backwardNodes_ = 0;             // of the frames
  SequenceModules::Ring* sequences_ = nullptr;  // from the first op in a module on
};

}  // namespace highwater::probe
