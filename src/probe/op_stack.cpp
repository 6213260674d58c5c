#include "probe/op_stack.h"

namespace highwater::probe {
namespace {

/// "aten::erfinv_" and "aten::erfinv" are one op to the user.
std::string_view baseName(std::string_view name) {
  while (!name.empty() && name.back() == '_') name.remove_suffix(1);
  return name;
}

std::uint8_t classify(std::string_view name) {
  return static_cast<std::uint8_t>(opTag(name));
}

/// What a scalar read is reached by where the user asked for nothing else: item(), bool(tensor).
bool isPlainRead(std::string_view name) {
  return name == "aten::_local_scalar_dense" || name == "aten::item" || name == "aten::is_nonzero";
}

bool isCopy(events::SyncKind kind) {
  return kind == events::SyncKind::CopyToHost || kind == events::SyncKind::CopyToDevice;
}

bool isDeliberate(events::SyncKind kind, events::Phase phase) {
  return (kind == events::SyncKind::CopyToDevice && phase == events::Phase::DeviceMove) ||
         (kind == events::SyncKind::ScalarRead && phase == events::Phase::LossRead);
}

}  // namespace

OpTag opTag(std::string_view name) {
  constexpr std::string_view kPrefix = "aten::";
  if (name.substr(0, kPrefix.size()) != kPrefix) return OpTag::kOther;
  name.remove_prefix(kPrefix.size());
  if (name == "_local_scalar_dense") return OpTag::kScalarRead;
  if (name == "copy_") return OpTag::kCopy;
  if (name == "_copy_from") return OpTag::kCopyFrom;
  if (name == "_copy_from_and_resize") return OpTag::kCopyFromAndResize;
  if (name == "nonzero" || name == "masked_select") return OpTag::kNonzero;
  if (name == "index" || name == "_index_put_impl_") return OpTag::kIndex;
  if (name == "equal") return OpTag::kEqual;
  if (name == "_unique" || name == "_unique2" || name == "unique_dim" ||
      name == "unique_consecutive" || name == "unique_dim_consecutive") {
    return OpTag::kUnique;
  }
  if (name == "bincount") return OpTag::kBincount;
  if (name == "repeat_interleave") return OpTag::kRepeats;
  if (name == "_to_cpu") return OpTag::kToCpu;
  return OpTag::kOther;
}

OpStack::OpStack(Recorder& recorder, ThreadLane& lane)
    : recorder_(recorder),
      lane_(lane),
      cache_(recorder.names(), &classify),
      shapeTexts_(recorder.names()) {}

ModuleId OpStack::enterModule(const OpLink& link) {
  ModuleStack& modules = lane_.modules();
  SequenceModules& sequences = recorder_.sequenceModules();
  if (link.isBackwardNode) {
    modules.enter(sequences.find(link.forwardThread, link.sequence));
    return modules.current();
  }
  const ModuleId module = modules.current();
  if (link.sequence < 0) return module;
  if (!sequences_ && module != kNoId) sequences_ = sequences.ring(link.forwardThread);
  // Outside of any module too: a number may have been seen in one that made no node.
  if (sequences_) sequences_->note(link.sequence, module);
  return module;
}

void OpStack::begin(const NameCache::Entry& name, OpWait wait, const OpLink& link,
                    const OpDetail& detail) {
  const std::int64_t nowNs = recorder_.now();
  lane_.openSpans().push(nowNs, name.id, recorder_.step(), recorder_.phase());
  const std::uint32_t depth = depth_++;
  if (depth >= kMaxDepth) return;

  // Each field by itself: the compiler clears a whole frame by a string instruction that starts
  // slowly.
  Frame& frame = frames_[depth];
  frame.name = name;
  frame.beginNs = nowNs;
  frame.detail = detail;
  frame.wait = wait;
  frame.isBackwardNode = link.isBackwardNode;
  frame.insideWait = frame.insideFallback = frame.fellBack = false;
  frame.fallbackWaitNs = 0;
  frame.bytesToCpu = frame.bytesToDevice = 0;
  if (link.isBackwardNode) ++backwardNodes_;
  frame.module = enterModule(link);
  if (depth > 0) {
    const Frame& parent = frames_[depth - 1];
    // _to_cpu is no wait itself, the copies in it are.
    const bool parentWaits = parent.wait.kind != events::SyncKind::None &&
                             parent.wait.kind != events::SyncKind::Fallback && parent.wait.blocks;
    frame.insideWait = parent.insideWait || parentWaits;
    frame.insideFallback = parent.insideFallback || parent.fellBack;
  }
  if (name.tag == static_cast<std::uint8_t>(OpTag::kToCpu)) {
    noteFallback(frame);
  } else if (frame.insideFallback && !frame.insideWait &&
             wait.kind == events::SyncKind::CopyToDevice) {
    if (Frame* fallback = fallbackOf(depth)) fallback->bytesToDevice += wait.bytes;
  }
}

OpStack::Frame* OpStack::fallbackOf(std::uint32_t depth) {
  for (std::uint32_t i = depth; i-- > 0;) {
    if (frames_[i].fellBack) return &frames_[i];
  }
  return nullptr;
}

void OpStack::noteFallback(const Frame& toCpu) {
  if (depth_ < 2) return;
  std::uint32_t outermost = depth_ - 2;
  const std::string_view base = baseName(frames_[outermost].name.text);
  while (outermost > 0 && baseName(frames_[outermost - 1].name.text) == base) --outermost;
  frames_[outermost].fellBack = true;
  frames_[outermost].bytesToCpu += toCpu.wait.bytes;
  for (std::uint32_t i = outermost + 1; i < depth_; ++i) frames_[i].insideFallback = true;
}

void OpStack::end(const OpResult* result) {
  // Began before we looked: the innermost open span is then not an op's but a phase's.
  if (depth_ == 0) return;
  lane_.openSpans().pop();
  if (--depth_ >= kMaxDepth) return;
  const Frame& frame = frames_[depth_];
  if (frame.fellBack || frame.wait.kind != events::SyncKind::None) report(frame);
  if (result) recordOp(frame, *result);
  if (frame.isBackwardNode) {
    lane_.modules().leave();
    --backwardNodes_;
  }
}

void OpStack::recordOp(const Frame& frame, const OpResult& result) {
  // Its begin serves: the time that is written is later than this call.
  lane_.beginWrite(frame.beginNs);
  const std::int64_t nowNs = recorder_.now();
  lane_.push(events::OpSpan(frame.beginNs, nowNs - frame.beginNs, result.currentBytes,
                            result.outputBytes, recorder_.step(), frame.name.id, frame.module,
                            frame.detail.shapes, lane_.id(), static_cast<std::uint16_t>(depth_),
                            recorder_.phase(), static_cast<std::uint8_t>(backwardNodes_ > 0)));
  lane_.endWrite();
}

bool OpStack::isWaitOfFallback(const Frame& frame) {
  return frame.insideFallback && !frame.insideWait && frame.wait.blocks && isCopy(frame.wait.kind);
}

const OpStack::Frame& OpStack::calledOp(std::uint32_t depth) const {
  while (depth > 0 && !frames_[depth - 1].isBackwardNode) --depth;
  return frames_[depth];
}

void OpStack::report(const Frame& frame) {
  if (isWaitOfFallback(frame)) {
    if (Frame* fallback = fallbackOf(depth_)) {
      fallback->fallbackWaitNs += recorder_.now() - frame.beginNs;
    }
    return;
  }
  if (frame.name.tag == static_cast<std::uint8_t>(OpTag::kToCpu)) return;
  const events::Phase phase = recorder_.phase();
  const std::uint32_t step = recorder_.step();
  if (frame.fellBack) {
    recorder_.record([&](std::int64_t nowNs) {
      return events::FallbackEvent(frame.beginNs, nowNs - frame.beginNs, frame.fallbackWaitNs,
                                   frame.bytesToCpu, frame.bytesToDevice, step, frame.name.id,
                                   frame.module, kNoId, lane_.id(), phase);
    });
    return;
  }
  events::SyncKind kind = frame.wait.kind;
  if (kind == events::SyncKind::None || !frame.wait.blocks || frame.insideWait ||
      frame.insideFallback) {
    return;
  }
  NameId op = frame.name.id;
  if (!isCopy(kind)) {
    const NameCache::Entry& called = calledOp(depth_).name;
    const bool plain = kind == events::SyncKind::ScalarRead && isPlainRead(called.text);
    if (!plain) op = called.id;
    if (!plain && kind == events::SyncKind::ScalarRead) kind = events::SyncKind::ValueRead;
  }
  recorder_.record([&](std::int64_t nowNs) {
    return events::SyncPoint(
        frame.beginNs, nowNs - frame.beginNs, frame.wait.bytes, step, op, frame.module, kNoId,
        lane_.id(), kind, phase,
        static_cast<std::uint8_t>(recorder_.deliberate() || isDeliberate(kind, phase)));
  });
}

}  // namespace highwater::probe
