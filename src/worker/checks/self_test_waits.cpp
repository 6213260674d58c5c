#include <algorithm>
#include <limits>

#include "probe/observer/op_stack.h"
#include "worker/checks/self_test.h"
#include "worker/checks/self_test_tools.h"

namespace highwater::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kWaitQueueMs = 80;
constexpr int kLeastTrials = 3;
constexpr int kMostTrials = 9;
/// Shares of the time until the queue is empty: an op that takes at least kWaited of it has waited,
/// one that takes at most kQueued has only been queued.
constexpr double kWaited = 0.8;
constexpr double kQueued = 0.3;

/// Tensors for the calls, created before anything is measured.
struct Material {
  at::Tensor x = at::rand({256}, onMps());
  at::Tensor y = x.clone();
  at::Tensor mask = x > 0.5;
  at::Tensor whole = at::ones({256}, onMps(at::kLong));
  at::Tensor scalar = at::full({}, 2.0, onMps());
  at::Tensor truth = at::full({}, 1, onMps(at::kBool));
  at::Tensor table = at::ones({16, 8}, onMps());
  at::Tensor rows = at::zeros({4}, onMps(at::kLong));
  at::Tensor host = at::rand({256});
  at::Tensor square = at::rand({64, 64}, onMps());
};

using Call = void (*)(Material&);

/// The time of a call and the time until the queue was empty: the shortest of each over some
/// trials. A busy machine only lengthens them, so the shortest are the least disturbed.
struct Share {
  double callMs = std::numeric_limits<double>::max();
  double queueMs = std::numeric_limits<double>::max();

  [[nodiscard]] double share() const { return callMs / queueMs; }
};

enum class Expected { kQueues, kWaits };

bool isClear(const Share& share, Expected expected) {
  return share.share() <= kQueued || (expected == Expected::kWaits && share.share() >= kWaited);
}

Share shareOf(Call call, Expected expected) {
  Material material;
  call(material);  // the first use compiles kernels
  synchronizeMps();
  QueueLoad load(kWaitQueueMs);
  Share best;
  for (int i = 0; i < kMostTrials && (i < kLeastTrials || !isClear(best, expected)); ++i) {
    load.submit();
    const auto begin = Clock::now();
    call(material);
    const double callMs = msSince(begin);
    synchronizeMps();
    best.callMs = std::min(best.callMs, callMs);
    best.queueMs = std::min(best.queueMs, msSince(begin));
  }
  return best;
}

std::vector<Measure> measuresOf(const Share& share) {
  return {{"call", share.callMs, "ms"},
          {"until the queue was empty", share.queueMs, "ms"},
          {"share", share.share(), ""}};
}

CheckResult queues(Call call) {
  const Share share = shareOf(call, Expected::kQueues);
  const auto measures = measuresOf(share);
  if (share.queueMs < kWaitQueueMs / 4) return unknown("the queue was empty too soon", measures);
  if (share.share() <= kQueued) return passed("was queued and did not wait", measures);
  if (share.share() >= kWaited) return failed("took as long as the queue", measures);
  return unknown("took part of the queue's time", measures);
}

/// Whether a wait shows as an op to an observer.
enum class Shows { kOp, kNoOp };

/// A call that the probe counts as a wait.
struct WaitingOp {
  const char* id;
  const char* what;
  Call call;
  bool simulatedDiffers = false;  ///< simulated kernels read the value on the device: no wait
  Shows shows = Shows::kOp;
};

