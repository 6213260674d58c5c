#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "worker/data/batches.h"
#include "worker/data/data_set.h"
#include "worker/data/tokenizer.h"

namespace highwater::worker {

/// The parts of a training program in which scenarios (demonstrations of a training mistake)
/// differ. This class is the good version; each subclass overrides one part with the mistake that
/// its scenario shows. All functions run on the training thread.
class ScenarioProgram {
 public:
  /// The data to train on. What it refers to must outlive the program.
  struct Material {
    const DataSet& data;
    const EncodedTexts& encoded;  ///< of data.train
    const Vocabulary& vocabulary;
    std::uint64_t seed = 0;
  };
  /// Makes a program that trains on `material`.
  explicit ScenarioProgram(const Material& material) : material_(material) {}
  virtual ~ScenarioProgram() = default;

  /// Changes the model for the scenario, such as an option of one of its layers. Called once,
  /// before the first step, with the model on its device. The optimizer has the parameters already:
  /// do not replace any. Does nothing here.
  virtual void prepare(torch::nn::Module& /*model*/) {}
  /// Returns the sequence length of the next batch, in tokens: 1 to `planned`.
  virtual std::uint32_t sequenceLength(std::uint32_t planned) { return planned; }
  /// Makes a batch of the given rows of the training texts, padded or cut to `sequenceLength`
  /// tokens.
  [[nodiscard]] virtual HostBatch assemble(const std::vector<std::size_t>& rows,
                                           std::uint32_t sequenceLength);
  /// Returns the mean loss of a batch, a scalar tensor.
  [[nodiscard]] virtual torch::Tensor loss(const torch::Tensor& logits,
                                           const torch::Tensor& labels);
  /// Runs the backward pass: computes the gradients of `loss`.
  virtual void backward(torch::Tensor& loss) { loss.backward(); }
  /// Returns whether to call log() at every step, in the phase "loss read".
  [[nodiscard]] virtual bool logs() const { return false; }
  /// Logs what the scenario reports about a step and its logits. Does nothing here.
  virtual void log(std::uint32_t /*step*/, const torch::Tensor& /*logits*/) {}
  /// Writes, as text, what the next batches depend on, such as a random engine.
  virtual void save(std::ostream& /*out*/) const {}
  /// Goes on where save() was. Sets failbit where the text is another one.
  virtual void load(std::istream& /*in*/) {}

 protected:
  const Material material_;
};

/// Makes the program with that key (Scenario::program in core/scenarios.h). Returns kFailed for an
/// unknown key.
[[nodiscard]] Result<std::unique_ptr<ScenarioProgram>> makeScenarioProgram(
    const std::string& key, const ScenarioProgram::Material& material);

}  // namespace highwater::worker
