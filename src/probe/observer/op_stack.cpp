#include "probe/observer/op_stack.h"

#include <algorithm>

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

/// True for item() and bool(tensor): the user asked for the value itself.
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
      shapeTexts_(recorder.names()),
      callSites_(recorder.callSites()) {}

void OpStack::findRing(std::uint64_t thread) {
  sequences_ = recorder_.sequenceModules().ring(thread);
}

void OpStack::handleTagged(const OpWait& wait) {
  const std::uint32_t depth = depth_ - 1;
  Frame& frame = frames_[depth];
  const auto tag = static_cast<OpTag>(frame.name->tag);
  frame.wait = wait;
  if (tag == OpTag::kToCpu) {
    noteFallback(depth);
    return;
  }
  if (wait.kind == events::SyncKind::None) return;
  frame.flags |= kWaits;
  if (wait.blocks) frame.inner |= kInsideWait;
  const bool copyOfFallback = (frame.flags & (kInsideFallback | kInsideWait)) == kInsideFallback;
  if (copyOfFallback && wait.kind == events::SyncKind::CopyToDevice) {
    if (Frame* fallback = fallbackOf(depth)) fallback->bytesToDevice += wait.bytes;
  }
}

OpStack::Frame* OpStack::fallbackOf(std::uint32_t depth) {
  for (std::uint32_t i = depth; i-- > 0;) {
    if ((frames_[i].flags & kFellBack) != 0) return &frames_[i];
  }
  return nullptr;
}

void OpStack::noteFallback(std::uint32_t depth) {
  if (depth == 0) return;
  std::uint32_t outermost = depth - 1;
  const std::string_view base = baseName(frames_[outermost].name->text);
  while (outermost > 0 && baseName(frames_[outermost - 1].name->text) == base) --outermost;
  Frame& fallback = frames_[outermost];
  if ((fallback.flags & kFellBack) == 0) {
    fallback.flags |= kFellBack;
    fallback.fallbackWaitNs = 0;
    fallback.bytesToCpu = fallback.bytesToDevice = 0;
    fallback.name->marked = true;
    if (fallback.beginNs == kNotTimed) fallback.beginNs = frames_[depth].beginNs;
  }
  fallback.bytesToCpu += frames_[depth].wait.bytes;
  fallback.inner |= kInsideFallback;
  for (std::uint32_t i = outermost + 1; i <= depth; ++i) {
    frames_[i].flags |= kInsideFallback;
    frames_[i].inner |= kInsideFallback;
  }
}

void OpStack::recordOp(const Frame& frame, std::int64_t currentBytes) {
  // The op's begin is a valid lower bound for the times written.
  lane_.beginOpWrite(frame.beginNs);
  const std::int64_t nowNs = recorder_.now();
  const std::int64_t before = frame.detail.currentBytes;
  const std::int64_t grown = before < 0 ? 0 : std::max<std::int64_t>(currentBytes - before, 0);
  lane_.pushOp(frame.beginNs, Recorder::lengthNs(frame.beginNs, nowNs), currentBytes,
               static_cast<std::uint64_t>(grown), recorder_.step(), frame.name->id, frame.module,
               frame.detail.shapes, lane_.id(), static_cast<std::uint16_t>(depth_),
               recorder_.phase(), static_cast<std::uint8_t>(backwardNodes_ > 0));
  lane_.endWrite();
}

bool OpStack::isWaitOfFallback(const Frame& frame) {
  return (frame.flags & (kInsideFallback | kInsideWait)) == kInsideFallback && frame.wait.blocks &&
         isCopy(frame.wait.kind);
}

const OpStack::Frame& OpStack::calledOp(std::uint32_t depth) const {
  while (depth > 0 && (frames_[depth - 1].flags & kBackwardNode) == 0) --depth;
  return frames_[depth];
}

void OpStack::report(const Frame& frame) {
  const bool waits = (frame.flags & kWaits) != 0;
  if (waits && isWaitOfFallback(frame)) {
    if (Frame* fallback = fallbackOf(depth_)) {
      fallback->fallbackWaitNs += Recorder::lengthNs(frame.beginNs, recorder_.now());
    }
    return;
  }
  const bool fellBack = (frame.flags & kFellBack) != 0;
  const bool isInner = (frame.flags & (kInsideWait | kInsideFallback)) != 0;
  if (!fellBack && (!frame.wait.blocks || isInner)) return;
  lane_.beginWrite(recorder_.now());
  // Before the unwinding, which takes longer than some waits.
  const std::int64_t lengthNs = Recorder::lengthNs(frame.beginNs, recorder_.now());
  const CallSiteId site = callSites_.here();
  if (fellBack) {
    pushFallback(frame, lengthNs, site);
  } else {
    pushSyncPoint(frame, lengthNs, site);
  }
  lane_.endWrite();
}

void OpStack::pushFallback(const Frame& frame, std::int64_t lengthNs, CallSiteId site) {
  lane_.push(EventRecord(
      events::FallbackEvent(frame.beginNs, lengthNs, std::min(frame.fallbackWaitNs, lengthNs),
                            frame.bytesToCpu, frame.bytesToDevice, recorder_.step(), frame.name->id,
                            frame.module, site, lane_.id(), recorder_.phase())));
}

void OpStack::pushSyncPoint(const Frame& frame, std::int64_t lengthNs, CallSiteId site) {
  events::SyncKind kind = frame.wait.kind;
  NameId op = frame.name->id;
  if (!isCopy(kind)) {
    const NameCache::Entry& called = *calledOp(depth_).name;
    const bool plain = kind == events::SyncKind::ScalarRead && isPlainRead(called.text);
    if (!plain) op = called.id;
    if (!plain && kind == events::SyncKind::ScalarRead) kind = events::SyncKind::ValueRead;
  }
  const events::Phase phase = recorder_.phase();
  const bool deliberate = recorder_.deliberate() || isDeliberate(kind, phase);
  lane_.push(EventRecord(events::SyncPoint(frame.beginNs, lengthNs, frame.wait.bytes,
                                           recorder_.step(), op, frame.module, site, lane_.id(),
                                           kind, phase, static_cast<std::uint8_t>(deliberate))));
}

}  // namespace highwater::probe
