#include "analysis/findings/wait_use.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>

#include "analysis/account/host_lines.h"

namespace highwater::analysis {
namespace {

using events::Phase;
using events::SyncKind;

bool hasAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

/// A copy that is no single value, but the data of a tensor.
constexpr std::uint64_t kTensorBytes = 4096;

bool readsOneValue(const WaitCase& wait) {
  return wait.kind == SyncKind::ScalarRead ||
         (wait.kind == SyncKind::CopyToHost && wait.bytesEach <= 64);
}

bool copiesTensor(const WaitCase& wait) {
  return wait.kind == SyncKind::CopyToHost && wait.bytesEach >= kTensorBytes;
}

/// So many copies to the device in one batch's assembly are those of its samples.
constexpr double kLeastOfSamples = 5;

/// Whether the text of the line is that of a log: certain words first, then those that a step may
/// also compute with.
bool logsSurely(const WaitCase& wait) {
  return wait.phase == Phase::LossRead ||
         hasAny(wait.site.text, {"print(", "log(", "log_", "logg", "write", "append(", "add_scalar",
                                 "set_postfix", "set_description", "+=", "update(", "history"});
}

bool decides(const WaitCase& wait) {
  return wait.bytesEach == 1 || isCondition(wait.site.text);
}

bool sizes(const WaitCase& wait) {
  return hasAny(wait.site.text, {"int(", "range(", "[:", ":]", "len(", "view(", "reshape(",
                                 "zeros(", "arange(", "tolist()"});
}

bool logsLikely(const WaitCase& wait) {
  if (!wait.site.text.empty()) {
    return hasAny(wait.site.text, {"loss", "acc", "correct", "metric", "norm", "total", "running",
                                   "score", "mean(", "f\"", "f'"});
  }
  // Without the text: what is read once the step is done serves no step.
  return wait.after == Phase::OptimizerStep && wait.phase == Phase::None;
}

struct Row {
  bool (*fits)(const WaitCase&);
  WaitUse use;
};

constexpr std::string_view kLogAdvice =
    "read and print values such as loss.item() only every few steps; until then sum up "
    "loss.detach() on the device";

/// The uses of a wait in a script; the first that fits holds.
constexpr std::array kRows = {
    // A call of PyTorch that waits.
    Row{[](const WaitCase& wait) { return wait.op.ends_with(".empty_cache"); },
        {FindingKind::SyncPoint, "",
         "leave it out: it waits for all queued work and gives the cached memory back, which the "
         "next step takes from the driver again. If the cache grows too large, empty it once an "
         "epoch"}},
    Row{[](const WaitCase& wait) { return wait.op.starts_with("torch.Generator."); },
        {FindingKind::SyncPoint, "",
         "save the generator's state with checkpoints only. On a Mac this does not wait, on the "
         "simulated device it does"}},
    Row{[](const WaitCase& wait) { return wait.kind == SyncKind::Synchronize; },
        {FindingKind::SyncPoint, "",
         "leave it out: whatever reads a value waits by itself. To measure times, synchronize "
         "once before and once after many steps, and divide"}},
    Row{[](const WaitCase& wait) { return wait.kind == SyncKind::EventWait; },
        {FindingKind::SyncPoint, "",
         "leave it out: whatever reads a value waits by itself. To measure times, keep the "
         "events, and read their times once, after many steps"}},
    // A library that reads for a purpose of its own.
    Row{[](const WaitCase& wait) {
          return hasAny(wait.site.library, {"grad_scaler"}) ||
                 hasAny(wait.site.text, {"scaler.step(", "scaler.update(", "scaler.get_scale(",
                                         "scaler.unscale_("});
        },
        {FindingKind::SyncPoint, "the scaler reads whether the gradients are finite",
         "that is what a GradScaler costs: it decides on the host whether to step. bfloat16 needs "
         "no "
         "scaler: torch.autocast(\"mps\", torch.bfloat16), without scaler.scale() and "
         "scaler.step()",
         false, true}},
    Row{[](const WaitCase& wait) {
          return readsOneValue(wait) && checksDistribution(wait.site.library);
        },
        {FindingKind::SyncPoint, "torch.distributions checks its arguments", kUncheckedAdvice}},
    Row{[](const WaitCase& wait) { return hasAny(wait.site.library, {"clip_grad"}); },
        {FindingKind::SyncPoint, "the clipping of gradients reads their norm",
         "leave error_if_nonfinite out, and log the norm only every few steps"}},
    // No line of the script: https://github.com/pytorch/pytorch, FunctionsManual.cpp,
    // prod_backward and cumprod_backward.
    Row{[](const WaitCase& wait) {
          return readsOneValue(wait) && wait.phase == Phase::Backward && wait.site.line.empty();
        },
        {FindingKind::SyncPoint, "the backward of an op of PyTorch's reads a value",
         "no line of the script reads it. cumprod() and prod() do, for one: they look for a zero "
         "among their inputs; where all are above zero, exp() of the cumsum() or sum() of log() "
         "computes the same without a read"}},
    // Ops whose result has as many elements as values say.
    Row{[](const WaitCase& wait) { return wait.op.find("bincount") != std::string_view::npos; },
        {FindingKind::SyncPoint, "",
         "bincount reads the largest value, to know how long its result is. Count with a fixed "
         "length: torch.zeros(n, device=...).scatter_add_(0, x, ones), or one_hot(x, n).sum(0); "
         "for a metric, sum up the counts on the device and read them once an epoch"}},
    Row{[](const WaitCase& wait) {
          return wait.op.find("repeat_interleave") != std::string_view::npos;
        },
        {FindingKind::SyncPoint, "",
         "give output_size, so that the length of the result is known without reading the counts"}},
    Row{[](const WaitCase& wait) {
          return wait.kind == SyncKind::Nonzero || wait.kind == SyncKind::Unique;
        },
        {FindingKind::SyncPoint, "",
         "use a form whose result has a fixed size: compute with the mask itself, as in "
         "torch.where(mask, x, 0), masked_fill() or (x * mask).sum() / mask.sum(), in place of "
         "indices or a boolean index"}},
    Row{[](const WaitCase& wait) { return wait.kind == SyncKind::ValueRead; },
        {FindingKind::SyncPoint, "",
         "the op reads values to know the size of its result: use a form with a fixed size, or "
         "compute it once on the CPU, before the training"}},
    Row{[](const WaitCase& wait) { return wait.kind == SyncKind::Equal; },
        {FindingKind::SyncPoint, "",
         "compare on the device, (a == b).all(), and read the result only every few steps"}},
    Row{[](const WaitCase& wait) {
          return wait.kind == SyncKind::CopyToDevice && wait.phase == Phase::BatchAssembly &&
                 areSamples(wait.aStep, wait.batch);
        },
        {FindingKind::SyncPoint, "samples are moved to the device one by one",
         "return samples as tensors on the CPU, and move the whole batch in one copy: "
         "batch.to(device) in the loop. Or, if all data fit there, move them once, as one tensor, "
         "before the training",
         false, true}},
    Row{[](const WaitCase& wait) {
          return wait.kind == SyncKind::CopyToDevice && hasAny(wait.site.text, {"tensor("}) &&
                 hasAny(wait.site.text, {"device="}) && !hasAny(wait.site.text, {".to("});
        },
        {FindingKind::SyncPoint, "numbers of Python become a tensor on the device",
         "that is a copy from the CPU each time: make it once, before the training, or compute it "
         "on the device from what is there (torch.arange, torch.full)"}},
    Row{[](const WaitCase& wait) {
          return wait.kind == SyncKind::CopyToDevice && wait.after == Phase::Forward &&
                 wait.bytesEach >= kLateCopyBytes;
        },
        {FindingKind::SyncPoint, "data are copied to the device after the forward",
         "what is the same in each step, such as the weights of a loss or a mask, convert and move "
         "to the device once, before the training; what is new, move with the batch, before the "
         "forward"}},
    Row{[](const WaitCase& wait) { return wait.kind == SyncKind::CopyToDevice; },
        {FindingKind::SyncPoint, "",
         "what is the same in each step, compute and move to the device once, before the training; "
         "else make it there (device=...)"}},
    // Tensors that go to the CPU.
    Row{[](const WaitCase& wait) {
          return copiesTensor(wait) && hasAny(wait.site.text, {"save(", "save_pretrained("});
        },
        {FindingKind::SyncPoint, "tensors are saved, which copies them to the CPU",
         "save a checkpoint only every few hundred steps", false, true, true}},
    Row{[](const WaitCase& wait) {
          // In backward, or the optimizer's step, they are gradients.
          return wait.kind == SyncKind::CopyToHost && wait.allWeights && !wait.copiedBack &&
                 wait.phase == Phase::None;
        },
        {FindingKind::SyncPoint, "as much as all weights is copied to the CPU, tensor by tensor",
         "keep on the device what is made of it. An average of the weights: "
         "torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn(decay), or "
         "torch._foreach_lerp_() of the two lists of tensors. It takes their memory once more; "
         "where a copy on the CPU is needed, make it once an epoch"}},
    Row{[](const WaitCase& wait) { return copiesTensor(wait) && wait.copiedBack; },
        {FindingKind::SyncPoint, "a part of the step is computed on the CPU, with its gradient",
         "compute it on the device. If an op of it is missing there, this costs what its fallback "
         "would; move only that op to the CPU, and as little data as it needs"}},
    // A hook of a gradient, or the backward of a Function.
    Row{[](const WaitCase& wait) { return copiesTensor(wait) && wait.phase == Phase::Backward; },
        {FindingKind::SyncPoint, "a tensor is copied to the CPU in backward",
         "do on the device what is done with it (norm(), histc()), or, if it serves a log, only "
         "every few steps"}},
    Row{[](const WaitCase& wait) {
          return copiesTensor(wait) && wait.after != Phase::OptimizerStep && !logsSurely(wait);
        },
        {FindingKind::SyncPoint, "a tensor is copied to the CPU within the step",
         "do on the device what is done with it, or, if it serves a metric, copy it only every few "
         "steps, after the optimizer's step"}},
    Row{[](const WaitCase& wait) { return copiesTensor(wait); },
        {FindingKind::SyncPoint, "a tensor is copied to the CPU after the step",
         "sum up on the device what is needed of it and copy that once an epoch; to keep a part, "
         "index on the device first, since a row of a CPU copy keeps the whole copy"}},
    // Single values.
    Row{[](const WaitCase& wait) { return readsOneValue(wait) && logsSurely(wait); },
        {FindingKind::ChattyLogging, "", kLogAdvice, true}},
    Row{[](const WaitCase& wait) { return readsOneValue(wait) && givesNumber(wait.site.text); },
        {FindingKind::SyncPoint, "an op reads a number from a tensor", kNumberAdvice}},
    Row{[](const WaitCase& wait) { return readsOneValue(wait) && decides(wait); },
        {FindingKind::SyncPoint, "a condition is read",
         "decide on the device: torch.where in place of an if; a check that never fails in a good "
         "run can be made at times, not at each step"}},
    Row{[](const WaitCase& wait) { return readsOneValue(wait) && sizes(wait); },
        {FindingKind::SyncPoint, kReadsSize,
         "if the step needs it, let it come from the CPU, where the data were made, or compute "
         "with "
         "a fixed size and a mask on the device"}},
    Row{[](const WaitCase& wait) { return readsOneValue(wait) && logsLikely(wait); },
        {FindingKind::ChattyLogging, "", kLogAdvice, true}},
    Row{[](const WaitCase& wait) { return wait.kind == SyncKind::CopyToHost; },
        {FindingKind::SyncPoint, "",
         "if the step needs it on the CPU, copy it together with what else it needs there, in one "
         "copy; if only a log or a metric does, copy it at times"}},
    Row{[](const WaitCase&) { return true; },
        {FindingKind::SyncPoint, "",
         "if the step needs the value, keep it on the device (torch.where in place of an if); if "
         "only a log or a metric does, read it at times"}},
};

}  // namespace

bool givesNumber(std::string_view text) {
  if (hasAny(text, {".item(", "float(", "print(", "log"})) return false;
  for (const std::string_view name : {" alpha=", "(alpha=", " value=", "(value="}) {
    const auto at = text.find(name);
    if (at == std::string_view::npos || at + name.size() >= text.size()) continue;
    const auto given = static_cast<unsigned char>(text[at + name.size()]);
    if (std::isalpha(given) != 0 || given == '_' || given == '(') return true;
  }
  return false;
}

bool formats(std::string_view text) {
  return hasAny(text,
                {"print(", "f\"", "f'", ".format(", "str(", "repr(", "logger.", "logging."}) &&
         !hasAny(text, {".item(", "float("});
}

bool areSamples(double copiesAStep, std::uint32_t batch) {
  return copiesAStep >= kLeastOfSamples && 2 * copiesAStep >= batch;
}

bool isCondition(std::string_view text) {
  return hasAny(text, {"if ", "while ", "assert ", "bool(", " and ", " or ", "any()", "all()"});
}

WaitUse useOf(const WaitCase& wait) {
  if (!wait.ownScript) {
    const bool logs = wait.phase == Phase::LossRead;
    return {logs ? FindingKind::ChattyLogging : FindingKind::SyncPoint, "",
            logs
                ? "read and print the loss only every few steps; until then sum it up on the device"
                : "move it out of the step, or keep the value on the device",
            logs};
  }
  return std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.fits(wait); })
      ->use;
}

}  // namespace highwater::analysis
