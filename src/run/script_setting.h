#pragma once

#include <QStringList>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/live_store.h"
#include "core/messages.h"
#include "core/result.h"
#include "tuning/tensor_budget.h"

namespace highwater::run {

/// Which knobs of a script a sweep turns. For an empty name: "batch_size", or else the batch size
/// of the loader that feeds the training; and no knob for the length.
struct SweptKnobs {
  std::string batch, length;
};

/// A script's batch size and sequence length, as its steps show them, and the knobs that set them.
/// A knob may count something else than the steps do: the samples of all batches that a step adds
/// up, or pairs of which the model gets both. So a knob's value is the shown size times what both
/// were apart when the sweep began.
class ScriptSetting {
 public:
  /// Whether a knob of that name is taken for the batch size where none is named.
  [[nodiscard]] static bool isUsualBatchKnob(std::string_view name);
  /// How many steps may have batches from before a knob was turned, which workers have fetched.
  [[nodiscard]] static std::size_t mostLateSteps(const analysis::LiveStore& store);
  /// Whether a script has trained for long enough that find() can tell: some steps since the
  /// batch's knob was turned last, and as many as workers may have fetched ahead.
  [[nodiscard]] static bool hasSettled(const analysis::LiveStore& store, const SweptKnobs& names);

  /// Finds the knobs, and reads the sizes of the script's last steps. Precondition: hasSettled().
  /// Fails with kUsage for a knob that the script has not or that is no whole number,
  /// and with kFailed where the sizes are not known, are no multiple or part of the knob's value,
  /// or where there is no knob for the batch size; the message says what to do.
  [[nodiscard]] static Result<ScriptSetting> find(const analysis::LiveStore& store,
                                                  const SweptKnobs& names);

  /// What the script had when it was found. The length is the longest of its steps.
  [[nodiscard]] tuning::Setting own() const { return own_; }
  /// Whether steps of one batch size have different lengths, and no knob sets them.
  [[nodiscard]] bool lengthsVary() const { return lengthsVary_; }
  /// The smallest and the largest batch that the knob allows, in what the steps show.
  [[nodiscard]] std::uint32_t smallestBatch() const;
  [[nodiscard]] std::uint32_t largestBatch() const;
  /// Batches that the steps show are multiples of it.
  [[nodiscard]] std::uint32_t batchMultiple() const { return batch_.perValue; }
  [[nodiscard]] bool setsLength() const { return !length_.name.empty(); }
  /// The value of the batch's knob for a setting.
  [[nodiscard]] std::uint32_t batchValue(tuning::Setting setting) const {
    return batch_.valueOf(setting.batch);
  }
  [[nodiscard]] const std::string& batchKnob() const { return batch_.name; }
  /// Where the script declares the batch's knob: "train.py:33"; empty for the loader's.
  [[nodiscard]] const std::string& declaredAt() const { return declaredAt_; }
  /// What to know of the knob before it is turned; may be empty.
  [[nodiscard]] const std::string& warning() const { return warning_; }

  /// What sets the script's knobs to a setting. A script may yet take a value that it was asked for
  /// before, so ask for it also where the knob seems to have it.
  [[nodiscard]] std::vector<SetScriptKnob> valuesAt(tuning::Setting setting) const;
  /// How the user sets it in the next run, for people: session::batchArgumentText(), and the length
  /// where a knob sets that.
  [[nodiscard]] std::string howToSet(tuning::Setting setting, const QStringList& command) const;
  /// Whether a step shows a setting. Lengths count only where a knob sets them.
  [[nodiscard]] bool isAt(const events::StepRecord& step, tuning::Setting setting) const;

 private:
  struct Knob {
    std::string name;
    /// Sizes that the steps show, per value of the knob, or values per size: one of both is 1.
    std::uint32_t perValue = 1, perShown = 1;
    double minimum = 1, maximum = 0;

    [[nodiscard]] std::uint32_t valueOf(std::uint32_t shown) const;
    [[nodiscard]] std::uint32_t shownAt(double value) const;
  };
  static Result<Knob> relate(const ScriptKnob& knob, std::uint32_t shown, const char* what);

  Knob batch_, length_;
  tuning::Setting own_;
  bool lengthsVary_ = false;
  std::string declaredAt_, warning_;
};

}  // namespace highwater::run
