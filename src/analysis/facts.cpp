#include "analysis/facts.h"

#include <algorithm>
#include <cmath>

#include "core/units.h"

namespace highwater::analysis {
namespace {

using Number = std::optional<double>;
using events::Phase;

Number bytesOf(const std::optional<std::uint64_t>& bytes) {
  return bytes ? Number(static_cast<double>(*bytes)) : std::nullopt;
}

Number ofSteps(const RunSummary& s, double value) {
  return s.steps > 0 ? Number(value) : std::nullopt;
}

/// A sum of the steps as its part of one. What the probe did not look for is not known.
Number aStep(const LiveStore& store, const RunSummary& s, double sumMs) {
  if (s.steps == 0 || store.isUnobserved()) return std::nullopt;
  return sumMs / static_cast<double>(s.steps);
}

Number rate(const LiveStore& store, const RunSummary& s, std::string_view unit) {
  // The size of a script's batches may not be known.
  const bool isKnown = s.steps > 0 && (s.tokensPerS > 0 || !store.ownScript());
  return isKnown && store.rateUnit() == unit ? Number(s.tokensPerS) : std::nullopt;
}

double outsideMs(const RunSummary& s) {
  double ms = s.stepsMs;
  for (const double phase : s.phaseMs) ms -= phase;
  return std::max(ms, 0.0);
}

template <Phase kPhase>
constexpr Fact phaseFact(std::string_view key, std::string_view label, std::string_view brief) {
  constexpr auto kIndex = static_cast<std::size_t>(kPhase);
  return {key,
          label,
          brief,
          FactGroup::kPhase,
          Quantity::kMilliseconds,
          Better::kLess,
          "Host time of the phase in a step, mean of all steps.",
          [](const LiveStore& store, const RunSummary& s) {
            return aStep(store, s, s.phaseMs[kIndex]);
          },
          [](const StepNumbers& step) { return step.phaseMs[kIndex]; },
          nullptr,
          Statistic::kMean,
          kPhase};
}

double msOf(const StepNumbers& step) {
  return step.ms;
}
double ratedMsOf(const StepNumbers& step) {
  return step.ratedMs;
}
double ratedSecondsOf(const StepNumbers& step) {
  return step.ratedMs / 1000;
}
double ratedTokensOf(const StepNumbers& step) {
  return step.ratedTokens;
}

constexpr Fact kFacts[] = {
    {"steps", "Steps", "Steps", FactGroup::kRun, Quantity::kCount, Better::kNeither,
     "Number of steps.",
     [](const LiveStore&, const RunSummary& s) { return Number(static_cast<double>(s.steps)); }},
    {"events", "Events", "Events", FactGroup::kRun, Quantity::kCount, Better::kNeither,
     "Number of events in the whole recording.",
     [](const LiveStore& store, const RunSummary&) {
       return Number(static_cast<double>(store.eventCount()));
     }},
    {"dropped", "Dropped events", "Dropped events", FactGroup::kRun, Quantity::kCount,
     Better::kNeither, "Number of events that were lost under load.",
     [](const LiveStore& store, const RunSummary&) {
       return Number(static_cast<double>(store.dropped()));
     }},
    {"duration_ms", "Length", "Length", FactGroup::kRun, Quantity::kMilliseconds, Better::kNeither,
     "Length of the whole recording.",
     [](const LiveStore& store, const RunSummary&) {
       return Number(toMs(store.completeUpToNs()));
     }},

    {"step_ms.p50", "Step p50", "p50", FactGroup::kTime, Quantity::kMilliseconds, Better::kLess,
     "Median of the host's time of a step, by nearest rank.",
     [](const LiveStore&, const RunSummary& s) { return ofSteps(s, s.stepMsP50); }, &msOf, nullptr,
     Statistic::kMedian},
    {"step_ms.p95", "Step p95", "p95", FactGroup::kTime, Quantity::kMilliseconds, Better::kLess,
     "95th percentile of the host's time of a step, by nearest rank.",
     [](const LiveStore&, const RunSummary& s) { return ofSteps(s, s.stepMsP95); }, &msOf, nullptr,
     Statistic::kP95},
    {"step_ms.mean", "Step mean", "mean", FactGroup::kTime, Quantity::kMilliseconds, Better::kLess,
     "Mean time of a step without the run's first, and with the waits after steps for what they "
     "queued.",
     [](const LiveStore&, const RunSummary& s) { return ofSteps(s, s.stepMsMean); }, &ratedMsOf,
     [](const StepNumbers& step) { return step.ratedMs > 0 ? 1.0 : 0.0; }},
    {"tokens_per_s", "Tokens/s", "Tokens/s", FactGroup::kTime, Quantity::kPerSecond, Better::kMore,
     "Tokens over the time of the steps and of the waits after them, without the run's first step.",
     [](const LiveStore& store, const RunSummary& s) { return rate(store, s, "tokens/s"); },
     &ratedTokensOf, &ratedSecondsOf},
    {"samples_per_s", "Samples/s", "Samples/s", FactGroup::kTime, Quantity::kPerSecond,
     Better::kMore, "The same of samples, for a script whose inputs have no sequence length.",
     [](const LiveStore& store, const RunSummary& s) { return rate(store, s, "samples/s"); },
     &ratedTokensOf, &ratedSecondsOf},
    {"per_step.fallback_ms", "Fallbacks", "Fallbacks", FactGroup::kTime, Quantity::kMilliseconds,
     Better::kLess, "Time of a step in ops that ran on the CPU, mean of all steps.",
     [](const LiveStore& store, const RunSummary& s) { return aStep(store, s, s.fallbackMs); },
     [](const StepNumbers& step) { return step.fallbackMs; }},
    {"per_step.unplanned_sync_ms", "Unplanned syncs", "Unplanned", FactGroup::kTime,
     Quantity::kMilliseconds, Better::kLess,
     "Time of a step in waits that the training loop did not plan, mean of all steps.",
     [](const LiveStore& store, const RunSummary& s) { return aStep(store, s, s.unplannedSyncMs); },
     [](const StepNumbers& step) { return step.unplannedMs; }},
    {"per_step.planned_sync_ms", "Planned syncs", "Planned", FactGroup::kTime,
     Quantity::kMilliseconds, Better::kLess,
     "Time of a step in waits that the training loop planned, mean of all steps.",
     [](const LiveStore& store, const RunSummary& s) { return aStep(store, s, s.plannedSyncMs); },
     [](const StepNumbers& step) { return step.plannedMs; }},

    phaseFact<Phase::BatchAssembly>("per_step.phases.batch_assembly", "batch assembly", "assembly"),
    phaseFact<Phase::DeviceMove>("per_step.phases.device_move", "device move", "move"),
    phaseFact<Phase::Forward>("per_step.phases.forward", "forward", "forward"),
    phaseFact<Phase::LossRead>("per_step.phases.loss_read", "loss read", "loss read"),
    phaseFact<Phase::Backward>("per_step.phases.backward", "backward", "backward"),
    phaseFact<Phase::OptimizerStep>("per_step.phases.optimizer_step", "optimizer step",
                                    "optimizer"),
    {"per_step.outside_ms", "outside of phases", "outside", FactGroup::kPhase,
     Quantity::kMilliseconds, Better::kLess,
     "Host time of a step outside of all phases, mean of all steps.",
     [](const LiveStore& store, const RunSummary& s) { return aStep(store, s, outsideMs(s)); },
     [](const StepNumbers& step) { return step.outsideMs; }},

    {"memory.current_peak", "Current peak", "Current", FactGroup::kMemory, Quantity::kBytes,
     Better::kLess, "Peak of the memory of live tensors.",
     [](const LiveStore&, const RunSummary& s) {
       return s.memoryCounted ? Number(static_cast<double>(s.currentPeakBytes)) : std::nullopt;
     }},
    {"memory.driver_peak", "Driver peak", "Driver", FactGroup::kMemory, Quantity::kBytes,
     Better::kLess,
     "Largest sample of the memory that the process took from the driver, with caches.",
     [](const LiveStore&, const RunSummary& s) {
       return s.memoryCounted ? Number(static_cast<double>(s.driverPeakBytes)) : std::nullopt;
     }},
    {"system.footprint_peak", "Footprint peak", "Footprint", FactGroup::kMemory, Quantity::kBytes,
     Better::kLess, "Peak of all memory of the process.",
     [](const LiveStore&, const RunSummary& s) { return bytesOf(s.system.footprintPeakBytes); }},

    {"gpu_percent.p50", "GPU p50", "GPU p50", FactGroup::kMachine, Quantity::kPercent,
     Better::kNeither, "Median of how busy the GPU was, with all processes.",
     [](const LiveStore&, const RunSummary& s) { return s.gpuPercentP50; }},
    {"gpu_percent.max", "GPU, highest", "GPU, highest", FactGroup::kMachine, Quantity::kPercent,
     Better::kNeither, "The highest sample of how busy the GPU was.",
     [](const LiveStore&, const RunSummary& s) { return s.gpuPercentMax; }},
    {"system.available_low", "Available, lowest", "Available, lowest", FactGroup::kMachine,
     Quantity::kBytes, Better::kNeither, "The least memory that the machine had left.",
     [](const LiveStore&, const RunSummary& s) { return bytesOf(s.system.availableLowBytes); }},
    {"system.swap_used_peak", "Swap, highest", "Swap, highest", FactGroup::kMachine,
     Quantity::kBytes, Better::kLess, "The most swap that the machine had in use.",
     [](const LiveStore&, const RunSummary& s) { return bytesOf(s.system.swapUsedPeakBytes); }},
    {"system.swapped_in", "Swapped in", "Swapped in", FactGroup::kMachine, Quantity::kBytes,
     Better::kLess, "Read from swap between the first and the last sample.",
     [](const LiveStore&, const RunSummary& s) { return bytesOf(s.machine.swappedInBytes); }},
    {"system.swapped_out", "Swapped out", "Swapped out", FactGroup::kMachine, Quantity::kBytes,
     Better::kLess, "Written to swap between the first and the last sample.",
     [](const LiveStore&, const RunSummary& s) { return bytesOf(s.machine.swappedOutBytes); }},
    {"system.swap_peak_per_s", "Swap traffic, highest", "Swap traffic, highest",
     FactGroup::kMachine, Quantity::kBytesPerSecond, Better::kLess,
     "The most bytes a second to and from swap, over one second.",
     [](const LiveStore&, const RunSummary& s) { return bytesOf(s.machine.swapPeakBytesPerS); }},
    {"system.compressor_peak", "Compressor, highest", "Compressor, highest", FactGroup::kMachine,
     Quantity::kBytes, Better::kLess, "The most memory that compressed pages occupied.",
     [](const LiveStore&, const RunSummary& s) { return bytesOf(s.machine.compressorPeakBytes); }},
    {"system.gpu_memory_peak", "GPU memory, highest", "GPU memory, highest", FactGroup::kMachine,
     Quantity::kBytes, Better::kLess, "The most memory that the GPU had in use for all processes.",
     [](const LiveStore&, const RunSummary& s) { return bytesOf(s.machine.gpuPeakBytes); }},
    {"system.low_power_share", "Low Power Mode", "Low Power Mode", FactGroup::kMachine,
     Quantity::kShare, Better::kLess, "The share of the time, 0 to 1, in Low Power Mode.",
     [](const LiveStore&, const RunSummary& s) { return s.machine.lowPowerShare(); }},

    {"fallback_ms", "Fallbacks, all steps", "Fallbacks, all steps", FactGroup::kRun,
     Quantity::kMilliseconds, Better::kNeither, "Time of all steps in ops that ran on the CPU.",
     [](const LiveStore& store, const RunSummary& s) {
       return store.isUnobserved() ? std::nullopt : Number(s.fallbackMs);
     }},
    {"unplanned_sync_ms", "Unplanned syncs, all steps", "Unplanned syncs, all steps",
     FactGroup::kRun, Quantity::kMilliseconds, Better::kNeither,
     "Time of all steps in waits that the training loop did not plan.",
     [](const LiveStore& store, const RunSummary& s) {
       return store.isUnobserved() ? std::nullopt : Number(s.unplannedSyncMs);
     }},
    {"loss.first", "Loss, first", "Loss, first", FactGroup::kRun, Quantity::kPlain,
     Better::kNeither, "The first loss that was read.",
     [](const LiveStore&, const RunSummary& s) { return s.lossFirst; }},
    {"loss.last", "Loss, last", "Loss, last", FactGroup::kRun, Quantity::kPlain, Better::kNeither,
     "The last loss that was read.",
     [](const LiveStore&, const RunSummary& s) { return s.lossLast; }},
    {"held_out_accuracy", "Held-out accuracy", "Held-out accuracy", FactGroup::kRun,
     Quantity::kShare, Better::kNeither, "Accuracy of the last evaluation, 0 to 1.",
     [](const LiveStore&, const RunSummary& s) { return s.heldOutAccuracy; }},
};

}  // namespace

std::span<const Fact> facts() {
  return kFacts;
}

const Fact* findFact(std::string_view key) {
  const auto* found = std::find_if(std::begin(kFacts), std::end(kFacts),
                                   [&](const Fact& fact) { return fact.key == key; });
  return found == std::end(kFacts) ? nullptr : found;
}

std::string factText(Quantity quantity, double value) {
  const bool isNegative = value < 0;
  const auto percent = [](double number) {
    const double size = std::abs(number);
    return formatDecimals(number, size > 0 && size < 9.95 ? 1 : 0) + " %";
  };
  switch (quantity) {
    case Quantity::kCount:
      return formatDecimals(value, 0);
    case Quantity::kMilliseconds:
      return formatMs(value);
    case Quantity::kPerSecond:
      return formatRate(value);
    case Quantity::kBytes:
      return (isNegative ? "-" : "") + formatBytes(wholeBytes(std::abs(value)));
    case Quantity::kBytesPerSecond:
      return factText(Quantity::kBytes, value) + "/s";
    case Quantity::kShare:
      return percent(100 * value);
    case Quantity::kPercent:
      return percent(value);
    case Quantity::kPlain:
      break;
  }
  return formatDecimals(value, 3);
}

}  // namespace highwater::analysis
