#include "probe/observer/op_stack.h"

#include <algorithm>
#include <iterator>

namespace highwater::probe {
namespace {

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

/// `movesBatchesAnywhere` is as in Recorder.
bool isDeliberate(events::SyncKind kind, events::Phase phase, bool movesBatchesAnywhere) {
  const bool movesBatch =
      phase == events::Phase::DeviceMove || (phase == events::Phase::None && movesBatchesAnywhere);
  return (kind == events::SyncKind::CopyToDevice && movesBatch) ||
         (kind == events::SyncKind::ScalarRead && phase == events::Phase::LossRead);
}

constexpr std::string_view kPrefix = "aten::";

/// An op made of others that reads values.
struct Reader {
  std::string_view name;      ///< without "aten::"
  std::string_view overload;  ///< the only one that does; kAll: each
};
constexpr std::string_view kAll = "*";

/// Ops that read values in some version of PyTorch. A wait in an op that is missing here has the
/// name of the op inside it that waits.
constexpr Reader kReaders[] = {
    {"allclose", kAll},
    {"argwhere", kAll},
    {"cartesian_prod", kAll},
    {"combinations", kAll},
    {"corrcoef", kAll},
    {"cov", kAll},
    {"fill", "Tensor"},
    {"fill_", "Tensor"},
    {"histogram", kAll},
    {"histogramdd", kAll},
    {"index_put", kAll},
    {"index_put_", kAll},
    {"masked_fill", "Tensor"},
    {"masked_fill_", "Tensor"},
    {"multinomial", kAll},
    {"nanquantile", kAll},
    {"nonzero_numpy", kAll},
    {"one_hot", kAll},
    {"quantile", kAll},
    {"tensor_split", "tensor_indices_or_sections"},
    {"where", ""},
};

const Reader* findReader(std::string_view name) {
  const auto found = std::find_if(std::begin(kReaders), std::end(kReaders),
                                  [name](const Reader& each) { return each.name == name; });
  return found == std::end(kReaders) ? nullptr : found;
}

}  // namespace

OpTag opTag(std::string_view name) {
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
  if (name == "linalg_svd" || name == "_linalg_svd" || name == "linalg_eigh" ||
      name == "_linalg_eigh") {
    return OpTag::kStaged;
  }
  if (name == "repeat_interleave") return OpTag::kRepeats;
  if (name == "_to_cpu") return OpTag::kToCpu;
  return findReader(name) ? OpTag::kReader : OpTag::kOther;
}

bool mayWait(std::string_view name, std::string_view overload) {
  const OpTag tag = opTag(name);
  if (tag != OpTag::kReader) return tag != OpTag::kOther;
  const Reader& reader = *findReader(name.substr(kPrefix.size()));
  return reader.overload == kAll || reader.overload == overload;
}

std::string_view baseName(std::string_view name) {
  return name.substr(0, name.find_last_not_of('_') + 1);
}

OpStack::OpStack(Recorder& recorder, ThreadLane& lane)
    : recorder_(recorder),
      lane_(lane),
      cache_(recorder.names(), &classify),
      shapeTexts_(recorder.names()),
      callSites_(recorder.callSites()) {}

bool OpStack::passes(const NameCache::Entry& name, const void* from) {
  if (depth_ == 0 || depth_ > kMaxDepth) return false;
  Frame& innermost = frames_[depth_ - 1];
  if (innermost.layer != OpLayer::kCallback || innermost.name->text != name.text) return false;
  innermost.layer = OpLayer::kDispatch;
  innermost.from = from;
  return true;
}

void OpStack::beginRecorded(NameCache::Entry& name, const OpWait& wait, bool isBackwardNode,
                            const OpDetail& detail) {
  Frame* frame = push(name, OpLayer::kCallback);
  if (!frame) return;
  frame->flags |= kMayFallBack | kByCallback;
  ModuleStack& modules = lane_.modules();
  if (isBackwardNode) {
    frame->flags |= kBackwardNode;
    ++backwardNodes_;
    modules.enter(recorder_.currentModule(), recorder_.autograd().runningNode().node);
  }
  frame->module = modules.current();
  frame->detail = detail;
  if (!isOrdinary(name)) handleTagged(wait);
}

void OpStack::beginCall(NameCache::Entry& name, events::SyncKind kind) {
  Frame* frame = push(name, OpLayer::kDispatch);
  if (!frame) return;
  frame->wait = {kind};
  frame->flags |= kWaits;
  frame->inner |= kInsideWait;
  beginBlocked(depth_ - 1);
}

void OpStack::handleTagged(const OpWait& wait) {
  const std::uint32_t depth = depth_ - 1;
  Frame& frame = frames_[depth];
  frame.wait = wait;
  switch (static_cast<OpTag>(frame.name->tag)) {
    case OpTag::kToCpu:
      noteFallback(depth);
      return;
    case OpTag::kStaged:
      handleStaged(wait);
      return;
    default:
      break;
  }
  if (wait.kind == events::SyncKind::None) return;
  frame.flags |= kWaits;
  if (wait.blocks) {
    frame.inner |= kInsideWait;
    beginBlocked(depth);
  }
  if ((frame.flags & (kInsideFallback | kInsideWait)) != kInsideFallback) return;
  Frame* fallback = fallbackOf(depth);
  if (!fallback) return;
  if (wait.kind == events::SyncKind::CopyToDevice) fallback->bytesToDevice += wait.bytes;
  // What other fallbacks move to the CPU, aten::_to_cpu tells.
  const bool staged = (fallback->flags & kStagedOnDevice) != 0;
  if (wait.kind == events::SyncKind::CopyToHost && staged) fallback->bytesToCpu += wait.bytes;
}

void OpStack::handleStaged(const OpWait& wait) {
  const std::uint32_t depth = depth_ - 1;
  Frame& frame = frames_[depth];
  frame.wait = {};
  Frame* outer = (frame.flags & kInsideFallback) != 0 ? fallbackOf(depth) : nullptr;
  const bool isInStaged = outer && (outer->flags & kStagedOnDevice) != 0;
  if (wait.kind == events::SyncKind::Fallback) {
    if (isInStaged) outer->flags |= kFellBack;
  } else if (wait.bytes > 0 && !isInStaged) {
    frame.flags |= kStagedOnDevice;
    frame.inner |= kInsideFallback;  // perhaps: its end tells
    frame.fallbackWaitNs = 0;
    frame.bytesToCpu = frame.bytesToDevice = 0;
    beginBlocked(depth);
  }
}

OpStack::Frame* OpStack::fallbackOf(std::uint32_t depth) {
  for (std::uint32_t i = depth; i-- > 0;) {
    if ((frames_[i].flags & (kFellBack | kStagedOnDevice)) != 0) return &frames_[i];
  }
  return nullptr;
}

void OpStack::noteFallback(std::uint32_t depth) {
  const bool isUnwatched = depth == 0 || (frames_[depth - 1].flags & kMayFallBack) == 0;
  // The callbacks see all ops: here nobody but the user called it.
  if (isUnwatched && frames_[depth].layer == OpLayer::kCallback) return;
  std::uint32_t outermost = isUnwatched ? depth : depth - 1;
  const std::string_view base = baseName(frames_[outermost].name->text);
  while (outermost > 0 && baseName(frames_[outermost - 1].name->text) == base) --outermost;
  beginBlocked(outermost);
  Frame& fallback = frames_[outermost];
  if ((fallback.flags & kFellBack) == 0) {
    fallback.flags = (fallback.flags | kFellBack) & ~kStagedOnDevice;
    fallback.fallbackWaitNs = 0;
    fallback.bytesToCpu = fallback.bytesToDevice = 0;
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
  if (currentBytes > 0) recorder_.noteCounters(static_cast<std::uint64_t>(currentBytes), 0);
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
  const Frame* called = &frames_[depth];
  for (; depth > 0 && (frames_[depth - 1].flags & kBackwardNode) == 0; --depth) {
    if (!isOrdinary(*frames_[depth - 1].name)) called = &frames_[depth - 1];
  }
  return *called;
}

void OpStack::noteWaitOfStaged(const Frame& frame) {
  if ((frame.flags & kInsideFallback) == 0 || !frame.wait.blocks) return;
  Frame* staged = fallbackOf(depth_);
  if (!staged || (staged->flags & kStagedOnDevice) == 0) return;
  staged->flags |= kWaits;
  staged->wait = {events::SyncKind::ValueRead, staged->wait.bytes + frame.wait.bytes};
}

const void* OpStack::outermostKernel(std::uint32_t depth) const {
  // The callback that ends an op runs after the op's kernel.
  const Frame& ending = frames_[depth];
  const void* from = (ending.flags & kByCallback) != 0 ? nullptr : ending.from;
  for (; depth > 0 && (frames_[depth - 1].flags & kBackwardNode) == 0; --depth) {
    if (frames_[depth - 1].from) from = frames_[depth - 1].from;
  }
  return from;
}

void OpStack::report(const Frame& frame) {
  const bool waits = (frame.flags & kWaits) != 0;
  if (waits && isWaitOfFallback(frame)) {
    if (Frame* fallback = fallbackOf(depth_)) {
      fallback->fallbackWaitNs += Recorder::lengthNs(frame.beginNs, recorder_.now());
    }
    noteWaitOfStaged(frame);
    return;
  }
  const bool fellBack = (frame.flags & kFellBack) != 0;
  const bool isInner = (frame.flags & (kInsideWait | kInsideFallback)) != 0;
  if (!fellBack && (!frame.wait.blocks || isInner)) {
    noteWaitOfStaged(frame);
    return;
  }
  lane_.beginWrite(recorder_.now());
  // Before the unwinding, which takes longer than some waits.
  const std::int64_t lengthNs = Recorder::lengthNs(frame.beginNs, recorder_.now());
  const CallSiteId site = callSites_.here(outermostKernel(depth_), CallSites::From::kKernel);
  const bool isCopy = !fellBack && frame.wait.kind == events::SyncKind::CopyToDevice;
  if (isCopy && blockedBy_ != 0 && lane_.id() == recorder_.trainingThread()) {
    recorder_.noteCopyAt(site);
  }
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
                            recorder_.currentModule(), site, lane_.id(), recorder_.phase())));
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
  const bool deliberate =
      recorder_.deliberate() || isDeliberate(kind, phase, recorder_.movesBatchesAnywhere());
  lane_.push(EventRecord(events::SyncPoint(
      frame.beginNs, lengthNs, frame.wait.bytes, recorder_.step(), op, recorder_.currentModule(),
      site, lane_.id(), kind, phase, static_cast<std::uint8_t>(deliberate))));
}

}  // namespace highwater::probe
