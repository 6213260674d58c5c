#include <ATen/record_function.h>

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "simmps/check_mps.h"

// Counters, out of memory, fallback, events: the device's interfaces to PyTorch.
namespace {

using at::Tensor;
using checks::bytesOnDevice;
using checks::hooks;
using checks::kMiB;
using checks::kMps;

/// Names of observed ops, indented by depth, on any thread.
class Observed {
 public:
  Observed() {
    seen().clear();
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&start, &end).scopes({at::RecordScope::FUNCTION}));
  }
  ~Observed() { at::removeCallback(handle_); }

  static std::vector<std::string>& seen() {
    static std::vector<std::string> names;
    return names;
  }

 private:
  static std::unique_ptr<at::ObserverContext> start(const at::RecordFunction& function) {
    const std::lock_guard lock(mutex());
    seen().push_back(std::string(depth()++, ' ') + function.name());
    return nullptr;
  }
  static void end(const at::RecordFunction&, at::ObserverContext*) { --depth(); }
  static int& depth() {
    static thread_local int value = 0;
    return value;
  }
  static std::mutex& mutex() {
    static std::mutex value;
    return value;
  }

  at::CallbackHandle handle_;
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  for (const auto& each : names) {
    if (each == name) return true;
  }
  return false;
}

Tensor leakyRelu(const Tensor& x) {
  Tensor noise = at::empty_like(x);
  return at::rrelu_with_noise(x, noise, 0.1, 0.3, /*training=*/false);
}

}  // namespace

bool checks::askForMps() {
  return hooks().hasMPS();
}

std::size_t checks::settledMemory() {
  hooks().deviceSynchronize();
  return hooks().getCurrentAllocatedMemory();
}

CHECK_CASE(secondDeviceIsRefused) {
  // A copy of the library stands for any backend that has registered MPS hooks.
  void* copy = dlopen(std::getenv("SIMMPS_COPY"), RTLD_NOW);
  REQUIRE(copy != nullptr);
  const auto error = reinterpret_cast<const char* (*)()>(dlsym(copy, "highwater_simmps_error"))();
  REQUIRE(error && std::string(error).find("MPS hooks exist already") == 0);
  REQUIRE_EQUAL(at::ones({3}, at::TensorOptions().device(kMps)).sum().item<float>(), 3);
}

CHECK_CASE(countersAreExact) {
  REQUIRE_EQUAL(hooks().getCurrentAllocatedMemory(), 0u);
  REQUIRE_EQUAL(hooks().getDriverAllocatedMemory(), 0u);
  Tensor small = bytesOnDevice(1000);
  REQUIRE_EQUAL(hooks().getCurrentAllocatedMemory(), 1024u);
  REQUIRE_EQUAL(hooks().getDriverAllocatedMemory(), std::size_t(8 * kMiB));
  Tensor large = bytesOnDevice(4 * kMiB);
  REQUIRE_EQUAL(hooks().getCurrentAllocatedMemory(), std::size_t(4 * kMiB + 1024));
  REQUIRE_EQUAL(hooks().getDriverAllocatedMemory(), std::size_t(40 * kMiB));
  large = Tensor();
  REQUIRE_EQUAL(hooks().getCurrentAllocatedMemory(), 1024u);
  REQUIRE_EQUAL(hooks().getDriverAllocatedMemory(), std::size_t(40 * kMiB));
  hooks().emptyCache();
  REQUIRE_EQUAL(hooks().getDriverAllocatedMemory(), std::size_t(8 * kMiB));
  Tensor views = small.view({10, 100}).t();
  REQUIRE_EQUAL(hooks().getCurrentAllocatedMemory(), 1024u);
  REQUIRE_EQUAL(hooks().getRecommendedMaxMemory(), std::size_t(64 * kMiB));
}

CHECK_CASE(hostScalarsPassThroughTheDevice) {
  const Tensor x = at::ones({8}, at::TensorOptions().device(kMps));
  const auto current = hooks().getCurrentAllocatedMemory();
  Tensor factor = at::scalar_tensor(3), sum = x.mul(factor);
  factor.fill_(5);  // the job has a copy
  REQUIRE_EQUAL(sum.sum().item<float>(), 24);
  sum = Tensor();
  hooks().deviceSynchronize();
  REQUIRE_EQUAL(hooks().getCurrentAllocatedMemory(), current);
  REQUIRE_EQUAL(hooks().getDriverAllocatedMemory(), std::size_t(2 * 8 * kMiB));
}

