#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analysis/findings/finding_rules.h"
#include "analysis/run_end_text.h"
#include "analysis/statistics.h"
#include "core/exit_codes.h"
#include "core/missing_op.h"
#include "core/names.h"
#include "core/out_of_memory.h"
#include "core/refused_dtype.h"
#include "core/units.h"

namespace highwater::analysis {
namespace {

/// Between a line of the user's and the one that called it through a library, in the message of a
/// script's exception.
constexpr std::string_view kCalledAt = ", called at ";

using Reason = RunEnd::Reason;

// An op that was open for as long at the end stood still: a compile of a graph or a large copy
// takes less. So it did if it took so many times as long as the longest step: a wait for a larger
// batch takes less.
constexpr std::int64_t kHungNs = 2'000'000'000;
constexpr std::int64_t kHungSteps = 4;

constexpr std::string_view kTraceback = "Traceback (most recent call last)";
// Between the tracebacks of `raise ... from error`. Not "During handling of the above exception,
// another exception occurred": that exception was caught, maybe long ago and by code that trained
// on with a smaller batch, and what ended the run is the other one.
constexpr std::string_view kDirectCause =
    "The above exception was the direct cause of the following exception:";

/// What the program printed from its last traceback on, with those of the exceptions that it was
/// raised from; empty without one.
std::string_view lastTraceback(const RunEnd& end) {
  const std::string_view lines = end.lastLines;
  auto at = lines.rfind(kTraceback);
  if (at == std::string_view::npos) return {};
  while (true) {
    const std::string_view before = lines.substr(0, at);
    const auto textEnd = before.find_last_not_of(" \r\n");
    const auto length = textEnd == std::string_view::npos ? 0 : textEnd + 1;
    if (!before.substr(0, length).ends_with(kDirectCause)) return lines.substr(at);
    at = before.rfind(kTraceback);
    // Only the last lines are kept: the cause's traceback may have begun before them.
    if (at == std::string_view::npos) return lines;
  }
}

/// What is known of the exception that ended the run. The lines before it may contain errors that
/// the program has handled.
std::string endingError(const RunEnd& end) {
  // The message of a failed run is its exception, with those that it was raised from.
  if (end.reason == Reason::kFailed) return end.message;
  return end.message + '\n' + std::string(lastTraceback(end));
}

bool hasFailed(const RunEnd& end) {
  return end.reason == Reason::kFailed || end.reason == Reason::kExited ||
         (end.reason == Reason::kFinished && end.exitCode != 0);
}

bool endedOutOfMemory(const LiveStore& store) {
  const RunEnd& end = *store.end();
  const bool saidSo = end.reason == Reason::kFailed && end.exitCode == kExitEndedEarly;
  if (!store.ownScript()) return saidSo;
  return saidSo || (hasFailed(end) && isRefusedAllocation(endingError(end)));
}

std::optional<std::uint64_t> endedByBuffer(const LiveStore& store) {
  const RunEnd& end = *store.end();
  return store.ownScript() && hasFailed(end) ? refusedBufferBytes(endingError(end)) : std::nullopt;
}

std::optional<RefusedDtype> endedByDtype(const LiveStore& store) {
  const RunEnd& end = *store.end();
  return hasFailed(end) ? refusedDtype(endingError(end)) : std::nullopt;
}

std::optional<MissingOp> endedByMissingOp(const LiveStore& store) {
  const RunEnd& end = *store.end();
  return hasFailed(end) ? missingOp(endingError(end)) : std::nullopt;
}

/// The user's lines in the message of a script's exception, "TypeError: ... (train.py:41), caused
/// by KeyError: ..." or "... (model.py:29, called at train.py:45)"; empty without one.
std::string placeOf(const RunEnd& end) {
  std::string_view text = end.message;
  if (const auto cause = text.find("), caused by "); cause != std::string_view::npos) {
    text = text.substr(0, cause + 1);
  }
  const auto open = text.rfind(" (");
  if (!text.ends_with(')') || open == std::string_view::npos) return {};
  const std::string_view place = text.substr(open + 2, text.size() - open - 3);
  const std::string_view line = place.substr(0, place.find(kCalledAt));
  const auto colon = line.rfind(':');
  const bool isLine = colon != std::string_view::npos && colon + 1 < line.size() &&
                      line.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return isLine ? std::string(place) : std::string();
}

/// The first of them: "model.py:29".
std::string lineOf(const RunEnd& end) {
  const std::string place = placeOf(end);
  return place.substr(0, place.find(kCalledAt));
}

bool hung(const LiveStore& store) {
  const Reason reason = store.end()->reason;
  if (reason == Reason::kHung) return true;
  const bool wasEnded = reason == Reason::kAborted || reason == Reason::kStopped;
  const auto open = store.openSpan();
  if (!wasEnded || !open) return false;
  const auto& steps = store.steps().records;
  const auto longest = std::max_element(
      steps.begin(), steps.end(),
      [](const auto& a, const auto& b) { return a.duration_ns() < b.duration_ns(); });
  const std::int64_t longestNs = longest == steps.end() ? 0 : longest->duration_ns();
  return open->stalledFor.count() >= std::max(kHungNs, kHungSteps * longestNs);
}

/// The sizes of a batch; 0 where they are not known.
struct BatchSizes {
  std::uint32_t batch = 0, length = 0;
};

/// Those of the end: of a script the sizes of the step in which it ended, else of its last step.
BatchSizes sizesAtEnd(const LiveStore& store) {
  const auto& run = store.run();
  if (run && run->openBatchSize > 0) return {run->openBatchSize, run->openSequenceLength};
  const auto& steps = store.steps().records;
  if (store.ownScript() && !steps.empty()) {
    return {steps.back().batch_size(), steps.back().sequence_length()};
  }
  return {store.knobs().batchSize, store.knobs().sequenceLength};
}

/// "batch size 64, sequence length 128", as far as they are known.
std::string settingText(const LiveStore& store) {
  const auto [batch, length] = sizesAtEnd(store);
  std::string text;
  if (batch > 0) text = "batch size " + std::to_string(batch);
  if (length > 0) {
    text += (text.empty() ? "" : ", ") + ("sequence length " + std::to_string(length));
  }
  return text;
}

Finding ofRun(const LiveStore& store, FindingKind kind) {
  Finding finding;
  finding.kind = kind;
  finding.weight = 1;
  const auto& steps = store.steps().records;
  finding.lastStep = std::max(store.runningStep(), steps.empty() ? 0u : steps.back().step());
  for (const events::Marker& marker : store.markers()) {
    const bool isRefusal = marker.kind() == events::MarkerKind::OutOfMemory;
    if (isRefusal) finding.lastStep = std::max(finding.lastStep, marker.step());
  }
  finding.firstStep = finding.lastStep;
  if (store.end()->reason == Reason::kFailed) finding.line = lineOf(*store.end());
  return finding;
}

/// "in step 7", "in an evaluation after step 6"
std::string whenText(const LiveStore& store, const Finding& finding) {
  const auto& steps = store.steps().records;
  const std::uint32_t done = steps.empty() ? 0 : steps.back().step();
  const bool evaluates = store.failedInEvaluation();
  // A script's step is complete when its record is there, and another one has not begun.
  const bool isDone = done == finding.lastStep && (store.ownScript() || done == 0);
  if (!evaluates && !isDone) return "in step " + std::to_string(finding.lastStep);
  return (evaluates ? "in an evaluation " : "") +
         std::string(done == 0 ? "before the first step" : "after step " + std::to_string(done));
}

/// "27.0 MiB were asked for; MPS had allocated 1.1 GiB; allowed are 1.1 GiB"
std::string numbersText(const OutOfMemoryNumbers& numbers) {
  std::string text;
  const auto add = [&text](const char* what, const std::optional<std::uint64_t>& bytes) {
    if (bytes) text += (text.empty() ? "" : ", ") + std::string(what) + formatBytes(*bytes);
  };
  add("requested ", numbers.requested);
  add("allocated ", numbers.allocated);
  add("other allocations ", numbers.other);
  add("max allowed ", numbers.maxAllowed);
  return text;
}

/// How many times as long as in any step before must the sequences be in which memory ran out, to
/// be the cause: lengths vary.
constexpr double kLeastLongerSequence = 1.25;

/// Whether a script ended in a step whose sequences are far longer than those of all steps before.
bool isLongest(const LiveStore& store) {
  const auto& run = store.run();
  const auto& steps = store.steps().records;
  return run && steps.size() >= kLeastSteps &&
         std::all_of(steps.begin(), steps.end(), [&](const auto& step) {
           return step.sequence_length() > 0 &&
                  kLeastLongerSequence * step.sequence_length() <= run->openSequenceLength;
         });
}

std::string lengthsText(const LiveStore& store) {
  const auto& steps = store.steps().records;
  const auto [least, most] = std::minmax_element(
      steps.begin(), steps.end(),
      [](const auto& a, const auto& b) { return a.sequence_length() < b.sequence_length(); });
  const std::string low = std::to_string(least->sequence_length());
  const std::string high = std::to_string(most->sequence_length());
  return "; the steps before had sequence length " + (low == high ? low : low + " to " + high);
}

/// The newest step with less in its batch than the last setting, which fitted.
std::string fittedText(const LiveStore& store) {
  if (isLongest(store)) return lengthsText(store);
  const Knobs last = store.knobs();
  const auto& steps = store.steps().records;
  const auto fitted = std::find_if(steps.rbegin(), steps.rend(), [&](const auto& step) {
    return step.batch_size() < last.batchSize || step.sequence_length() < last.sequenceLength;
  });
  if (store.ownScript() || fitted == steps.rend()) return {};
  return "; step " + std::to_string(fitted->step()) + " fitted with batch size " +
         std::to_string(fitted->batch_size()) + ", sequence length " +
         std::to_string(fitted->sequence_length());
}

/// Whether the first step of a script ran out of memory within its optimizer.
bool endedInFirstOptimizerStep(const LiveStore& store) {
  return store.run() && store.run()->openInOptimizer && store.steps().records.empty();
}

/// "1.00 GiB of weights in float32"; empty where it is unknown.
std::string weightsText(const RunDescription& run) {
  const std::uint64_t bytes = run.dtype == "float32"                              ? 4
                              : run.dtype == "bfloat16" || run.dtype == "float16" ? 2
                                                                                  : 0;
  if (run.parameters == 0 || bytes == 0) return {};
  return formatBytes(bytes * run.parameters) + " of weights in " + run.dtype;
}

/// The batch size of which the request that failed is the square: tensors of shapes such as (N, 1)
/// and (N) were broadcast to (N, N). 0: it is not.
std::uint32_t squaredBatch(const LiveStore& store, const OutOfMemoryNumbers& numbers) {
  constexpr std::uint32_t kLeastBatch = 256;  // a smaller one's square is no large tensor
  const std::uint32_t batch = sizesAtEnd(store).batch;
  if (!store.ownScript() || batch < kLeastBatch || !numbers.requested) return 0;
  const double square = double{1} * batch * batch;
  for (const double bytes : {2.0, 4.0, 8.0}) {
    // The message rounds it.
    if (std::abs(static_cast<double>(*numbers.requested) / (bytes * square) - 1) < 0.01)
      return batch;
  }
  return 0;
}

/// About how many numbers of 4 bytes the request that failed has for each position of the batch, as
/// logits over a vocabulary have; 0 where they are too few for one, or as many as the scores of
/// attention heads have.
std::uint64_t numbersAPosition(const LiveStore& store, const OutOfMemoryNumbers& numbers) {
  constexpr std::uint64_t kLeastWords = 16'384, kMostHeads = 64, kBytes = 4;
  const BatchSizes sizes = sizesAtEnd(store);
  const std::uint64_t positions = std::uint64_t{sizes.batch} * sizes.length;
  if (!store.ownScript() || sizes.length < 2 || positions == 0 || !numbers.requested) return 0;
  const std::uint64_t count = *numbers.requested / (kBytes * positions);
  const bool isScores = count % sizes.length == 0 && count / sizes.length <= kMostHeads;
  return count >= kLeastWords && !isScores ? count : 0;
}

/// The forward passes since the last step, where no backward came after any of them, and far more
/// than a step has. A model that is called in parts, or a loss that is a module, has several in
/// each.
struct OpenForwards {
  std::uint64_t count = 0;  ///< 0: none, or no more than others
  bool wereBefore = false;  ///< some step before had half as many or more, and the run went on
};

OpenForwards openForwards(const LiveStore& store) {
  const auto& steps = store.steps().records;
  if (steps.empty()) return {};
  const std::int64_t fromNs = steps.back().begin_ns() + steps.back().duration_ns();
  OpenForwards open;
  std::map<std::uint32_t, double> before;
  for (const events::PhaseSpan& each : store.phases()) {
    const bool isOpen = each.begin_ns() >= fromNs;
    if (isOpen && each.phase() == events::Phase::Backward) return {};
    if (each.phase() != events::Phase::Forward) continue;
    isOpen ? ++open.count : ++before[each.step()];
  }
  std::vector<double> counts;
  for (const auto& [step, count] : before) counts.push_back(count);
  const auto count = static_cast<double>(open.count);
  if (open.count <= 2 || (!counts.empty() && count <= 2 * medianOf(counts))) return {};
  open.wereBefore =
      std::any_of(counts.begin(), counts.end(), [count](double each) { return each >= count / 2; });
  return open;
}

std::string outOfMemoryAdvice(const LiveStore& store) {
  if (endedInFirstOptimizerStep(store)) {
    const std::string weights = weightsText(*store.run());
    return "the weights, their gradients and what the optimizer keeps do not fit together, and a "
           "batch of another size changes nothing of that: gradients are as large as the weights" +
           (weights.empty() ? "" : " (" + weights + ')') +
           ", and Adam keeps twice as much again. Train fewer weights (LoRA, frozen layers), hold "
           "them in bfloat16, or use an optimizer that keeps less (SGD, Adafactor)";
  }
  if (store.failedInEvaluation()) {
    if (const CodeSign* sign = store.sign(kEvaluationGradientsSign)) {
      return "evaluate under torch.no_grad(): the model is called with gradients at " + sign->line +
             ", so that each output or loss that is kept holds what its backward would need, also "
             "after .cpu(); and keep .item() or sums of what is needed";
    }
    return "keep the results on the CPU (outputs.cpu()) or only their sums, and give the "
           "evaluation's loader fewer samples at once; the batch of the training fits";
  }
  if (const OpenForwards forwards = openForwards(store); forwards.count > 0) {
    const std::string noGrad =
        "if these calls train nothing, as where a pool of samples is scored, make them under "
        "torch.no_grad()";
    const std::string ownLoss =
        "if each has a loss of its own, call backward() on that as soon as it is there, in place "
        "of "
        "one for their sum (the gradients add up to the same)";
    return "since the last step the model was called " + std::to_string(forwards.count) +
           " times with gradients and no backward came, far more than a step has; each call keeps "
           "what its backward needs as long as its output lives: " +
           (forwards.wereBefore ? noGrad + "; " + ownLoss : ownLoss + "; " + noGrad) +
           "; else a smaller batch";
  }
  if (isLongest(store)) {
    return "a few long samples need this much: cut them to a maximum length, or put samples of "
           "like length into one batch, with fewer of the long ones; where the scores of attention "
           "are computed as a tensor of their own, their memory grows with the square of the "
           "length, and torch.nn.functional.scaled_dot_product_attention may need less";
  }
  if (store.ownScript()) {
    return "use a smaller batch with accumulated gradients, which trains the same, or a shorter "
           "sequence";
  }
  const Knobs knobs = store.knobs();
  if (knobs.outOfMemory == OutOfMemoryPolicy::kHalve) {
    return "use a shorter sequence or a smaller model: no smaller batch was left to try";
  }
  return "use a smaller batch or a shorter sequence; --on-out-of-memory halve drops such a step "
         "and "
         "goes on with half of the batch, --accumulate keeps the effective batch";
}

void findOutOfMemoryEnd(const LiveStore& store, Findings& findings) {
  Finding finding = ofRun(store, FindingKind::OutOfMemory);
  finding.title = "Out of memory: the run ended " + whenText(store, finding);
  if (endedInFirstOptimizerStep(store)) {
    finding.where = phaseName(events::Phase::OptimizerStep);
    finding.title += ", in the optimizer's step" +
                     (store.run()->optimizer.empty() ? "" : " (" + store.run()->optimizer + ')');
  }
  const std::string setting = settingText(store);
  // That of the training says nothing of an evaluation.
  if (!setting.empty() && !store.failedInEvaluation()) {
    finding.title += " with " + setting;
  }
  const RunEnd& end = *store.end();
  // The built-in workload may say only in its output how much it asked for.
  const OutOfMemoryNumbers numbers =
      outOfMemoryNumbers(store.ownScript() ? endingError(end) : end.message + '\n' + end.lastLines);
  finding.evidence = numbersText(numbers);
  if (finding.evidence.empty()) {
    finding.evidence = end.message;
  } else if (const std::string exit = processExitText(end); !exit.empty()) {
    finding.evidence += "; the process ended with " + exit;
  }
  if (!finding.line.empty()) finding.evidence += "; at " + placeOf(end);
  finding.evidence += fittedText(store);
  finding.advice = outOfMemoryAdvice(store);
  if (const std::uint32_t batch = squaredBatch(store, numbers); batch > 0) {
    const std::string n = std::to_string(batch);
    finding.evidence += "; the request is " + n + " \u00d7 " + n + " numbers";
    finding.advice = "look at the shapes there: tensors of (" + n + ", 1) and (" + n +
                     ") are broadcast to (" + n + ", " + n +
                     "), as where a loss gets predictions with one column and targets with none: "
                     "squeeze(1) the predictions. If all pairs are meant: " +
                     finding.advice;
  }
  const std::uint64_t words = numbersAPosition(store, numbers);
  if (words > 0 && !store.failedInEvaluation()) {
    const BatchSizes sizes = sizesAtEnd(store);
    finding.evidence += "; the request is " + std::to_string(sizes.batch) + " \u00d7 " +
                        std::to_string(sizes.length) + " \u00d7 about " + std::to_string(words) +
                        " numbers of 4 bytes, as the logits of so many words: a loss makes "
                        "several tensors of that size";
    finding.advice +=
        ". Or compute the loss in parts of the batch or the sequence, so that the "
        "logits of all are never there at once";
  }
  findings.found.push_back(std::move(finding));
}

void findRefusedBuffer(const LiveStore& store, std::uint64_t bytes, Findings& findings) {
  Finding finding = ofRun(store, FindingKind::OutOfMemory);
  finding.title = "A tensor of " + formatBytes(bytes) +
                  " is larger than one buffer may be: the run ended " + whenText(store, finding);
  finding.evidence = store.end()->message;
  finding.advice =
      std::string(store.failedInEvaluation() ? "give the evaluation's model fewer samples at once"
                                             : "compute it in parts, as with a smaller batch") +
      ": Metal limits the size of one buffer, however much memory is free, and no "
      "variable of PyTorch's raises that";
  findings.found.push_back(std::move(finding));
}

std::string adviceOn(const RefusedDtype& refused, const RunEnd& end) {
  std::string advice = dtypeAdvice(refused);
  // torch.amp.GradScaler computed in float64 up to PyTorch 2.7. Its file is named in the traceback.
  if (endingError(end).find("grad_scaler") != std::string::npos ||
      lastTraceback(end).find("grad_scaler") != std::string_view::npos) {
    advice += "; where it comes from torch.amp.GradScaler, update PyTorch";
  }
  return advice;
}

void findRefusedDtype(const LiveStore& store, const RefusedDtype& refused, Findings& findings) {
  Finding finding = ofRun(store, FindingKind::RefusedDtype);
  finding.title = "MPS has no " + refused.dtype + (refused.needsNewerMacOs ? " here" : "") +
                  ": the run ended " + whenText(store, finding);
  finding.evidence = store.end()->message;
  if (!refusedDtype(finding.evidence)) finding.evidence += "; " + refused.message;
  finding.advice = adviceOn(refused, *store.end());
  findings.found.push_back(std::move(finding));
}

void findMissingOp(const LiveStore& store, const MissingOp& missing, Findings& findings) {
  Finding finding = ofRun(store, FindingKind::MissingOp);
  finding.ops.push_back(missing.op);
  finding.title = "MPS has no " + missing.op + ": the run ended " + whenText(store, finding);
  finding.evidence = missing.message;
  if (!finding.line.empty()) finding.evidence += " (" + finding.line + ')';
  finding.advice = missingOpAdvice(missing);
  findings.found.push_back(std::move(finding));
}

void findHang(const LiveStore& store, Findings& findings) {
  Finding finding = ofRun(store, FindingKind::Hung);
  const std::string& op = store.end()->openOp;
  if (!op.empty()) finding.ops.push_back(op);
  finding.title =
      "Hung: the run stood still " + whenText(store, finding) + (op.empty() ? "" : " in " + op);
  finding.evidence = store.end()->message;
  if (const std::string setting = settingText(store); !setting.empty()) {
    finding.evidence += "; " + setting;
  }
  finding.advice =
      "end the process, since a hung queue does not recover; if it happens again at the same "
      "place, "
      "look for that op in PyTorch's issues, and try a smaller batch";
  findings.found.push_back(std::move(finding));
}

/// Of the times that memory ran out and training went on.
void findRecoveries(const LiveStore& store, Findings& findings) {
  Finding finding;
  finding.kind = FindingKind::Recovered;
  std::uint64_t refusals = 0;
  double largest = 0, smallest = 0;
  for (const events::Marker& marker : store.markers()) {
    if (store.isStepOutOfMemory(marker)) ++refusals;
    if (marker.kind() != events::MarkerKind::Recovered) continue;
    if (finding.count == 0) {
      finding.firstStep = marker.step();
      smallest = marker.value_after();
    }
    ++finding.count;
    finding.lastStep = marker.step();
    largest = std::max(largest, marker.value_before());
    smallest = std::min(smallest, marker.value_after());
  }
  if (finding.count == 0) return;
  const auto times = [](std::uint64_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; };
  const auto size = [](double batch) { return std::to_string(static_cast<std::uint64_t>(batch)); };
  finding.title = "Out of memory " + times(refusals) + ", and the training went on";
  finding.evidence = (finding.count == 1 ? "step " + std::to_string(finding.firstStep)
                                         : "steps " + std::to_string(finding.firstStep) + " to " +
                                               std::to_string(finding.lastStep)) +
                     ": memory ran out " + times(refusals) +
                     " and the step was trained again, batch size " + size(largest) +
                     (largest == smallest ? "" : " \u2192 " + size(smallest));
  finding.advice =
      (largest == smallest ? "use a smaller batch, or free memory"
                           : "start with batch size " + size(smallest)) +
      ": each dropped step is trained again, and a smaller batch means fewer samples a step";
  findings.found.push_back(std::move(finding));
}

}  // namespace

void findEnd(const LiveStore& store, Findings& findings) {
  if (store.end()) {
    if (endedOutOfMemory(store)) {
      findOutOfMemoryEnd(store, findings);
    } else if (const auto buffer = endedByBuffer(store)) {
      findRefusedBuffer(store, *buffer, findings);
    } else if (const auto refused = endedByDtype(store)) {
      findRefusedDtype(store, *refused, findings);
    } else if (const auto missing = endedByMissingOp(store)) {
      findMissingOp(store, *missing, findings);
    } else if (hung(store)) {
      findHang(store, findings);
    }
  }
  findRecoveries(store, findings);
}

}  // namespace highwater::analysis
