#include "tuning/drift.h"

#include <algorithm>
#include <cmath>

namespace highwater::tuning {
namespace {

bool isExact(const ModuleDrift& module) {
  return module.mps.maxAbs == 0 && module.mps.nonFinite == 0;
}

bool isAllExact(const std::vector<ModuleDrift>& modules) {
  return std::all_of(modules.begin(), modules.end(), isExact);
}

/// The standard deviation of the CPU's losses; 0 for one batch.
double batchSpreadOf(const std::vector<LossOfBatch>& losses) {
  if (losses.size() < 2) return 0;
  double sum = 0, squares = 0;
  for (const LossOfBatch& each : losses) sum += each.cpu;
  const double mean = sum / static_cast<double>(losses.size());
  for (const LossOfBatch& each : losses) squares += (each.cpu - mean) * (each.cpu - mean);
  return std::sqrt(squares / static_cast<double>(losses.size() - 1));
}

double roundingOf(const Drift& drift) {
  double squares = 0, largest = 0;
  for (const LossOfBatch& each : drift.losses) {
    const double error = each.float64 ? each.cpu - *each.float64 : 0;
    squares += error * error;
    largest = std::max(largest, std::abs(each.cpu));
  }
  const double measured = std::sqrt(squares / static_cast<double>(drift.losses.size()));
  return std::max(measured, unitRoundoff(drift.cpuPrecision) * largest);
}

DriftVerdict verdictOf(const Drift& drift, const DriftJudgement& judged) {
  if (judged.difference == 0 && isAllExact(drift.outputs) && isAllExact(drift.gradients)) {
    return DriftVerdict::kEqual;
  }
  if (judged.difference <= judged.threshold) return DriftVerdict::kRounding;
  // A loss adds up more roundings than its own, of which nothing is known then.
  if (!drift.losses.front().float64) return DriftVerdict::kUnknown;
  return judged.difference <= kNoticedShare * judged.batchSpread ? DriftVerdict::kBeyond
                                                                 : DriftVerdict::kMatters;
}

}  // namespace

double unitRoundoff(std::string_view type) {
  if (type == "float32") return std::ldexp(1.0, -24);
  if (type == "bfloat16") return std::ldexp(1.0, -8);
  if (type == "float16") return std::ldexp(1.0, -11);
  return 0;
}

bool isBeyondRounding(const ModuleDrift& module, std::string_view type) {
  if (module.mps.nonFinite > 0) return true;
  const double least = unitRoundoff(type) * module.mps.rmsExpected;
  const double rounding = module.rounding ? module.rounding->rmsError : 0;
  return module.mps.rmsError > kRoundingFactor * std::max(least, rounding);
}

DriftJudgement judgeDrift(const Drift& drift) {
  DriftJudgement judged;
  const auto beyond = std::find_if(
      drift.outputs.begin(), drift.outputs.end(),
      [&](const ModuleDrift& each) { return isBeyondRounding(each, drift.cpuPrecision); });
  if (beyond != drift.outputs.end()) judged.firstBeyond = beyond->module;
  if (drift.losses.empty()) return judged;
  bool isLost = false;
  for (const LossOfBatch& each : drift.losses) {
    if (!std::isfinite(each.cpu)) return judged;
    isLost = isLost || !std::isfinite(each.mps);
  }
  for (const LossOfBatch& each : drift.losses) {
    if (isLost) break;
    const double difference = std::abs(each.mps - each.cpu);
    judged.difference = std::max(judged.difference, difference);
    if (each.cpu != 0) judged.relative = std::max(judged.relative, difference / std::abs(each.cpu));
  }
  judged.rounding = roundingOf(drift);
  judged.threshold = kRoundingFactor * judged.rounding;
  judged.batchSpread = batchSpreadOf(drift.losses);
  judged.verdict = isLost ? DriftVerdict::kMatters : verdictOf(drift, judged);
  return judged;
}

std::string_view driftVerdictKey(DriftVerdict verdict) {
  switch (verdict) {
    case DriftVerdict::kEqual:
      return "equal";
    case DriftVerdict::kRounding:
      return "rounding";
    case DriftVerdict::kBeyond:
      return "beyond_rounding";
    case DriftVerdict::kMatters:
      return "matters";
    case DriftVerdict::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace highwater::tuning
