// Runs a few ops, under the observer, on the device whose library is the first argument, and sends
// the probe's stream to stdout. A separate process, since torch and Qt headers do not mix.

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

#include "probe/observer/module_scope.h"
#include "probe/observer/op_observer.h"
#include "probe/readings/mps_device.h"
#include "probe/stream/frame_writer.h"
#include "probe/stream/sender.h"
#include "wire/limits.h"

using namespace highwater;
using namespace highwater::probe;

// Exported and not inlined: without debug information only such functions can be symbolized.
#define PLACE [[gnu::noinline, gnu::visibility("default")]]

namespace places {

/// Steps 9 to 12: all ops of a forward and backward in a module; the ops of a fallback; then a wait
/// at level off, and one at level monitor.
PLACE void runAtOtherLevels(Recorder& recorder, const at::Tensor& onDevice) {
  recorder.setStep(9);
  const at::Tensor weight = at::randn({3, 4}).to(onDevice.device()).set_requires_grad(true);
  at::Tensor loss;
  recorder.setLevel(events::ProbeLevel::Ops);
  recorder.setPhase(events::Phase::Forward);
  {
    const ModuleScope layers("layers");
    const ModuleScope first("0");
    loss = at::linear(onDevice, weight);
  }
  loss = loss.sum();
  recorder.setPhase(events::Phase::Backward);
  loss.backward();
  recorder.setPhase(events::Phase::None);
  recorder.setStep(10);
  (void)at::linalg_svd(onDevice, /*full_matrices=*/false);
  recorder.setLevel(events::ProbeLevel::Off);
  recorder.setStep(11);
  (void)onDevice.sum().item<float>();
  synchronizeDevice(recorder);
  recorder.setLevel(events::ProbeLevel::Monitor);
  recorder.setStep(12);
  (void)onDevice.sum().item<float>();
}

/// Steps 20 to 28: one op each that waits for values.
PLACE void runOpsThatReadValues(Recorder& recorder, const at::Tensor& onDevice) {
  const at::Tensor mask = onDevice.gt(0);
  const at::Tensor whole = onDevice.gt(0).to(at::kLong).flatten();
  at::Tensor target = onDevice.clone();
  recorder.setStep(20);
  (void)at::equal(onDevice, onDevice);
  recorder.setStep(21);
  (void)at::_unique2(whole);
  recorder.setStep(22);
  (void)at::unique_consecutive(whole);
  recorder.setStep(23);
  (void)at::bincount(whole);
  recorder.setStep(24);
  (void)onDevice.index({mask});
  recorder.setStep(25);
  (void)onDevice.masked_select(mask);
  recorder.setStep(26);
  (void)at::where(mask);
  recorder.setStep(27);
  (void)at::allclose(onDevice, onDevice);
  recorder.setStep(28);  // integer indices: nothing here waits
  (void)onDevice.index({whole});
  target.index_put_({whole}, onDevice.select(0, 0));
}

PLACE void runOps(Recorder& recorder) {
  const at::Device mps(at::kMPS, 0);
  const at::Tensor host = at::randn({6, 4});
  const at::Tensor onDevice = host.to(mps);
  const OpObserver observer(recorder);

  recorder.setStep(1);  // a fallback with three results
  (void)at::linalg_svd(onDevice, /*full_matrices=*/false);
  recorder.setStep(2);  // an in-place fallback
  at::Tensor weights = at::randn({10, 4}).to(mps);
  const at::Tensor tokens = at::tensor({1, 3, 3, 7}, at::kLong).to(mps);
  recorder.setStep(3);
  at::embedding_renorm_(weights, tokens, 1.0, 2.0);
  recorder.setStep(4);
  (void)onDevice.sum().item<float>();
  recorder.setStep(5);
  (void)onDevice.cpu();
  recorder.setStep(6);
  (void)onDevice.gt(0).nonzero();
  recorder.setStep(7);
  synchronizeDevice(recorder);
  recorder.setStep(8);  // nothing here waits for the device
  (void)host.sum().item<float>();
  (void)host.gt(0).nonzero();
  (void)onDevice.mul(2).add(onDevice);
  runAtOtherLevels(recorder, onDevice);
  runOpsThatReadValues(recorder, onDevice);
}

}  // namespace places

PLACE int main(int argc, char** argv) {
  if (argc != 2 || !::dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) || !mpsAvailable()) {
    std::fprintf(stderr, "observer_check: no device in %s\n", argc == 2 ? argv[1] : "(nothing)");
    return 1;
  }
  Recorder recorder(RunClock::startingNow());
  FrameWriter writer(STDOUT_FILENO);
  Hello hello;
  hello.protocolVersion = wire::kProtocolVersion;
  hello.device.selected = "mps";
  hello.clock = recorder.clock();
  if (!writer.send(hello)) return 1;
  Sender sender(recorder, writer);
  sender.start();
  places::runOps(recorder);
  sender.stop();
  return writer.send(Goodbye{}) ? 0 : 1;
}