const WaitingOp kWaiting[] = {
    {"item", "item()", [](Material& m) { (void)m.scalar.item<float>(); }},
    {"is-nonzero", "bool(tensor)", [](Material& m) { (void)m.truth.is_nonzero(); }},
    {"copy-to-host", "A blocking copy to the CPU", [](Material& m) { (void)m.x.to(at::kCPU); }},
    {"copy-to-device", "A blocking copy from the CPU", [](Material& m) { m.x.copy_(m.host); }},
    {"copy-and-resize", "aten::_copy_from_and_resize",
     [](Material& m) { at::_copy_from_and_resize(m.host, m.x); }},
    {"nonzero", "nonzero()", [](Material& m) { (void)at::nonzero(m.x); }},
    {"masked-select", "masked_select()", [](Material& m) { (void)m.x.masked_select(m.mask); }},
    {"mask-index", "Indexing by a mask", [](Material& m) { (void)m.x.index({m.mask}); }},
    {"mask-assign", "Assigning by a mask and a tensor of values",
     [](Material& m) { m.y.index_put_({m.mask}, m.scalar, /*accumulate=*/true); }},
    {"equal", "equal()", [](Material& m) { (void)at::equal(m.x, m.y); }},
    {"unique", "unique()", [](Material& m) { (void)at::_unique2(m.x); }},
    {"masked-fill", "masked_fill() with a tensor as value",
     [](Material& m) { m.y.masked_fill_(m.mask, m.scalar); }, true},
    {"fill", "fill_() with a tensor as value", [](Material& m) { m.y.fill_(m.scalar); }, true},
    {"multinomial", "multinomial()", [](Material& m) { (void)at::multinomial(m.x, 4); }, true},
    {"bincount", "bincount()", [](Material& m) { (void)at::bincount(m.whole); }},
    {"histogram", "histogram()", [](Material& m) { (void)at::histogram(m.x, 4); }, true},
    {"repeat-interleave", "repeat_interleave() with counts",
     [](Material& m) { (void)at::repeat_interleave(m.whole); }},
    {"lu", "The status of an LU decomposition",
     [](Material& m) { (void)at::linalg_lu_factor(m.square); }},
    {"fallback", "A fallback",
     [](Material& m) { at::embedding_renorm_(m.table, m.rows, 1.0, 2.0); }},
    {"synchronize", "synchronize()", [](Material&) { synchronizeMps(); }, false, Shows::kNoOp},
    {"event-synchronize", "Synchronizing an event",
     [](Material&) {
       const auto& hooks = mpsHooks();
       const auto event = hooks.acquireEvent(false);
       hooks.recordEvent(event);
       hooks.synchronizeEvent(event);
       hooks.releaseEvent(event);
     },
     false, Shows::kNoOp},
};

/// The first op of a call that the probe knows as a wait; empty: none.
std::string knownOpIn(Call call) {
  Material material;
  const auto ops = traceOps([&] { call(material); });
  const auto known = std::find_if(ops.begin(), ops.end(), [](const SeenOp& each) {
    return probe::opTag(each.name) != probe::OpTag::kOther;
  });
  return known == ops.end() ? std::string() : known->name;
}

CheckResult waits(const WaitingOp& op) {
  const Share share = shareOf(op.call, Expected::kWaits);
  const auto measures = measuresOf(share);
  if (share.queueMs < kWaitQueueMs / 4) return unknown("the queue was empty too soon", measures);
  if (share.share() <= kQueued) return failed("did not wait for the queue", measures);
  if (share.share() < kWaited) return unknown("took part of the queue's time", measures);
  const std::string waited = "took as long as the queue";
  if (op.shows == Shows::kNoOp) return passed(waited, measures);
  const std::string seen = knownOpIn(op.call);
  if (seen.empty()) {
    return failed(waited + ", but shows no op that the probe knows as a wait", measures);
  }
  return passed(waited + ", shown by " + seen, measures);
}

/// Ops that occur in every training step and need no value on the host.
void commonOps(Material& m) {
  at::Tensor t = at::mm(m.square, m.square);
  t = at::softmax(at::relu(t + m.square), 1).transpose(0, 1).reshape({-1});
  t.mul_(2.0);
  (void)t.sum();
  (void)at::embedding(m.table, m.rows);
  (void)at::cat({m.x, m.y});
  m.y.masked_fill_(m.mask, 1.0);
  m.y.fill_(0.5);
  (void)at::where(m.mask, m.x, m.y);
}

std::string reliedOnBy(const std::string& id) {
  if (id == "fallback") return "probe/op_stack (isWaitOfFallback)";
  if (id == "synchronize") return "probe/mps_device";
  if (id == "event-synchronize") return "probe/device_span_meter (which never does it)";
  return "probe/op_stack (opTag), probe/op_tensors (waitOf)";
}

}  // namespace

std::vector<SelfCheck> waitChecks() {
  std::vector<SelfCheck> checks;
  checks.push_back({"enqueue-common",
                    "Ops that need no value on the host are queued without waiting.",
                    "probe/op_stack (host time is enqueue time)",
                    {},
                    [] { return queues(&commonOps); },
                    {}});
  checks.push_back(
      {"enqueue-to-host",
       "A non-blocking copy to the CPU does not wait.",
       "probe/op_tensors (copyWait)",
       {},
       [] { return queues([](Material& m) { m.host.copy_(m.x, /*non_blocking=*/true); }); },
       {}});
  checks.push_back(
      {"enqueue-to-device",
       "A non-blocking copy from the CPU does not wait.",
       "probe/op_tensors (copyWait)",
       {},
       [] { return queues([](Material& m) { m.x.copy_(m.host, /*non_blocking=*/true); }); },
       {}});
  for (const WaitingOp& each : kWaiting) {
    checks.push_back({std::string("wait-") + each.id,
                      std::string(each.what) + " waits for the queue" +
                          (each.shows == Shows::kOp ? " and shows as a known op." : "."),
                      reliedOnBy(each.id),
                      {},
                      [op = each] { return waits(op); },
                      {},
                      each.simulatedDiffers});
  }
  return checks;
}

}  // namespace highwater::worker
