// The dry check on ops of our own, against the simulated device's table. Ends with 1 at the first
// check that does not hold, and says which.
#include <ATen/ATen.h>

#include <cstdio>
#include <string>

#include "worker/device.h"
#include "worker/dry_check.h"

using namespace highwater;
using namespace highwater::worker;

namespace {

bool allHold = true;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  allHold = false;
}

template <typename Program>
DryReport reportOf(Program&& program, bool allowFallback = false) {
  probe::Recorder recorder(RunClock::startingNow());
  recorder.setStep(1);
  return dryCheck(recorder, allowFallback, [&] {
    recorder.setPhase(events::Phase::Forward);
    program();
    recorder.setPhase(events::Phase::None);
  });
}

void findsFloat64() {
  const at::Tensor wide = at::ones({2}, at::kDouble);
  const DryReport report = reportOf([&] { wide.add(wide); });
  check(report.findings.size() == 1 && report.findings[0].fate == OpFate::kFloat64, "float64");
  check(report.findings[0].name == "aten::add.Tensor" && report.fails(), "float64's op");
  const at::Tensor narrow = at::ones({2});
  // The 2.0 is a float64 scalar, as on any device.
  check(reportOf([&] { narrow.mul(2.0); }).findings.empty(), "a scalar is no float64 tensor");
}

void followsWhatDelegates() {
  const at::Tensor x = at::ones({2});
  // Its functional form has a kernel for every backend, which calls the .out that lacks one.
  const DryReport report = reportOf([&] { x.heaviside(x); });
  check(report.findings.size() == 1 && report.findings[0].name == "aten::heaviside", "heaviside");
  check(report.findings[0].fate == OpFate::kFails, "heaviside fails");
  check(reportOf([&] { x.heaviside(x); }, true).findings[0].fate == OpFate::kFallsBack,
        "heaviside falls back where that is allowed");
  check(!reportOf([&] { x.heaviside(x); }, true).fails(), "a fallback is no failure");
}

void countsTheParts() {
  const at::Tensor x = at::ones({2, 2});
  const DryReport report = reportOf([&] {
    at::linear(x, x);  // made of others: t, matmul or addmm
    x.relu();
    x.relu();
  });
  check(report.findings.empty() && report.checked == report.withKernel, "all have kernels");
  check(report.checked >= 3, "the parts of linear count");
  const DryReport svd = reportOf([&] { at::linalg_svd(x); });
  check(svd.findings.size() == 1 && svd.findings[0].always && !svd.fails(),
        "svd always falls back");
}

void looksOnlyIntoPhases() {
  const at::Tensor x = at::ones({2});
  probe::Recorder recorder(RunClock::startingNow());
  const DryReport report = dryCheck(recorder, false, [&] {
    x.heaviside(x);
    recorder.setPhase(events::Phase::BatchAssembly);
    x.heaviside(x);
  });
  check(report.checked == 0, "what the host prepares does not count");
}

}  // namespace

int main() {
  if (const auto device = chooseDevice("sim"); !device) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    return 1;
  }
  findsFloat64();
  followsWhatDelegates();
  countsTheParts();
  looksOnlyIntoPhases();
  finishSimulatedDevice();
  return allHold ? 0 : 1;
}
