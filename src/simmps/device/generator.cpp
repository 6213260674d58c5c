#include "simmps/device/generator.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Utils.h>
#include <c10/core/GeneratorImpl.h>

#include <atomic>

#include "simmps/device/device.h"
#include "simmps/policy/process_fork.h"

namespace highwater::simmps {
namespace {

class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(std::uint64_t seed)
      : DeviceGenerator(seed, at::detail::createCPUGenerator(seed)) {}
  DeviceGenerator(std::uint64_t seed, at::Generator inner)
      : c10::GeneratorImpl(c10::Device(c10::DeviceType::MPS, 0),
                           c10::DispatchKeySet(c10::DispatchKey::MPS)),
        inner_(std::move(inner)),
        seed_(seed),
        fork_(ForkOrder::Generator, {.inChild = [this] { beginAnewInChild(); }}) {}

  const at::Generator& inner() const { return inner_; }

  void set_current_seed(std::uint64_t seed) override {
    seed_ = seed;
    submitUpkeep("manual_seed", [inner = inner_, seed]() mutable {
      const std::lock_guard lock(inner.mutex());
      inner.set_current_seed(seed);
    });
  }
  // A Mersenne twister has no offset.
  void set_offset(std::uint64_t) override {}
  std::uint64_t get_offset() const override { return 0; }
  std::uint64_t current_seed() const override { return seed_; }
  std::uint64_t seed() override {
    const std::uint64_t random = c10::detail::getNonDeterministicRandom();
    set_current_seed(random);
    return random;
  }
  void set_state(const c10::TensorImpl& state) override {
    drainDevice(DrainCause::Generator);
    at::detail::check_rng_state(state);
    TORCH_CHECK(state.numel() == inner_.unsafeGetGeneratorImpl()->get_state()->numel(),
                "RNG state is wrong size");
    inner_.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    drainDevice(DrainCause::Generator);
    return inner_.unsafeGetGeneratorImpl()->get_state();
  }

 private:
  DeviceGenerator* clone_impl() const override {
    drainDevice(DrainCause::Generator);
    return new DeviceGenerator(seed_, inner_.clone());
  }

  // A job that was drawing numbers during the fork holds the inner generator's lock for ever, and
  // may have left its state half written.
  void beginAnewInChild() {
    if (deviceQueue().lostJobs()) inner_ = at::detail::createCPUGenerator(seed_);
  }

  at::Generator inner_;
  std::atomic<std::uint64_t> seed_;
  const ForkSteps fork_;
};

}  // namespace

const at::Generator& defaultGenerator() {
  static const auto* const generator = new at::Generator(
      at::make_generator<DeviceGenerator>(c10::detail::getNonDeterministicRandom()));
  return *generator;
}

at::Generator newGenerator() {
  return at::make_generator<DeviceGenerator>(c10::default_rng_seed_val);
}

at::Generator generatorForJobs(const at::Generator& given) {
  const at::Generator& source = given.defined() ? given : defaultGenerator();
  const auto* device = dynamic_cast<const DeviceGenerator*>(source.unsafeGetGeneratorImpl());
  TORCH_CHECK(device, "Expected a 'mps' device type for generator but found '",
              source.device().type(), "'");
  return device->inner();
}

}  // namespace highwater::simmps