#if HIGHWATER_TORCH_AT_LEAST(2, 9)
CHECK_CASE(deviceStatisticsKeepPeaks) {
  auto* allocator = c10::getDeviceAllocator(at::kMPS);
  { const Tensor passing = bytesOnDevice(3 * kMiB); }
  const Tensor kept = bytesOnDevice(1 * kMiB);
  auto stats = allocator->getDeviceStats(0);
  REQUIRE_EQUAL(stats.allocated_bytes[0].peak, 4 * kMiB - 1 * kMiB);
  REQUIRE_EQUAL(stats.allocated_bytes[0].current, 1 * kMiB);
  REQUIRE_EQUAL(stats.reserved_bytes[0].current, 40 * kMiB);
  allocator->resetPeakStats(0);
  stats = allocator->getDeviceStats(0);
  REQUIRE_EQUAL(stats.allocated_bytes[0].peak, 1 * kMiB);
  REQUIRE_EQUAL(stats.allocated_bytes[0].allocated, 4 * kMiB);
}
#endif

CHECK_CASE(nthAllocationIsRefused) {
  // HIGHWATER_SIM_OOM_AT=2
  const Tensor first = bytesOnDevice(100);
  checks::thrown<c10::OutOfMemoryError>([] { bytesOnDevice(100); });
  REQUIRE_EQUAL(bytesOnDevice(100).numel(), 100);
}

CHECK_CASE(outOfMemoryHasPyTorchsText) {
  // The limit is 1.7 x 64 MiB = 108.80 MiB.
  const Tensor kept = bytesOnDevice(40 * kMiB);
  const auto text = checks::thrown<c10::OutOfMemoryError>([] { bytesOnDevice(80 * kMiB); });
  const std::string expected =
      "MPS backend out of memory (MPS allocated: 40.00 MiB, other allocations: 0 bytes, max "
      "allowed: 108.80 MiB). Tried to allocate 80.00 MiB on shared pool. Use "
      "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may "
      "cause system failure).";
  if (text.find(expected) != 0) throw checks::Failed(text);
  // Nothing was lost, and requests that fit still succeed.
  REQUIRE_EQUAL(hooks().getCurrentAllocatedMemory(), std::size_t(40 * kMiB));
  REQUIRE_EQUAL(bytesOnDevice(60 * kMiB).numel(), 60 * kMiB);
  const auto huge = checks::thrown<c10::Error>([] { bytesOnDevice(std::int64_t(1) << 50); });
  REQUIRE(huge.find("Invalid buffer size: 1048576.00 GiB") == 0);
}

CHECK_CASE(outOfMemoryMayBeAPlainError) {
  // HIGHWATER_SIM_OOM_ERROR=plain
  try {
    bytesOnDevice(200 * kMiB);
  } catch (const c10::Error& error) {
    REQUIRE(typeid(error) == typeid(c10::Error));
    REQUIRE(std::string(error.what()).find("MPS backend out of memory (MPS allocated: ") == 0);
    return;
  }
  throw checks::Failed("nothing was thrown");
}

CHECK_CASE(heapsMayPassTheHighWatermark) {
  // HIGHWATER_SIM_LIMIT=requests: 20 MiB of the allowed 108.80 MiB get a heap of 1 GiB, as on a
  // Mac, and nothing else is left.
  const Tensor kept = bytesOnDevice(20 * kMiB);
  REQUIRE_EQUAL(hooks().getDriverAllocatedMemory(), std::size_t(1024 * kMiB));
  const auto text = checks::thrown<c10::OutOfMemoryError>([] { bytesOnDevice(1); });
  REQUIRE(text.find("MPS backend out of memory (MPS allocated: 1024.00 MiB, ") == 0);
}

CHECK_CASE(outOfMemoryWithoutLimit) {
  // PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0: far over the recommended max is allowed.
  const Tensor kept = bytesOnDevice(200 * kMiB);
  REQUIRE_EQUAL(hooks().getCurrentAllocatedMemory(), std::size_t(200 * kMiB));
}

CHECK_CASE(outOfMemoryComesOutOfBackward) {
  Tensor x = at::ones({1000, 1000}, at::TensorOptions().device(kMps)).requires_grad_();
  std::vector<Tensor> kept;
  const Tensor y = x.exp().exp();
  checks::thrown<c10::OutOfMemoryError>([&] {
    for (;;) kept.push_back(at::empty({1000, 1000}, y.detach().options()));
  });
  checks::thrown<c10::OutOfMemoryError>([&] { y.sum().backward(); });
  kept.clear();
  x.exp().sum().backward();
  REQUIRE_EQUAL(x.grad().numel(), 1000000);
}

CHECK_CASE(missingOpIsNotImplemented) {
  const Tensor x = at::ones({4}, at::TensorOptions().device(kMps));
  const auto text = checks::thrown<c10::NotImplementedError>([&] { leakyRelu(x); });
  REQUIRE(
      text.find("The operator 'aten::rrelu_with_noise' is not currently implemented for the MPS "
                "device. If you want this op to be considered for addition please comment on "
                "https://github.com/pytorch/pytorch/issues/141287") == 0);
  REQUIRE(text.find("`PYTORCH_ENABLE_MPS_FALLBACK=1`") != std::string::npos);
}

