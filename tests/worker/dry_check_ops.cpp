// The dry check on single ops, against the table of the simulated device.
#include <ATen/ATen.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "check.h"
#include "process/device.h"
#include "worker/checks/dry_check.h"

using namespace highwater;
using namespace highwater::worker;
using test::check;

namespace {

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
  // 2.0 becomes a float64 scalar, which every device accepts.
  check(reportOf([&] { narrow.mul(2.0); }).findings.empty(), "a scalar is no float64 tensor");
}

void followsWhatDelegates() {
  const at::Tensor x = at::ones({2});
  // The functional form has a kernel for every backend, which calls the out= form without one.
  const DryReport report = reportOf([&] { at::special_airy_ai(x); });
  check(report.findings.size() == 1 && report.findings[0].name == "aten::special_airy_ai",
        "airy_ai");
  check(report.findings[0].fate == OpFate::kFails, "airy_ai fails");
  check(reportOf([&] { at::special_airy_ai(x); }, true).findings[0].fate == OpFate::kFallsBack,
        "airy_ai falls back where that is allowed");
  check(!reportOf([&] { at::special_airy_ai(x); }, true).fails(), "a fallback is no failure");
}

void countsTheParts() {
  const at::Tensor x = at::ones({2, 2});
  const DryReport report = reportOf([&] {
    at::linear(x, x);  // calls t, and matmul or addmm
    x.relu();
    x.relu();
  });
  check(report.findings.empty() && report.checked == report.withKernel, "all have kernels");
  check(report.checked >= 3, "the parts of linear count");
  at::Tensor weights = at::ones({2, 2});
  const DryReport renorm =
      reportOf([&] { at::embedding_renorm_(weights, at::zeros({1}, at::kLong), 1.0, 2.0); });
  check(renorm.findings.size() == 1 && renorm.findings[0].always && !renorm.fails(),
        "embedding_renorm_ always falls back");
}

void looksOnlyIntoPhases() {
  const at::Tensor x = at::ones({2});
  probe::Recorder recorder(RunClock::startingNow());
  const DryReport report = dryCheck(recorder, false, [&] {
    at::special_airy_ai(x);
    recorder.setPhase(events::Phase::BatchAssembly);
    at::special_airy_ai(x);
  });
  check(report.checked == 0, "what the host prepares does not count");
}

}  // namespace

void test::checkDryCheck() {
  if (const auto device = process::chooseDevice("sim"); !device) {
    std::fprintf(stderr, "%s\n", device.error().message.c_str());
    std::exit(1);
  }
  findsFloat64();
  followsWhatDelegates();
  countsTheParts();
  looksOnlyIntoPhases();
  process::finishSimulatedDevice();
}