CHECK_CASE(missingOpFallsBack) {
  const Tensor host = at::randn({8, 8}), x = host.to(kMps);
  Tensor result;
  {
    const Observed observed;
    result = leakyRelu(x);
    REQUIRE(contains(Observed::seen(), "aten::rrelu_with_noise"));
    REQUIRE(contains(Observed::seen(), " aten::_to_cpu"));
  }
  REQUIRE(result.is_mps());
  REQUIRE(at::equal(result.cpu(), leakyRelu(host)));
}

CHECK_CASE(opsCanBeRemoved) {
  // HIGHWATER_SIM_MISSING_OPS=gelu,aten::native_layer_norm; the device has its own kernel for the
  // latter.
  const Tensor x = at::ones({2, 4}, at::TensorOptions().device(kMps));
  const auto gelu = checks::thrown<c10::NotImplementedError>([&] { at::gelu(x); });
  REQUIRE(gelu.find("The operator 'aten::gelu' is not currently implemented") == 0);
  const auto norm = checks::thrown<c10::NotImplementedError>([&] { at::layer_norm(x, {4}); });
  REQUIRE(norm.find("The operator 'aten::native_layer_norm' is not") == 0);
  REQUIRE_EQUAL(at::relu(x).sum().item<float>(), 8);
}

CHECK_CASE(removedOpsFallBack) {
  const Tensor host = at::randn({2, 4}), x = host.to(kMps).requires_grad_();
  const Tensor reference = host.clone().requires_grad_();
  at::gelu(x).sum().backward();
  at::gelu(reference).sum().backward();
  REQUIRE(at::equal(x.grad().cpu(), reference.grad()));
}

CHECK_CASE(someOpsAlwaysFallBack) {
  const Tensor host = at::randn({10, 4}).mul(5), tokens = at::tensor({1, 3, 3, 7}, at::kLong);
  Tensor weights = host.to(kMps), reference = host.clone();
  {
    const Observed observed;
    at::embedding_renorm_(weights, tokens.to(kMps), 1.0, 2.0);
    REQUIRE(contains(Observed::seen(), "aten::embedding_renorm_"));
    REQUIRE(contains(Observed::seen(), " aten::_to_cpu"));
    REQUIRE(contains(Observed::seen(), " aten::_copy_from_and_resize"));
  }
  at::embedding_renorm_(reference, tokens, 1.0, 2.0);
  REQUIRE(at::equal(weights.cpu(), reference));
  const auto [u, s, vh] = at::linalg_svd(host.to(kMps), /*full_matrices=*/false);
  REQUIRE(u.is_mps() && at::allclose(u.mul(s).matmul(vh).cpu(), host, 1e-4, 1e-4));
}

CHECK_CASE(deviceWorkIsNotObserved) {
  const Tensor a = at::randn({64, 64}).to(kMps);
  const Observed observed;
  const Tensor product = a.mm(a);
  const Tensor normed = std::get<0>(at::native_layer_norm(a, {64}, {}, {}, 1e-5));
  const Tensor dropped = std::get<0>(at::native_dropout(a, 0.5, true));
  hooks().deviceSynchronize();
  // Only what the process called, and the results that libtorch's composites allocate for it.
  const std::set<std::string> expected = {"aten::mm", "aten::empty", "aten::empty_strided",
                                          "aten::native_layer_norm", "aten::native_dropout"};
  REQUIRE(contains(Observed::seen(), "aten::native_dropout"));
  for (const std::string& name : Observed::seen()) {
    REQUIRE_EQUAL(expected.count(name.substr(name.find_first_not_of(' '))), 1u);
  }
}

CHECK_CASE(eventsFollowTheQueue) {
  const auto first = hooks().acquireEvent(true), second = hooks().acquireEvent(true);
  const Tensor a = at::randn({400, 400}).to(kMps);
  hooks().recordEvent(first);
  const Tensor product = a.mm(a).mm(a);
  hooks().recordEvent(second);
  REQUIRE(hooks().elapsedTimeOfEvents(first, second) > 0);
  REQUIRE(hooks().queryEvent(second));
  hooks().releaseEvent(first);
  hooks().releaseEvent(second);
  checks::thrown<c10::Error>([&] { hooks().queryEvent(second); });
}

CHECK_CASE(releaseWaitsForTheQueue) {
  // A tensor is freed while jobs still read it: emptying the cache must not release its memory.
  const Tensor host = at::randn({1500, 1500});
  Tensor result;
  {
    const Tensor a = host.to(kMps);
    result = a.mm(a).mm(a);
  }
  hooks().emptyCache();
  REQUIRE(at::equal(result.cpu(), host.mm(host).mm(host)));
}
